-- gateway-scheduler.orphaned: calls of the session's shards that a former owner had under way when it ended.
-- $1 uuid session
-- rows: call_id bigint, channel text, class int, salt bigint, attempt int (the token as it was handed out), operation text, payment_id bigint,
--   refund_id bigint or NULL, age_ms bigint (since it was handed out). Before expire_leases, which makes all of them wait again.
SELECT o.call_id, o.channel, o.class, o.salt, o.attempt, o.operation, o.payment_id, o.refund_id, o.age_ms
FROM postrider.calls_orphaned($1::uuid) AS o;
