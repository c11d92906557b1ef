-- application.payment_track: finds out how a payment ends that the application has charged.
-- $1 text merchant id   $2 text order_no   $3 text channel   $4 text the gateway's reference   $5 bigint amount   $6 text currency
-- $7 text JSON object: options
-- rows: one, payment_id bigint. Errors: PR001 to PR004, PR008.
SELECT postrider.track_payment($1::text, $2::text, $3::text, $4::text, $5::bigint, $6::text, NULL, $7::text::jsonb) AS payment_id;
