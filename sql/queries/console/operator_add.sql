-- console.operator_add: adds an operator; the first one is an admin.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR006, PR010.
SELECT postrider.operator_add($1::text, $2::text::jsonb)::text AS body;
