-- console.channel_resume: lets a channel's calls go on; a stopped one's after a test call.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR004, PR006, PR010.
SELECT jsonb_build_object('ok', postrider.channel_resume($1::text, postrider.arg_text($2::text::jsonb, 'channel', 64, true),
    postrider.arg_text($2::text::jsonb, 'reason', 500, true), $2::text::jsonb -> 'test'))::text AS body;
