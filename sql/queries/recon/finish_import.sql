-- recon.finish_import: the end of an import: what was read against what came, and whether it can be trusted.
-- $1 bigint: file. $2 text: JSON, what the reader counted. rows: one. state text (imported, held), reason text.
SELECT f.state, f.reason FROM postrider.recon_finish($1::bigint, $2::text::jsonb) AS f;
