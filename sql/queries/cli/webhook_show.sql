-- cli.webhook_show: one webhook.
-- $1 bigint webhook_id
-- rows: webhook_id bigint; channel text; received_at timestamptz; method text; bytes int; verdict, reason, status, result text; tries, items int;
--   payment_id bigint; merchant_id, order_no, query text; updated_at timestamptz.
SELECT w.webhook_id, w.channel, w.received_at, w.method, w.bytes, w.verdict, w.reason, w.status, w.result, w.tries, w.items, w.payment_id, w.merchant_id,
       w.order_no, w.query, w.updated_at
FROM postrider.webhook_journal AS w WHERE w.webhook_id = $1::bigint;
