-- ingress.read: a question over HTTP; never waits for a gateway.
-- $1 bigint key_id   $2 text what   $3 text arguments (JSON object)
--   'payment' {payment_id}   'order' {merchant_id, order_no} -> {"merchant_id", "order_no", "payments": [], "refunds": [],
--   "notifications": [], "checked_at"}
-- rows: one, body text (JSON); NULL: there is none, or it is another's (404).
SELECT postrider.http_read($1::bigint, $2::text, $3::text::jsonb) AS body;
