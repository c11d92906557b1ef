-- console.channel_pause: holds a channel's calls.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR004, PR006, PR010.
SELECT jsonb_build_object('ok', postrider.channel_pause($1::text, postrider.arg_text($2::text::jsonb, 'channel', 64, true),
    postrider.arg_text($2::text::jsonb, 'reason', 500, true)))::text AS body;
