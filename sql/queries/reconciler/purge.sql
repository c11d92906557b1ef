-- reconciler.purge: what is older than it is kept: calls' log, webhooks, rows of statements. $1 bigint, $2 bigint, $3 bigint: how long each is
-- kept, ms. $4 int: at most so many rows of a kind. rows: one. gone bigint.
SELECT postrider.payments_purge($1::bigint * interval '1 ms', $2::bigint * interval '1 ms', $4::int)
     + postrider.recon_purge($3::bigint * interval '1 ms', $4::int) AS gone;
