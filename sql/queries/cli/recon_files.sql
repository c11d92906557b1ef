-- cli.recon_files: statements, newest first.
-- $1 text channel, $2 text status (NULL = all)   $3 bigint before this file (NULL = from the newest)   $4 int most rows   $5 bigint only this file (NULL = all)
-- rows: file_id bigint; channel, statement_date, kind, name, source, status, reason text; rows, bad, matched, differences, waiting, ignored bigint;
--   proof text; created_at, matched_at timestamptz; who text; corrects bigint; sha256 text; bytes bigint; sums, facts text (JSON).
SELECT f.file_id, f.channel, f.statement_date::text, f.kind, f.name, f.source, f.status, f.reason, f.rows, f.bad, f.matched, f.differences, f.waiting, f.ignored,
       f.proof, f.created_at, f.matched_at, f.who, f.corrects, f.sha256, f.bytes, f.sums::text AS sums, f.facts::text AS facts
FROM postrider.recon_file_list($1::text, $2::text, coalesce($5::bigint + 1, $3::bigint), $4::int) AS f WHERE f.file_id = coalesce($5::bigint, f.file_id);
