-- cli.payment_list: payments, newest first.
-- $1 text merchant or NULL   $2 text order_no or NULL   $3 text state or NULL   $4 int most
-- rows: payment_id bigint, merchant_id, order_no, channel, state, status, amount_minor bigint, currency, created_at, next_poll_at, manual_reason.
SELECT p.payment_id, p.merchant_id, p.order_no, p.channel, p.state, p.status, p.amount_minor, p.currency, p.created_at, p.next_poll_at, p.manual_reason
FROM postrider.payment_status AS p
WHERE ($1::text IS NULL OR p.merchant_id = $1::text) AND ($2::text IS NULL OR p.order_no = $2::text) AND ($3::text IS NULL OR p.state = $3::text)
ORDER BY p.payment_id DESC LIMIT $4::int;
