-- console.operator_password: a new password; other sessions of that operator end.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR009, PR010.
SELECT postrider.operator_password($1::text, $2::text::jsonb)::text AS body;
