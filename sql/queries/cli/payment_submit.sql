-- cli.payment_submit: charges.
-- $1 text merchant   $2 text order_no   $3 text channel   $4 bigint amount_minor   $5 text currency   $6 text request (JSON)   $7 text options (JSON)
-- rows: one, payment_id bigint. Errors: PR001 to PR008.
SELECT postrider.submit_payment($1::text, $2::text, $3::text, $4::bigint, $5::text, $6::text::jsonb, $7::text::jsonb) AS payment_id;
