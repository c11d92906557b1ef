-- console.audit_head: the end of the audit log.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT postrider.audit_head_show($1::text, $2::text::jsonb)::text AS body;
