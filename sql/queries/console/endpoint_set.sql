-- console.endpoint_set: changes an endpoint.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR009, PR010.
WITH d AS (SELECT postrider.endpoint_set($1::text, postrider.arg_id($2::text::jsonb, 'endpoint_id'), $2::text::jsonb -> 'settings',
    postrider.arg_text($2::text::jsonb, 'reason', 500, true)) AS x)
SELECT jsonb_build_object('ok', true, 'said', d.x::text)::text AS body FROM d;
