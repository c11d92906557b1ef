-- cli.recon_ask: a day's statement is wanted now; the reconciler takes it. $1 text who, $2 text channel, $3 text day YYYY-MM-DD, $4 text source
-- download|directory, $5 text format (NULL: the channel's), $6 boolean: it takes the place of the one that is there. rows: one, void.
SELECT postrider.recon_ask($1::text, $2::text, $3::text::date, $4::text, $5::text, $6::boolean) AS asked;
