-- console.exceptions_summary: how many wait, and how long.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR010.
SELECT postrider.exceptions_summary($1::text, $2::text::jsonb)::text AS body;
