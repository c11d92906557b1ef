-- console.exceptions_list: what waits for a person, oldest first.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT postrider.exceptions_list($1::text, $2::text::jsonb)::text AS body;
