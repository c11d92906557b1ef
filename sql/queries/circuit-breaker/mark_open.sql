-- circuit-breaker.mark_open: the breaker of endpoint $1 opened by itself, for $2 at a time; its jobs show as held.
-- $1 bigint endpoint, $2 bigint ms. rows: one, boolean (false: no such endpoint).
SELECT postrider.endpoint_mark_open($1::bigint, $2::bigint);
