-- bench.waiting_prepare: makes room for many jobs that wait for later (several statements: a script, run once a database).
-- The bodies get a partition of their own, before all others, filled before it is attached; it is unlogged, for nobody
-- writes to it afterwards. job loses its indexes until waiting_finish. No actor may run.
-- rows: none.
CREATE UNLOGGED TABLE postrider.outbox_waiting
    (LIKE postrider.outbox INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE,
     CHECK (at >= '2000-01-01 00:00:00+00' AND at < '2000-01-02 00:00:00+00'));
CREATE TABLE bench.job_index AS
SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS def, c.conname,
       CASE WHEN c.conname IS NOT NULL THEN pg_get_constraintdef(c.oid) END AS constraint_def
FROM pg_catalog.pg_index AS i LEFT JOIN pg_catalog.pg_constraint AS c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid
WHERE i.indrelid = 'postrider.job'::regclass;
DO $$
DECLARE
    x record;
BEGIN
    FOR x IN SELECT * FROM bench.job_index LOOP
        IF x.conname IS NULL THEN
            EXECUTE format('DROP INDEX %s', x.name);
        ELSE
            EXECUTE format('ALTER TABLE postrider.job DROP CONSTRAINT %I', x.conname);
        END IF;
    END LOOP;
END $$;
