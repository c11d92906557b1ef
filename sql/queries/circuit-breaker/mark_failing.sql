-- circuit-breaker.mark_failing: an episode of failures begins at endpoint $1.
-- $1 bigint endpoint. rows: one, boolean (false: it was marked already, or is unknown).
SELECT postrider.endpoint_mark_failing($1::bigint);
