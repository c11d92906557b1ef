-- cli.payment_list: payments, newest first.
-- $1 text merchant id (NULL = all)   $2 text order_no (NULL = all)   $3 text channel (NULL = all)   $4 text status (NULL = all)
-- $5 bool only those with a person   $6 int most rows
-- rows: payment_id bigint; merchant_id, order_no, channel, state, status text; amount_minor bigint; currency text; captured_minor, refunded_minor bigint;
--   manual_reason, failure_code, failure_message, gateway_reference, request_no, app_ref, next_action (JSON), next_operation, next_reason text;
--   next_poll_at timestamptz; attempts int; ended_by text; livemode bool; version bigint; created_at, updated_at, expires_at, paid_at, final_at timestamptz.
SELECT p.payment_id, p.merchant_id, p.order_no, p.channel, p.state, p.status, p.amount_minor, p.currency, p.captured_minor, p.refunded_minor,
       p.manual_reason, p.failure_code, p.failure_message, p.gateway_reference, p.request_no, p.app_ref, p.next_action::text AS next_action,
       p.next_operation, p.next_reason, p.next_poll_at, p.attempts, p.ended_by, p.livemode, p.version, p.created_at, p.updated_at, p.expires_at,
       p.paid_at, p.final_at
FROM postrider.payment_status AS p
WHERE ($1::text IS NULL OR p.merchant_id = $1::text) AND ($2::text IS NULL OR p.order_no = $2::text)
  AND ($3::text IS NULL OR p.channel = $3::text) AND ($4::text IS NULL OR p.status = $4::text)
  AND ($5::bool IS NOT TRUE OR p.manual_reason IS NOT NULL AND p.state = 'processing')
ORDER BY p.payment_id DESC LIMIT $6::int;
