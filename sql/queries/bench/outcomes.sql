-- bench.outcomes: what Postrider's own record says, beside the receiver's.
-- rows: one, delivered bigint, attempts bigint, body_bytes bigint (mean).
SELECT (SELECT count(*) FROM postrider.attempt WHERE error IS NULL) AS delivered,
       (SELECT count(*) FROM postrider.attempt) AS attempts,
       (SELECT coalesce(avg(octet_length(body)), 0)::bigint FROM (SELECT body FROM postrider.outbox LIMIT 1000) AS o) AS body_bytes;
