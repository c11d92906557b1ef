-- cli.webhook_list: the journal, newest first.
-- $1 text channel or NULL   $2 text status or NULL   $3 text order_no or NULL   $4 int most
-- rows: webhook_id bigint, channel, received_at, verdict, status, result, payment_id bigint, merchant_id, order_no.
SELECT w.webhook_id, w.channel, w.received_at, w.verdict, w.status, w.result, w.payment_id, w.merchant_id, w.order_no
FROM postrider.webhook_journal AS w
WHERE ($1::text IS NULL OR w.channel = $1::text) AND ($2::text IS NULL OR w.status = $2::text) AND ($3::text IS NULL OR w.order_no = $3::text)
ORDER BY w.webhook_id DESC LIMIT $4::int;
