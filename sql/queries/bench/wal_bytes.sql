-- bench.wal_bytes: what stands in the log between two positions, read from the log itself.
-- $1 bigint from   $2 bigint to
-- rows: one, records bigint, record_bytes bigint (without full-page images), image_bytes bigint.
SELECT sum(s.count)::bigint AS records, sum(s.record_size)::bigint AS record_bytes, sum(s.fpi_size)::bigint AS image_bytes
FROM public.pg_get_wal_stats('0/0'::pg_catalog.pg_lsn + $1::bigint::numeric, '0/0'::pg_catalog.pg_lsn + $2::bigint::numeric) AS s;
