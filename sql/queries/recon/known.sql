-- recon.known: whether that statement is here. $1 text channel, $2 text day YYYY-MM-DD, $3 text kind. rows: none, or one. file_id bigint, status text.
SELECT f.file_id, f.status FROM postrider.recon_files AS f
WHERE f.channel = $1::text AND f.statement_date = $2::text::date AND f.kind = $3::text AND f.status NOT IN ('replaced', 'closed');
