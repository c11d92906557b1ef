-- application.submit_notification: enqueues one notification, as an application does.
-- $1 text merchant id   $2 text order_no   $3 text event   $4 text payload (JSON)   $5 bigint amount_minor or NULL
-- $6 text currency or NULL   $7 int priority or NULL   $8 text notify_url or NULL   $9 text idempotency key or NULL
-- $10 text status or NULL
-- rows: one, notify_id uuid. Errors: PR001, PR002, PR003, PR008.
SELECT postrider.enqueue_notification($1::text, $2::text, $3::text, $4::text::jsonb, $5::bigint, $6::text, $7::int, $8::text,
                                      $9::text, $10::text) AS notify_id;
