-- cli.breaker_force: forces a breaker in its endpoint's row (for when circuit-breaker is away; it does this itself).
-- $1 text who   $2 bigint endpoint   $3 text open | closed (NULL = by itself again)   $4 text reason
-- rows: one, changed boolean. Errors: PR003, PR009.
SELECT postrider.breaker_force($1::text, $2::bigint, $3::text, $4::text) AS changed;
