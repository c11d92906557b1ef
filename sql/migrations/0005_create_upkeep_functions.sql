-- 0005 create upkeep functions: partitions, retention, rebase after a restore.
-- why:   history goes by dropping partitions, never by a DELETE that vacuum must follow (docs/protocol.md, section 1).
-- locks: creates the first dated partitions of outbox and attempt.
-- undo:  DROP FUNCTION for each.
--
-- An idle queue is an empty table. Analysed so, a plan that a long-lived connection makes and keeps takes the table for one row, joins it with
-- anything by reading all of it, and goes on so when it has filled (docs/performance-postgres.md). Functions of hot paths never join a
-- growing table: they name its rows (= ANY) or look one up at a time (LATERAL, bounded by LIMIT or OFFSET 0). Those of upkeep and of
-- people, called a few times a minute, have their plans made anew for each call.

SET LOCAL ROLE postrider_owner;

-- Makes dated partitions from now on: always the one in use and `ahead` more. Returns the names of those made.
-- Their length follows the retention, so that there are at most eight (a poll of the relay costs 72 us with one partition,
-- 579 us with 35): five for the past, one in use, one ahead, and the default partition.
-- Lock: ATTACH takes SHARE UPDATE EXCLUSIVE on the parent, which stops no insert, and for an instant ACCESS EXCLUSIVE on the
-- (nearly empty) default partition, for which it waits at most 100 ms (SQLSTATE 55P03): the caller tries again.
-- Bounds are written as texts and read again: IST is a time of India in one style and of Israel in the parser's table.
CREATE FUNCTION postrider.ensure_partitions(ahead int, retention interval) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
    SET datestyle = 'ISO, MDY' AS $$
DECLARE
    span CONSTANT interval := make_interval(hours => greatest(1, ceil(extract(epoch FROM retention) / 3600 / 5)::int));
    kind text;
    lo timestamptz;
    part text;
    busy boolean;
BEGIN
    IF ahead NOT BETWEEN 1 AND 4 OR retention < interval '1 hour' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'ahead must be 1 to 4 and retention at least an hour',
            HINT = 'Look at retention in the configuration.';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('postrider.partition'));    -- two actors at once make each only once
    FOREACH kind IN ARRAY ARRAY['outbox', 'attempt'] LOOP
        LOOP
            SELECT max(p.hi) INTO lo FROM postrider.partition AS p WHERE p.parent = kind;
            IF lo IS NULL OR lo < clock_timestamp() - span THEN
                lo := date_bin(span, clock_timestamp(), '2000-01-03 00:00:00+00');
            END IF;
            EXIT WHEN lo > clock_timestamp() + span * ahead;
            -- Rows in the default partition bar a partition over their time: begin after the time that is running.
            EXECUTE format('SELECT EXISTS (SELECT FROM postrider.%I WHERE at >= $1)', kind || '_default') INTO busy USING lo;
            IF busy THEN
                lo := date_bin(span, clock_timestamp(), '2000-01-03 00:00:00+00') + span;
            END IF;
            part := kind || '_' || to_char(lo AT TIME ZONE 'UTC', 'YYYYMMDD_HH24');
            -- The constraint spares ATTACH the scan.
            EXECUTE format('CREATE TABLE postrider.%I (LIKE postrider.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE,'
                           ' CONSTRAINT bounds CHECK (at >= %L AND at < %L))', part, kind, lo, lo + span);
            EXECUTE format('ALTER TABLE postrider.%I ATTACH PARTITION postrider.%I FOR VALUES FROM (%L) TO (%L)',
                           kind, part, lo, lo + span);
            EXECUTE format('ALTER TABLE postrider.%I DROP CONSTRAINT bounds', part);
            INSERT INTO postrider.partition (parent, name, lo, hi) VALUES (kind, part, lo, lo + span);
            RETURN NEXT part;
        END LOOP;
    END LOOP;
END $$;

