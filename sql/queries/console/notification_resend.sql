-- console.notification_resend: drives dead deliveries of a notification again.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT jsonb_build_object('ok', true, 'redriven', postrider.dead_redrive($1::text, postrider.arg_text($2::text::jsonb, 'reason', 500, true),
    jsonb_strip_nulls(jsonb_build_object('notify_id', postrider.arg_text($2::text::jsonb, 'notify_id', 36, true), 'endpoint_id', $2::text::jsonb -> 'endpoint_id'))))::text AS body;
