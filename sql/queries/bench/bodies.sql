-- bench.bodies: what lies in the outbox after an id, in its order.
-- $1 bigint after this id   $2 int most rows
-- rows: id bigint, notify_id text, merchant_id text, body bytea.
SELECT o.id, o.notify_id::text AS notify_id, o.merchant_id, o.body
FROM postrider.outbox AS o WHERE o.id > $1::bigint ORDER BY o.id LIMIT $2::int;
