-- console.notification_show: one notification: what is sent, to whom, every attempt.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR009, PR010.
SELECT postrider.notification_show($1::text, $2::text::jsonb)::text AS body;
