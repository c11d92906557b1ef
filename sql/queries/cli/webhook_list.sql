-- cli.webhook_list: webhooks as they came, newest first.
-- $1 text channel (NULL = all)   $2 text status (NULL = all)   $3 bigint payment_id (NULL = all)   $4 int most rows
-- rows: webhook_id bigint; channel text; received_at timestamptz; method text; bytes int; verdict, reason, status, result text; tries, items int;
--   payment_id bigint; merchant_id, order_no, query text; updated_at timestamptz.
SELECT w.webhook_id, w.channel, w.received_at, w.method, w.bytes, w.verdict, w.reason, w.status, w.result, w.tries, w.items, w.payment_id, w.merchant_id,
       w.order_no, w.query, w.updated_at
FROM postrider.webhook_journal AS w
WHERE ($1::text IS NULL OR w.channel = $1::text) AND ($2::text IS NULL OR w.status = $2::text) AND ($3::bigint IS NULL OR w.payment_id = $3::bigint)
ORDER BY w.webhook_id DESC LIMIT $4::int;
