-- reconciler.missed: a day's statement has not come, or not in order. $1 text channel, $2 text day YYYY-MM-DD, $3 text why.
-- rows: one. next_at timestamptz: when it is tried again (NULL: it has come meanwhile).
SELECT postrider.recon_missed($1::text, $2::text::date, $3::text) AS next_at;
