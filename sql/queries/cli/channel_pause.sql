-- cli.channel_pause: its calls wait; webhooks are taken all the same.
-- $1 text who   $2 text channel   $3 text reason (needed)
-- rows: one, changed bool. Errors: PR003, PR004, PR006 it is stopped.
SELECT postrider.channel_pause($1::text, $2::text, $3::text) AS changed;
