-- reconciler.sweep: payments that slipped through (P15). $1 int: at most so many of a kind. rows: what text, found bigint, repaired bigint, tasks bigint.
SELECT s.what, s.seen AS found, s.repaired, s.tasks FROM postrider.payments_sweep($1::int) AS s;
