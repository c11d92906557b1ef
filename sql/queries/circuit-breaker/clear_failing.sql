-- circuit-breaker.clear_failing: the episode of endpoint $1 is over; alerts resolved, reason "failing" lifted.
-- $1 bigint endpoint. rows: one, boolean (false: nothing was on record).
SELECT postrider.endpoint_recovered($1::bigint);
