-- bench.waiting_finish: the indexes, the partition, and the cursor of each class beyond what was filled in (a script); what
-- waits has had its first try, so a new owner need not look for first tries among it.
-- rows: none.
DO $$
DECLARE
    x record;
BEGIN
    FOR x IN SELECT * FROM bench.job_index ORDER BY conname NULLS LAST LOOP
        IF x.conname IS NULL THEN
            EXECUTE x.def;
        ELSE
            EXECUTE format('ALTER TABLE postrider.job ADD CONSTRAINT %I %s', x.conname, x.constraint_def);
        END IF;
    END LOOP;
END $$;
ALTER TABLE postrider.outbox ATTACH PARTITION postrider.outbox_waiting
    FOR VALUES FROM ('2000-01-01 00:00:00+00') TO ('2000-01-02 00:00:00+00');
INSERT INTO postrider.tick (class, n, lo, hi, more, dt, di, seq, sysid)
SELECT t.class, t.n + 1, t.lo, t.hi, t.more, t.dt, t.di, t.seq + (SELECT count(*) + 1 FROM postrider.job), t.sysid
FROM generate_series(0, 2) AS c
CROSS JOIN LATERAL (SELECT * FROM postrider.tick AS k WHERE k.class = c ORDER BY k.n DESC LIMIT 1) AS t;
UPDATE postrider.shard
SET low = ARRAY(SELECT k.seq FROM generate_series(0, 2) AS c
                CROSS JOIN LATERAL (SELECT t.seq FROM postrider.tick AS t WHERE t.class = c ORDER BY t.n DESC LIMIT 1) AS k ORDER BY c);
UPDATE postrider.heartbeat
SET low = ARRAY(SELECT k.seq FROM generate_series(0, 2) AS c
                CROSS JOIN LATERAL (SELECT t.seq FROM postrider.tick AS t WHERE t.class = c ORDER BY t.n DESC LIMIT 1) AS k ORDER BY c);
