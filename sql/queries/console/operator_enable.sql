-- console.operator_enable: lets an operator in again.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR006, PR009, PR010.
SELECT postrider.operator_enable($1::text, $2::text::jsonb)::text AS body;
