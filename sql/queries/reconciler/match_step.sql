-- reconciler.match_step: the next rows of a file against payments; after the last ones, the payments of its day against the file.
-- $1 bigint: file. $2 int: rows at most. rows: one. state text (imported: there is more), matched_to bigint, items bigint.
SELECT m.state, m.matched_to, m.items FROM postrider.recon_match_step($1::bigint, $2::int) AS m;
