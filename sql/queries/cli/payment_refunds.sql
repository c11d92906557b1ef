-- cli.payment_refunds: a payment's refunds, oldest first.
-- $1 bigint payment_id
-- rows: refund_id bigint; refund_no text; amount_minor bigint; currency, state, status, origin, reason, failure_code, manual_reason, gateway_reference text;
--   created_at, final_at, next_poll_at timestamptz.
SELECT r.refund_id, r.refund_no, r.amount_minor, r.currency, r.state, r.status, r.origin, r.reason, r.failure_code, r.manual_reason, r.gateway_reference,
       r.created_at, r.final_at, r.next_poll_at
FROM postrider.refund_status AS r WHERE r.payment_id = $1::bigint ORDER BY r.refund_id;
