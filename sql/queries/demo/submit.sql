-- demo.submit: the application wants a payment charged; it remembers nothing but the order's number.
-- $1 text merchant   $2 text order number   $3 text channel   $4 bigint amount in minor units   $5 text what the payer and the gateway do
-- (the sandbox's script)   $6 text app_ref
-- rows: one, payment_id bigint.
SELECT postrider.submit_payment($1::text, $2::text, $3::text, $4::bigint, 'CNY', jsonb_build_object('scenario', $5::text),
                                jsonb_build_object('app_ref', $6::text)) AS payment_id;
