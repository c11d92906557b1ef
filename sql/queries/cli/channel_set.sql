-- cli.channel_set: changes what is named of a channel.
-- $1 text who   $2 text channel   $3 text settings (JSON object)   $4 text parameters (as channel_add; "sealed": null removes the name)   $5 text reason
-- rows: one, empty. Errors: PR003, PR004.
SELECT postrider.channel_set($1::text, $2::text, $3::text::jsonb, $4::text::jsonb, $5::text);
