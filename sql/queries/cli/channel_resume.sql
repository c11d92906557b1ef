-- cli.channel_resume: its calls go on. A stopped channel needs the evidence of a test call.
-- $1 text who   $2 text channel   $3 text reason (needed)   $4 text test (JSON: evidence of the call, or NULL)
-- rows: one, changed bool. Errors: PR003, PR004, PR006 stopped, and no test call that the gateway took.
SELECT postrider.channel_resume($1::text, $2::text, $3::text, $4::text::jsonb) AS changed;
