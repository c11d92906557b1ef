-- reconciler.due: takes days whose statements are due, or that people ask for, leased for 10 minutes. $1 text who, $2 int at most so many.
-- rows: channel text, day text YYYY-MM-DD, source text directory|download, format text (NULL: the profile's), tries int, late boolean (an alert is
-- raised), correct boolean (it takes the place of the one that is there).
SELECT d.channel, d.statement_date::text AS day, d.source, d.format, d.tries, d.late, d.correct FROM postrider.recon_due($1::text, $2::int) AS d;
