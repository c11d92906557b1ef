-- 0030 read what is asked for: functions over growing tables do, whatever the statistics say.
-- why:   an idle queue is an empty table. Analysed so, a plan that a long-lived connection makes and keeps takes the table for one row,
--        joins it with anything by reading all of it, and goes on so when it has filled (docs/performance-postgres.md). Functions of hot
--        paths never join a growing table: they name its rows (= ANY) or look one up at a time (LATERAL, bounded by LIMIT or OFFSET 0).
--        Those of upkeep and of people, called a few times a minute, have their plans made anew for each call.
-- locks: outbox ACCESS EXCLUSIVE while its index on id is built again; functions are replaced.
-- undo:  cancel_notification as in 0002, supersede as in 0014, dead_matching, redrive_letters and dead_close as in 0005,
--        endpoint_switch_off as in 0010, purge_step as in 0004; ALTER FUNCTION postrider.retention_step RESET plan_cache_mode;
--        DROP INDEX postrider.outbox_kept_merchant_id_order_no_idx, postrider.dead_closed_at_idx.

SET LOCAL ROLE postrider_owner;

-- A row is looked up by id. On a table that is said to be empty (class, tx, id) serves as well, which would read all of that index; of two
-- that cost the same Postgres takes the one made last.
DROP INDEX postrider.outbox_id_idx;
CREATE INDEX outbox_id_idx ON postrider.outbox (id);
-- An order's rows that retention kept.
CREATE INDEX outbox_kept_merchant_id_order_no_idx ON postrider.outbox_kept (merchant_id, order_no);

-- As in 0002. The jobs are locked by their DELETE: one index read in order of seq, so no bitmap.
CREATE OR REPLACE FUNCTION postrider.cancel_notification(notify_id uuid, reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_variable
DECLARE
    why CONSTANT text := coalesce(left(nullif(reason, ''), 500), 'cancelled');
    o record;
    waits boolean := false;
    follow boolean := false;
    deleted bigint;
BEGIN
    -- OFFSET 0: else the order would be had by reading the index on id instead of that on notify_id
    FOR o IN SELECT * FROM (SELECT b.at, b.id, b.tx, b.class FROM postrider.outbox AS b
                            WHERE b.notify_id = notify_id AND b.kind IN (0, 1) OFFSET 0) AS x ORDER BY x.id LOOP
        CONTINUE WHEN postrider.is_moved(o.class, o.tx, o.id);
        waits := true;
        UPDATE postrider.outbox AS b SET cancel_at = clock_timestamp(), cancel_reason = why
        WHERE b.at = o.at AND b.id = o.id AND b.cancel_at IS NULL;
        follow := follow OR FOUND;
    END LOOP;
    IF follow THEN
        INSERT INTO postrider.outbox (class, kind, merchant_id, order_no, event, status, version, notify_id, body,
                                      cancel_reason, ref_at, ref_id)
        SELECT b.class, 2, b.merchant_id, b.order_no, b.event, b.status, b.version, b.notify_id, '', why, b.at, b.id
        FROM (SELECT * FROM postrider.outbox UNION ALL SELECT * FROM postrider.outbox_kept) AS b
        WHERE b.notify_id = notify_id AND b.kind = 0 LIMIT 1;
    END IF;
    WITH d AS (
        DELETE FROM postrider.job AS n WHERE n.seq = ANY (ARRAY(
            SELECT j.seq
            FROM (SELECT b.id FROM postrider.outbox AS b WHERE b.notify_id = notify_id AND b.kind = 0
                  UNION ALL SELECT k.id FROM postrider.outbox_kept AS k WHERE k.notify_id = notify_id AND k.kind = 0) AS b
            CROSS JOIN LATERAL (SELECT x.seq FROM postrider.job AS x WHERE x.outbox_id = b.id OFFSET 0) AS j))
        RETURNING n.outbox_id, n.endpoint, n.outbox_at
    )
    INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason)
    SELECT d.outbox_id, d.endpoint, d.outbox_at, why FROM d ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN waits OR deleted > 0;
