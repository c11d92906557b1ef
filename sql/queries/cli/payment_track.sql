-- cli.payment_track: finds out how a payment ends.
-- $1 text merchant   $2 text order_no   $3 text channel   $4 text gateway_reference   $5 bigint amount_minor   $6 text currency   $7 text options (JSON; expires_at too)
-- rows: one, payment_id bigint. Errors: PR001 to PR008.
SELECT postrider.track_payment($1::text, $2::text, $3::text, $4::text, $5::bigint, $6::text, NULL, $7::text::jsonb) AS payment_id;
