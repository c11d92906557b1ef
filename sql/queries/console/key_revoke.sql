-- console.key_revoke: revokes a key for HTTP.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT jsonb_build_object('ok', postrider.key_revoke($1::text, postrider.arg_id($2::text::jsonb, 'key_id'),
    postrider.arg_text($2::text::jsonb, 'reason', 500, true)))::text AS body;
