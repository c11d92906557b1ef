-- bench.backends: Postgres' processes, all but the asker's.
-- rows: one a process: pid int, name text.
SELECT a.pid, coalesce(nullif(a.application_name, ''), a.backend_type) AS name FROM pg_catalog.pg_stat_activity AS a
WHERE a.pid <> pg_catalog.pg_backend_pid();
