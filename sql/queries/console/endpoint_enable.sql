-- console.endpoint_enable: switches an endpoint on.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR009, PR010.
SELECT jsonb_build_object('ok', postrider.endpoint_enable($1::text, postrider.arg_id($2::text::jsonb, 'endpoint_id'),
    postrider.arg_text($2::text::jsonb, 'reason', 500, true)))::text AS body;
