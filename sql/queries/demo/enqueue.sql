-- demo.enqueue: the application's transaction in small: a payment row of its own, and the notification beside it. One statement is
-- one transaction.
-- $1 text merchant   $2 text order number   $3 bigint amount in minor units   $4 text currency   $5 boolean raise an error at the end
-- rows: one, notify_id uuid. Errors: 22012 when $5: the transaction is rolled back.
WITH p AS (
    INSERT INTO demo_payment (merchant_id, order_no, amount_minor) VALUES ($1::text, $2::text, $3::bigint)
    RETURNING id
)
SELECT postrider.enqueue_notification($1::text, $2::text, 'payment.succeeded', jsonb_build_object('payment', p.id),
                                      amount_minor => $3::bigint, currency => $4::text) AS notify_id,
       1 / CASE WHEN $5::boolean THEN 0 ELSE 1 END AS one
FROM p;
