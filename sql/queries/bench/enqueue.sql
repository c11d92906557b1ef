-- bench.enqueue: the application's transaction: a payment row of its own and the notification beside it. One statement is one
-- transaction.
-- $1 text merchant   $2 text order number   $3 bigint amount in minor units   $4 int class, NULL = by tier and amount
-- rows: one, notify_id uuid.
WITH p AS (
    INSERT INTO bench.payment (merchant_id, order_no, amount_minor, currency, state)
    VALUES ($1::text, $2::text, $3::bigint, 'CNY', 'succeeded') RETURNING id
)
SELECT postrider.enqueue_notification($1::text, $2::text, 'payment.succeeded',
                                      jsonb_build_object('payment', p.id, 'method', 'card', 'captured', true,
                              'reference', '4200002026113012345678901234'),
                                      amount_minor => $3::bigint, currency => 'CNY', priority => $4::int) AS notify_id
FROM p;
