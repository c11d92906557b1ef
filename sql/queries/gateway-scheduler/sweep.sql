-- gateway-scheduler.sweep: the daily look for what slipped through (P15): repaired, or a task for a person.
-- $1 int most rows of each kind
-- rows: what text, found bigint, repaired bigint, tasks bigint. One row per kind; all 0 when all is well.
SELECT s.what, s.seen AS found, s.repaired, s.tasks FROM postrider.payments_sweep($1::int) AS s;
