-- recon.nothing: the channel says that the day had nothing: kept as a statement without a row where that agrees with us.
-- $1 text who, $2 text channel, $3 text day YYYY-MM-DD, $4 text kind, $5 text source, $6 boolean: a correction. rows: one. why text (NULL: it is kept;
-- else what does not agree, and nothing is written). Errors as begin_import.
SELECT postrider.recon_nothing($1::text, $2::text, $3::text::date, $4::text, $5::text, $6::boolean) AS why;
