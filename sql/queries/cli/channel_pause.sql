-- cli.channel_pause: its calls wait from now on.
-- $1 text who   $2 text channel   $3 text reason
-- rows: one, paused bool (false: it was). Errors: PR003, PR004, PR006.
SELECT postrider.channel_pause($1::text, $2::text, $3::text) AS paused;
