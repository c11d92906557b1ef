-- console.channel_set: changes a channel; parameters are sealed.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR004, PR010.
WITH d AS (SELECT postrider.channel_set($1::text, postrider.arg_text($2::text::jsonb, 'channel', 64, true), coalesce($2::text::jsonb -> 'settings', '{}'),
    coalesce($2::text::jsonb -> 'parameters', '[]'), postrider.arg_text($2::text::jsonb, 'reason', 500, true)) AS x)
SELECT jsonb_build_object('ok', true, 'said', d.x::text)::text AS body FROM d;