END $$;

-- As in 0014.
CREATE OR REPLACE FUNCTION postrider.supersede(after bigint, upto bigint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_variable
DECLARE
    cancelled int;
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.endpoint AS e WHERE e.supersede) THEN
        RETURN 0;
    END IF;
    WITH n AS MATERIALIZED (        -- the newest version of each order among the jobs of the move
        SELECT j.endpoint, o.merchant_id, o.order_no, max(o.version) AS version
        FROM (SELECT x.endpoint, x.outbox_at, x.outbox_id FROM postrider.job AS x WHERE x.seq > after AND x.seq <= upto OFFSET 0) AS j
        CROSS JOIN LATERAL (SELECT FROM postrider.endpoint AS x WHERE x.id = j.endpoint AND x.supersede LIMIT 1) AS e
        CROSS JOIN LATERAL (SELECT x.merchant_id, x.order_no, x.version FROM postrider.outbox AS x
                            WHERE x.at = j.outbox_at AND x.id = j.outbox_id LIMIT 1) AS o
        GROUP BY 1, 2, 3
    ), d AS (
        DELETE FROM postrider.job AS j WHERE j.seq = ANY (ARRAY(
            SELECT x.seq FROM n
            CROSS JOIN LATERAL (SELECT b.id FROM postrider.outbox AS b
                                WHERE b.merchant_id = n.merchant_id AND b.order_no = n.order_no AND b.version < n.version OFFSET 0) AS o
            CROSS JOIN LATERAL (SELECT b.seq FROM postrider.job AS b
                                WHERE b.outbox_id = o.id AND b.endpoint = n.endpoint OFFSET 0) AS x))
        RETURNING j.outbox_id, j.endpoint, j.outbox_at
    ), c AS (
        INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason)
        SELECT d.outbox_id, d.endpoint, d.outbox_at, 'superseded' FROM d ON CONFLICT DO NOTHING
    )
    SELECT count(*) INTO cancelled FROM d;
    RETURN cancelled;
END $$;

