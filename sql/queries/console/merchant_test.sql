-- console.merchant_test: sends an endpoint.test to a merchant.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR001, PR010.
SELECT jsonb_build_object('notify_id', postrider.merchant_test($1::text, postrider.arg_text($2::text::jsonb, 'merchant_id', 64, true)))::text AS body;
