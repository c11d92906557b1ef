-- cli.recon_set: how a channel's statements are read and expected. $1 text who   $2 text channel   $3 text JSON object of settings   $4 text reason or NULL
-- rows: one, empty. Errors: PR003, PR004.
SELECT postrider.recon_set($1::text, $2::text, $3::text::jsonb, $4::text);
