-- recon.hold: a day that was taken stays ours for 10 minutes more. $1 text channel, $2 text day YYYY-MM-DD, $3 text who. rows: one. held boolean
-- (false: somebody else has it, or it has come).
SELECT postrider.recon_hold($1::text, $2::text::date, $3::text) AS held;
