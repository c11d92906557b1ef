-- cli.recon_of_day: the files of a channel's day that are not matched yet, or all of them. $1 text channel   $2 text day YYYY-MM-DD
-- rows: file_id bigint, status text.
SELECT f.file_id, f.status FROM postrider.recon_files AS f
WHERE f.channel = $1::text AND f.statement_date = $2::text::date AND f.status NOT IN ('replaced', 'closed') ORDER BY f.file_id;
