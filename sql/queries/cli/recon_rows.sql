-- cli.recon_rows: rows of statements that could not be read, newest first.
-- $1 bigint file (NULL = all)   $2 boolean: only those that nobody has closed   $3 bigint before this row (NULL = from the newest)   $4 int most rows
-- rows: row_id, file_id bigint; channel, statement_date text; line bigint; reason, detail, raw text; created_at, closed_at timestamptz;
--   closed_by, conclusion text.
SELECT q.row_id, q.file_id, q.channel, q.statement_date::text, q.line, q.reason, q.detail, q.raw, q.created_at, q.closed_at, q.closed_by, q.conclusion
FROM postrider.recon_quarantine_list($1::bigint, $2::boolean, $3::bigint, $4::int) AS q;
