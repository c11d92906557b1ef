-- cli.channel_maintain: the gateway rests until the channel is resumed.
-- $1 text who   $2 text channel   $3 text reason
-- rows: one, changed bool (false: it did). Errors: PR003, PR004, PR006.
SELECT postrider.channel_maintain($1::text, $2::text, $3::text) AS changed;
