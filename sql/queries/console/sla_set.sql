-- console.sla_set: how long a kind of exception may wait.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT postrider.sla_set($1::text, $2::text::jsonb)::text AS body;
