-- console.endpoint_rotate_secret: puts a new secret (sealed, hex) beside the old one.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR009, PR010.
SELECT jsonb_build_object('ok', true, 'until', postrider.json_time(postrider.endpoint_rotate_secret($1::text, postrider.arg_id($2::text::jsonb, 'endpoint_id'),
    decode($2::text::jsonb ->> 'secret', 'hex'), postrider.arg_id($2::text::jsonb, 'overlap_s') * interval '1 s',
    postrider.arg_text($2::text::jsonb, 'reason', 500, true))))::text AS body;
