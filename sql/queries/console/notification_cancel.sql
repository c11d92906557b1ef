-- console.notification_cancel: what was not delivered yet shall not be.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR010.
SELECT jsonb_build_object('ok', postrider.notification_cancel($1::text, postrider.arg_text($2::text::jsonb, 'notify_id', 36, true)::uuid,
    postrider.arg_text($2::text::jsonb, 'reason', 500, true)))::text AS body;
