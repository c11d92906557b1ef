-- cli.payment_show: one payment.
-- $1 bigint payment_id
-- rows: payment_id bigint; merchant_id, order_no, channel, state, status text; amount_minor bigint; currency text; captured_minor, refunded_minor bigint;
--   manual_reason, failure_code, failure_message, gateway_reference, request_no, app_ref, next_action (JSON), next_operation, next_reason text;
--   next_poll_at timestamptz; attempts int; ended_by text; livemode bool; version bigint; created_at, updated_at, expires_at, paid_at, final_at timestamptz.
SELECT p.payment_id, p.merchant_id, p.order_no, p.channel, p.state, p.status, p.amount_minor, p.currency, p.captured_minor, p.refunded_minor,
       p.manual_reason, p.failure_code, p.failure_message, p.gateway_reference, p.request_no, p.app_ref, p.next_action::text AS next_action,
       p.next_operation, p.next_reason, p.next_poll_at, p.attempts, p.ended_by, p.livemode, p.version, p.created_at, p.updated_at, p.expires_at,
       p.paid_at, p.final_at
FROM postrider.payment_status AS p WHERE p.payment_id = $1::bigint;
