-- bench.wal_position: where the log is, as a number; and how many full-page images it had since the statistics began.
-- rows: one, position bigint, images bigint.
SELECT (pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_catalog.pg_lsn)::bigint AS position, w.wal_fpi AS images
FROM pg_catalog.pg_stat_wal AS w;