-- As in 0005, planned anew for each call. Which open dead letters a filter means. filter: an object of notify_id, endpoint_id, merchant_id, order_no, event, reason,
-- since, until (RFC 3339, time of death); {} = all; an unknown key is PR003. Oldest first.
CREATE OR REPLACE FUNCTION postrider.dead_matching(filter jsonb, before timestamptz, most int)
RETURNS TABLE (outbox_id bigint, endpoint bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    f record;
    ids bigint[];
BEGIN
    IF jsonb_typeof(filter) IS DISTINCT FROM 'object' OR EXISTS (SELECT FROM jsonb_object_keys(filter) AS k WHERE k NOT IN
        ('notify_id', 'endpoint_id', 'merchant_id', 'order_no', 'event', 'reason', 'since', 'until')) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the filter has an unknown key', HINT =
            'Keys are notify_id, endpoint_id, merchant_id, order_no, event, reason, since and until; {} means all.';
    END IF;
    BEGIN
        SELECT * INTO f FROM jsonb_to_record(filter) AS x (notify_id uuid, endpoint_id bigint, merchant_id text, order_no text,
            event text, reason text, since timestamptz, until timestamptz);
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the filter has a value of the wrong kind: ' || SQLERRM,
            HINT = 'notify_id is a UUID, endpoint_id a number, since and until are RFC 3339 times.';
    END;
    IF f.notify_id IS NOT NULL OR (f.merchant_id IS NOT NULL AND f.order_no IS NOT NULL) THEN      -- few rows: begin with them
        ids := ARRAY(
            SELECT o.id FROM postrider.outbox AS o WHERE o.notify_id = f.notify_id AND f.notify_id IS NOT NULL AND o.kind = 0
            UNION ALL SELECT o.id FROM postrider.outbox_kept AS o WHERE o.notify_id = f.notify_id AND f.notify_id IS NOT NULL
            UNION ALL SELECT o.id FROM postrider.outbox AS o
            WHERE f.notify_id IS NULL AND o.merchant_id = f.merchant_id AND o.order_no = f.order_no AND o.kind = 0
            UNION ALL SELECT o.id FROM postrider.outbox_kept AS o
            WHERE f.notify_id IS NULL AND o.merchant_id = f.merchant_id AND o.order_no = f.order_no);
    END IF;
    RETURN QUERY
    SELECT d.outbox_id, d.endpoint
    FROM postrider.dead AS d
    CROSS JOIN LATERAL (
        SELECT o.merchant_id, o.order_no, o.event FROM postrider.outbox AS o WHERE o.at = d.outbox_at AND o.id = d.outbox_id
        UNION ALL
        SELECT o.merchant_id, o.order_no, o.event FROM postrider.outbox_kept AS o WHERE o.id = d.outbox_id
        LIMIT 1) AS b
    WHERE d.state = 'open' AND d.at <= before AND (ids IS NULL OR d.outbox_id = ANY (ids))
      AND (f.endpoint_id IS NULL OR d.endpoint = f.endpoint_id) AND (f.reason IS NULL OR d.reason = f.reason)
      AND (f.since IS NULL OR d.at >= f.since) AND (f.until IS NULL OR d.at < f.until)
      AND (f.merchant_id IS NULL OR b.merchant_id = f.merchant_id) AND (f.order_no IS NULL OR b.order_no = f.order_no)
      AND (f.event IS NULL OR b.event = f.event)
    ORDER BY d.at, d.outbox_id LIMIT most;      -- as the index of the open ones has them: nothing to sort
END $$;

-- As in 0005. CASE also keeps indexes that begin with at or endpoint from being read in the place of the primary key.
CREATE OR REPLACE FUNCTION postrider.redrive_letters(who text, why text, filter jsonb, before timestamptz, most int) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    n bigint;
BEGIN
    WITH m AS MATERIALIZED (
        SELECT * FROM postrider.dead_matching(filter, before, most)
    ), l AS MATERIALIZED (
        SELECT m.outbox_id, m.endpoint FROM m
        CROSS JOIN LATERAL (SELECT FROM postrider.dead AS x WHERE x.outbox_id = m.outbox_id
                            AND CASE WHEN x.endpoint = m.endpoint AND x.state = 'open' THEN true END FOR UPDATE SKIP LOCKED) AS d
    ), u AS (
        UPDATE postrider.dead AS d
        SET state = 'redriven', closed_by = left(who, 128), closed_reason = left(why, 500), closed_at = now()
        WHERE d.outbox_id = ANY (ARRAY(SELECT l.outbox_id FROM l))
          AND CASE WHEN (d.outbox_id, d.endpoint) IN (SELECT l.outbox_id, l.endpoint FROM l) THEN true END
        RETURNING d.outbox_id, d.outbox_at, d.endpoint, d.class
    )
    INSERT INTO postrider.outbox (class, kind, merchant_id, order_no, event, status, version, notify_id, notify_url, body,
                                  ref_at, ref_id, ref_endpoint)
    SELECT u.class, 1, b.merchant_id, b.order_no, b.event, b.status, b.version, b.notify_id, b.notify_url, '',
           u.outbox_at, u.outbox_id, u.endpoint
    FROM u CROSS JOIN LATERAL (
        SELECT o.* FROM postrider.outbox AS o WHERE o.at = u.outbox_at AND o.id = u.outbox_id
        UNION ALL
        SELECT o.* FROM postrider.outbox_kept AS o WHERE o.id = u.outbox_id
        LIMIT 1) AS b
    ORDER BY u.outbox_id, u.endpoint;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;

-- As in 0005. Letters are locked in order of their keys, as at every door.
CREATE OR REPLACE FUNCTION postrider.dead_close(who text, reason text, filter jsonb, most int DEFAULT 1000000) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    n bigint;
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'a reason is needed', HINT = 'Say why nobody will be told.';
    END IF;
    WITH m AS MATERIALIZED (
        SELECT d.outbox_id, d.endpoint FROM postrider.dead_matching(filter, 'infinity', most) AS d ORDER BY 1, 2
    ), l AS MATERIALIZED (
        SELECT m.outbox_id, m.endpoint FROM m
        CROSS JOIN LATERAL (SELECT FROM postrider.dead AS x WHERE x.outbox_id = m.outbox_id
                            AND CASE WHEN x.endpoint = m.endpoint AND x.state = 'open' THEN true END FOR UPDATE) AS d
    )
    UPDATE postrider.dead AS d
    SET state = 'closed', closed_by = left(who, 128), closed_reason = left(dead_close.reason, 500), closed_at = now()
    WHERE d.outbox_id = ANY (ARRAY(SELECT l.outbox_id FROM l))
      AND CASE WHEN (d.outbox_id, d.endpoint) IN (SELECT l.outbox_id, l.endpoint FROM l) THEN true END;
    GET DIAGNOSTICS n = ROW_COUNT;
    PERFORM postrider.audit_add(who, 'dead.close', coalesce(filter ->> 'notify_id', filter::text), reason,
        jsonb_build_object('filter', filter, 'count', n));
    RETURN n;
END $$;

-- As in 0010.
CREATE OR REPLACE FUNCTION postrider.endpoint_switch_off(id bigint, why text, off_after_ms bigint DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    merchant text;
    failing_since timestamptz;
BEGIN
    SELECT e.merchant_id INTO merchant FROM postrider.endpoint AS e WHERE e.id = endpoint_switch_off.id AND e.state = 'active';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF why = 'failing' THEN
        SELECT f.since INTO failing_since FROM postrider.endpoint_failing AS f
        WHERE f.endpoint = endpoint_switch_off.id AND f.since <= clock_timestamp() - off_after_ms * interval '1 ms';
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
        IF EXISTS (SELECT FROM (SELECT x.id FROM postrider.outbox AS x WHERE x.merchant_id = merchant OFFSET 0) AS o
                   CROSS JOIN LATERAL (SELECT FROM postrider.attempt AS x
                                       WHERE x.outbox_id = o.id AND x.endpoint = endpoint_switch_off.id
                                         AND x.outcome = 1 AND x.at >= failing_since LIMIT 1) AS a) THEN    -- 1: delivered (Outcome.Result)
            DELETE FROM postrider.endpoint_failing AS f WHERE f.endpoint = endpoint_switch_off.id;
            RETURN NULL;
        END IF;
    END IF;
    IF NOT postrider.endpoint_disable('circuit-breaker', id, why) THEN
        RETURN NULL;
    END IF;
    PERFORM postrider.alert_raise(
        CASE why WHEN '410' THEN 'endpoint_gone' ELSE 'endpoint_failing' END, id::text, 'warn',
        format(CASE why
            WHEN '410' THEN 'endpoint %s of merchant %s answered 410 Gone: it is switched off, its jobs are held; '
            ELSE 'endpoint %s of merchant %s took nothing for too long: it is switched off, its jobs are held; ' END
            || '`postrider endpoint enable %s` lets them go', id, merchant, id));
    RETURN merchant;
END $$;

-- Retention: letters that were closed long ago.
CREATE INDEX dead_closed_at_idx ON postrider.dead (closed_at) WHERE closed_at IS NOT NULL;

-- As in 0004; the ticks are no longer read from the first that is kept to the last.
CREATE OR REPLACE FUNCTION postrider.purge_step(retention interval, most int) RETURNS bigint
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

ALTER FUNCTION postrider.retention_step SET plan_cache_mode = force_custom_plan;

RESET ROLE;
