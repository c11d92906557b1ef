-- cli.channel_resume: its calls go again; a stopped one needs a test call's result.
-- $1 text who   $2 text channel   $3 text reason   $4 text JSON object: the test call's result (NULL = none)
-- rows: one, resumed bool (false: it was active). Errors: PR003, PR004, PR006.
SELECT postrider.channel_resume($1::text, $2::text, $3::text, $4::text::jsonb) AS resumed;
