-- console.approval_ask: asks for what takes two people.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR006, PR007, PR009, PR010.
SELECT postrider.approval_ask($1::text, $2::text::jsonb)::text AS body;
