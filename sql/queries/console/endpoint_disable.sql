-- console.endpoint_disable: switches an endpoint off.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR009, PR010.
SELECT jsonb_build_object('ok', postrider.endpoint_disable($1::text, postrider.arg_id($2::text::jsonb, 'endpoint_id'),
    postrider.arg_text($2::text::jsonb, 'reason', 500, true)))::text AS body;
