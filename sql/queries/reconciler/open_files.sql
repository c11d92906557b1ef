-- reconciler.open_files: files that are to be matched (on). $1 int at most so many. rows: file_id bigint, channel text, day text.
SELECT f.file_id, f.channel, f.statement_date::text AS day FROM postrider.recon_imported($1::int) AS f;
