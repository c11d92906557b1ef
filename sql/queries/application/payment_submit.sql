-- application.payment_submit: charges, as an application would.
-- $1 text merchant id   $2 text order_no   $3 text channel   $4 bigint amount   $5 text currency   $6 text JSON object: request   $7 text JSON object: options
-- rows: one, payment_id bigint. Errors: PR001 to PR005, PR008.
SELECT postrider.submit_payment($1::text, $2::text, $3::text, $4::bigint, $5::text, $6::text::jsonb, $7::text::jsonb) AS payment_id;
