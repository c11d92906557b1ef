-- console.payment_show: everything of one payment.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR009, PR010.
SELECT postrider.payment_show($1::text, $2::text::jsonb)::text AS body;
