-- circuit-breaker.set_forced: a person's word on the breaker of endpoint $1, with who and why.
-- $1 bigint endpoint, $2 text 'open' | 'closed' | NULL (by itself again), $3 text who, $4 text why.
-- rows: the merchant (text), or none: no such endpoint.
SELECT f.merchant FROM postrider.watch_force($1::bigint, $2::text, $3::text, $4::text) AS f (merchant)
WHERE f.merchant IS NOT NULL;
