-- cli.channel_add: a channel with its parameters, in one transaction.
-- $1 text who   $2 text channel   $3 text JSON object of settings (keys: channel_patch)   $4 text JSON array of parameters (channel_parameters_set)
-- rows: one, empty. Errors: PR003.
SELECT postrider.channel_add($1::text, $2::text, $3::text::jsonb, $4::text::jsonb);
