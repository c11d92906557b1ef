-- cli.recon_answer: what came of recon_ask. $1 text channel, $2 text day YYYY-MM-DD. rows: none, or one. waits boolean (nobody has done it yet),
-- taken boolean (somebody is at it), file_id bigint or NULL, last_error text or NULL, status text of the file or NULL.
SELECT r.asked_by IS NOT NULL AS waits, coalesce(r.claimed_until > now(), false) AS taken, r.file_id, r.last_error,
       (SELECT f.status FROM postrider.recon_files AS f WHERE f.file_id = r.file_id) AS status
FROM postrider.recon_runs AS r WHERE r.channel = $1::text AND r.statement_date = $2::text::date;
