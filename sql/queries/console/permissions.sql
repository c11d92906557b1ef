-- console.permissions: what each role may.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT postrider.permissions_list($1::text, $2::text::jsonb)::text AS body;
