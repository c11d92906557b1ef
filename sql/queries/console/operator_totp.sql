-- console.operator_totp: a second factor, or none any more; the operator's sessions end.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR009, PR010.
SELECT postrider.operator_totp($1::text, $2::text::jsonb)::text AS body;
