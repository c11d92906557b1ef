-- cli.channel_set: changes settings, replaces the parameters that are named.
-- $1 text who   $2 text channel   $3 text JSON object of settings   $4 text JSON array of parameters   $5 text reason or NULL
-- rows: one, empty. Errors: PR003, PR004.
SELECT postrider.channel_set($1::text, $2::text, $3::text::jsonb, $4::text::jsonb, $5::text);
