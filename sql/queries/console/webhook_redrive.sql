-- console.webhook_redrive: applies a kept webhook again.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR009, PR010.
SELECT to_jsonb(r)::text AS body FROM postrider.webhook_redrive_by($1::text, postrider.arg_id($2::text::jsonb, 'webhook_id'),
    postrider.arg_text($2::text::jsonb, 'reason', 500, true)) AS r;