-- Rows of an outbox partition that the relay has not handed over. Uncommitted ones are not seen: their lock bars the DROP.
CREATE FUNCTION postrider.unmoved_in(part regclass) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_one boolean;
BEGIN
    EXECUTE format($q$
        SELECT EXISTS (
            SELECT FROM generate_series(0, 2) AS c (class)
            CROSS JOIN LATERAL (SELECT CASE WHEN k.more THEN k.lo ELSE k.hi END AS lo
                                FROM postrider.tick AS k WHERE k.class = c.class ORDER BY k.n DESC LIMIT 1) AS t
            CROSS JOIN LATERAL (
                SELECT o.tx, o.id FROM %1$s AS o WHERE o.class = c.class AND o.tx >= pg_snapshot_xmax(t.lo)
                UNION ALL
                SELECT o.tx, o.id FROM %1$s AS o
                WHERE o.class = c.class AND o.tx = ANY (ARRAY(SELECT pg_snapshot_xip(t.lo))::xid8[])) AS o
            WHERE NOT postrider.is_moved(c.class::smallint, o.tx, o.id))$q$, part) INTO found_one;
    RETURN found_one;
END $$;

-- Drops at most one outbox or attempt partition that ended more than `retention` ago. Call it until it returns NULL.
-- Rows that a job or a dead letter that is not closed needs go to outbox_kept first, their attempts to attempt_default; a partition with
-- rows that are not handed over stays. Attempts outlive the outbox rows of their time.
-- DROP waits at most 100 ms for its lock (SQLSTATE 55P03): the caller tries again later. Without that a waiting DROP stops
-- every enqueue behind it.
CREATE FUNCTION postrider.retention_step(retention interval, OUT dropped text, OUT kept bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
    SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    part record;
    oldest timestamptz;
    needed tid[];
BEGIN
    kept := 0;
    PERFORM pg_advisory_xact_lock(hashtext('postrider.partition'));
    SELECT p.name, p.hi INTO part FROM postrider.partition AS p
    WHERE p.parent = 'outbox' AND p.hi <= now() - retention AND NOT postrider.unmoved_in(format('postrider.%I', p.name)::regclass)
    ORDER BY p.hi LIMIT 1;
    IF FOUND THEN
        EXECUTE format($q$
            INSERT INTO postrider.outbox_kept OVERRIDING SYSTEM VALUE
            SELECT o.* FROM postrider.%I AS o WHERE o.kind = 0 AND o.id IN (
                SELECT j.outbox_id FROM postrider.job AS j
                UNION SELECT d.outbox_id FROM postrider.dead AS d WHERE d.state <> 'closed')$q$, part.name);
        GET DIAGNOSTICS kept = ROW_COUNT;
        EXECUTE format('DROP TABLE postrider.%I', part.name);
        -- A letter that was driven again or a job that was born since the copy was made is not lost: both write-lock nothing
        -- here, so look again now that nobody can read or write the partition.
        IF EXISTS (SELECT FROM postrider.job AS j JOIN postrider.partition AS p ON p.name = part.name
                   WHERE j.outbox_at >= p.lo AND j.outbox_at < p.hi
                     AND NOT EXISTS (SELECT FROM postrider.outbox_kept AS k WHERE k.id = j.outbox_id)) THEN
            RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = 'a job was born meanwhile', HINT = 'Try again.';
        END IF;
    ELSE
        SELECT min(p.lo) INTO oldest FROM postrider.partition AS p WHERE p.parent = 'outbox';
        SELECT p.name, p.hi INTO part FROM postrider.partition AS p
        WHERE p.parent = 'attempt' AND p.hi <= least(now() - retention, oldest) ORDER BY p.hi LIMIT 1;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        EXECUTE format('SELECT array(SELECT a.ctid FROM postrider.%I AS a WHERE a.outbox_id IN ('
                       'SELECT k.id FROM postrider.outbox_kept AS k))', part.name) INTO needed;
        kept := cardinality(needed);
        EXECUTE format('ALTER TABLE postrider.attempt DETACH PARTITION postrider.%I', part.name);
        EXECUTE format('INSERT INTO postrider.attempt SELECT a.* FROM postrider.%I AS a WHERE a.ctid = ANY ($1)', part.name)
            USING needed;
        EXECUTE format('DROP TABLE postrider.%I', part.name);
    END IF;
    DELETE FROM postrider.partition AS p WHERE p.name = part.name;
    dropped := part.name;
END $$;

-- Deletes what no partition holds: at most `most` rows of each kind. Returns how many; call it until that is less than most.
--   ticks: older than an hour. A relay's statement may have read the last tick and insert the next one much later; the
--          number it tries must still be taken, so this is far beyond any statement_timeout.
--   idempotency keys: as long as their row, 30 days at least.   cancelled, closed dead letters, kept rows that nothing needs
--   any more, rows of the default partitions, resolved alerts, ended sessions without shards: older than retention.
CREATE FUNCTION postrider.purge_step(retention interval, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan
    SET enable_seqscan = off AS $$
DECLARE
    cutoff CONSTANT timestamptz := now() - retention;
    n bigint;
    total bigint := 0;
    kind text;
BEGIN
    DELETE FROM postrider.tick AS t WHERE t.ctid = ANY (ARRAY(
        SELECT k.ctid FROM generate_series(0, 2) AS c (class)
        CROSS JOIN LATERAL (SELECT x.n FROM postrider.tick AS x WHERE x.class = c.class ORDER BY x.n DESC LIMIT 1) AS l
        CROSS JOIN LATERAL (SELECT x.ctid, x.at FROM postrider.tick AS x WHERE x.class = c.class AND x.n < l.n - 100
                            ORDER BY x.n LIMIT most) AS k       -- the oldest: of the others nothing is read
        WHERE k.at < clock_timestamp() - interval '1 hour' LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.idempotency AS i WHERE i.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.idempotency AS k WHERE k.at < least(cutoff, now() - interval '30 days') LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.cancelled AS c WHERE c.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.cancelled AS k WHERE k.at < cutoff AND k.outbox_at < cutoff LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.dead AS d WHERE d.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.dead AS k
        WHERE k.state <> 'open' AND k.closed_at < cutoff AND k.outbox_at < cutoff
          AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = k.outbox_id) LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.outbox_kept AS o WHERE o.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.outbox_kept AS k
        WHERE k.at < cutoff AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = k.id)
          AND NOT EXISTS (SELECT FROM postrider.dead AS d WHERE d.outbox_id = k.id) LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.outbox_default AS o WHERE o.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.outbox_default AS k
        WHERE k.at < cutoff AND postrider.is_moved(k.class, k.tx, k.id)
          AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = k.id)
          AND NOT EXISTS (SELECT FROM postrider.dead AS d WHERE d.outbox_id = k.id) LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.attempt_default AS a WHERE a.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.attempt_default AS k
        WHERE k.at < cutoff AND NOT EXISTS (SELECT FROM postrider.outbox_kept AS o WHERE o.id = k.outbox_id)
          AND NOT EXISTS (SELECT FROM postrider.outbox AS o WHERE o.id = k.outbox_id) LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.alert AS a WHERE a.resolved_at < cutoff;
    DELETE FROM postrider.redrive AS r WHERE r.finished_at < cutoff;
    WITH old AS (
        SELECT s.id FROM postrider.session AS s
        WHERE s.ended < now() - interval '1 day' AND NOT EXISTS (SELECT FROM postrider.shard AS h WHERE h.session = s.id)
    ), b AS (
        DELETE FROM postrider.heartbeat AS h USING old WHERE h.session = old.id
    )
    DELETE FROM postrider.session AS s USING old WHERE s.id = old.id;
    RETURN total;
END $$;

-- `migrate --rebase`, after a dump was restored: the copy's transaction ids begin anew, below the cursor, and the cursor's
-- windows mean nothing here. Every outbox row without job or end gets this transaction's id and so falls into the next
-- window; rows that are done get an id that every snapshot sees; the new ticks begin at this transaction.
-- Sessions of the other cluster end without touching any backend (their pids are strangers here).
-- Lock: outbox SHARE ROW EXCLUSIVE until commit: enqueues wait. Other writers under way are in the new tick's list.
-- Returns how many rows are handed over again. Harmless, but slow, on a database that needs none of it.
CREATE FUNCTION postrider.rebase() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    self xid8;
    seen pg_snapshot;
    edge xid8;
    others xid8[];
    base pg_snapshot;
    again bigint;
BEGIN
    LOCK TABLE postrider.outbox IN SHARE ROW EXCLUSIVE MODE;
    LOCK TABLE postrider.tick IN SHARE ROW EXCLUSIVE MODE;      -- no relay moves meanwhile
    self := pg_current_xact_id();
    seen := pg_current_snapshot();
    -- What this snapshot sees, but nothing from this transaction on: a snapshot counts its own transaction as seen. What is
    -- under way is in its list, or at or above its xmax (which is one above the last transaction that ended).
    edge := least(pg_snapshot_xmax(seen), self);
    others := ARRAY(SELECT x FROM pg_snapshot_xip(seen) AS x WHERE x < edge);
    base := format('%s:%s:%s', least(pg_snapshot_xmin(seen), edge), edge,
                   (SELECT string_agg(x::text, ',' ORDER BY x) FROM unnest(others) AS x))::pg_snapshot;
    CREATE TEMP TABLE rebase_done ON COMMIT DROP AS
        SELECT o.at, o.id FROM postrider.outbox AS o
        WHERE (o.kind = 0 AND (
                   EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = o.id)
                OR EXISTS (SELECT FROM postrider.dead AS d WHERE d.outbox_id = o.id)
                OR EXISTS (SELECT FROM postrider.cancelled AS c WHERE c.outbox_id = o.id)
                OR EXISTS (SELECT FROM postrider.attempt AS a WHERE a.outbox_id = o.id)))
           OR (o.kind = 1 AND (
                   EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = o.ref_id AND j.endpoint = o.ref_endpoint)
                OR EXISTS (SELECT FROM postrider.cancelled AS c WHERE c.outbox_id = o.ref_id AND c.endpoint = o.ref_endpoint)
                OR EXISTS (SELECT FROM postrider.attempt AS a
                           WHERE a.outbox_id = o.ref_id AND a.endpoint = o.ref_endpoint AND a.at >= o.at)
                OR NOT EXISTS (SELECT FROM postrider.dead AS d
                               WHERE d.outbox_id = o.ref_id AND d.endpoint = o.ref_endpoint AND d.state = 'redriven')))
           OR (o.kind = 2 AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = o.ref_id));
    UPDATE postrider.outbox AS o SET tx = self
    WHERE NOT EXISTS (SELECT FROM rebase_done AS r WHERE r.id = o.id);
    GET DIAGNOSTICS again = ROW_COUNT;
    UPDATE postrider.outbox AS o SET tx = '2' FROM rebase_done AS r
    WHERE r.id = o.id AND r.at = o.at AND (o.tx >= edge OR o.tx = ANY (others));
    INSERT INTO postrider.tick (class, n, lo, hi, more, dt, di, seq, sysid)
    SELECT t.class, t.n + 1, base, base, false, '0', 0, t.seq, s.system_identifier
    FROM (SELECT DISTINCT ON (k.class) k.class, k.n, k.seq FROM postrider.tick AS k ORDER BY k.class, k.n DESC) AS t,
         pg_control_system() AS s;
    UPDATE postrider.shard SET session = NULL, low = DEFAULT, beat = 0;
    DELETE FROM postrider.heartbeat;
    DELETE FROM postrider.session;
    UPDATE postrider.endpoint SET tx = DEFAULT;
    UPDATE postrider.cancelled SET tx = DEFAULT WHERE tx >= edge;
    RETURN again;
END $$;

SELECT * FROM postrider.ensure_partitions(1, interval '30 days');

RESET ROLE;
