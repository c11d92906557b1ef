-- console.approvals_list: what was asked for, newest first.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR009, PR010.
SELECT postrider.approvals_list($1::text, $2::text::jsonb)::text AS body;
