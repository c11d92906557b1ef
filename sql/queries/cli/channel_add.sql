-- cli.channel_add: a new channel.
-- $1 text who   $2 text channel   $3 text settings (JSON object by the columns of the view channels; what the profile says is among them)
-- $4 text parameters (JSON array of {"name", "position" (1), "sealed": hex})
-- rows: one, empty. Errors: PR003.
SELECT postrider.channel_add($1::text, $2::text, $3::text::jsonb, $4::text::jsonb);
