-- 0004 create session functions: sessions, shards, heartbeats, takeover, another timeline (docs/protocol.md, sections 2 and 3).
-- why:   who may write results for which endpoints. The session's row is the fence; only these functions change it.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.

SET LOCAL ROLE postrider_owner;

-- A new session of the calling connection, which must be the one that writes result batches: it takes the advisory lock
-- whose release tells the others that this session is over. A connection has at most one live session.
CREATE FUNCTION postrider.open_session(address text, OUT id uuid, OUT lock_key bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
BEGIN
    id := gen_random_uuid();
    lock_key := ('x' || left(id::text, 8) || right(id::text, 8))::bit(64)::bigint;
    PERFORM pg_advisory_lock(lock_key);
    INSERT INTO postrider.session (id, lock_key, pid, address) VALUES (id, lock_key, pg_backend_pid(), coalesce(address, ''));
    INSERT INTO postrider.heartbeat (session, beat, low)
    VALUES (id, 0, ARRAY[0, 1::bigint << 56, 2::bigint << 56]);
END $$;

-- Is the advisory lock of a session held by the backend that its row names? Not held: its connection is gone.
-- (A pid alone proves nothing: it may belong to somebody else by now, or to another cluster after a restore.)
CREATE FUNCTION postrider.session_connected(lock_key bigint, pid int) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT EXISTS (SELECT FROM pg_locks AS l
        WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid = $2
          AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
          AND (l.classid::bigint << 32 | l.objid::bigint) = $1)
$$;

-- Beats and tells the owner where it stands. Never touches the fence's row, so that beats do not wait behind batches.
-- beat: a counter that grows. low: per class the lowest seq of an unfinished first try.
-- alive false: the session has ended, stop dispatching. target: shards an owner should hold now. owned: those it holds.
CREATE FUNCTION postrider.heartbeat(session uuid, beat bigint, low bigint[], OUT alive boolean, OUT target int, OUT owned int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
BEGIN
    UPDATE postrider.heartbeat AS h SET beat = beat, low = low WHERE h.session = session;
    SELECT EXISTS (SELECT FROM postrider.session AS s WHERE s.id = session AND s.ended IS NULL),
           ceil(256.0 / greatest(1, (SELECT count(*) FROM postrider.session AS s WHERE s.ended IS NULL))),
           (SELECT count(*) FROM postrider.shard AS h WHERE h.session = session)
    INTO alive, target, owned;
END $$;

-- Takes free shards up to the target: ceil(256 / live sessions). low: where to look for first tries left by the former owner.
-- The owner's own low must cover what it adopted from its second beat after this call on; until then end_session() goes by
-- the shard's low (a beat may be under way that was made before the answer to this call came).
-- No row when there is nothing to take; raises PR009 when the session has ended.
CREATE FUNCTION postrider.acquire_shards(session uuid) RETURNS TABLE (no smallint, low bigint[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    wanted int;
BEGIN
    PERFORM FROM postrider.session AS s WHERE s.id = session AND s.ended IS NULL FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'this session has ended',
            HINT = 'Open a new one: another scheduler has taken the shards over.';
    END IF;
    wanted := ceil(256.0 / (SELECT count(*) FROM postrider.session AS s WHERE s.ended IS NULL))
              - (SELECT count(*) FROM postrider.shard AS h WHERE h.session = session);
    RETURN QUERY
    WITH f AS (
        SELECT h.no FROM postrider.shard AS h WHERE h.session IS NULL
        ORDER BY h.no LIMIT greatest(wanted, 0) FOR UPDATE SKIP LOCKED
    )
    UPDATE postrider.shard AS h
    SET session = acquire_shards.session, beat = (SELECT b.beat FROM postrider.heartbeat AS b WHERE b.session = acquire_shards.session)
    FROM f WHERE h.no = f.no
    RETURNING h.no, h.low;
END $$;

-- The owner gives shards up, on its batch connection, after its last outcome there. low: as in its heartbeat; a shard's never goes back
-- (docs/adr/0026-a-low-stays-true.md). Shards that are not its own are left alone. Returns how many were given up.
CREATE FUNCTION postrider.release_shards(session uuid, nos smallint[], low bigint[]) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    given int;
BEGIN
    UPDATE postrider.shard AS h
    SET session = NULL, low = ARRAY[greatest(h.low[1], low[1]), greatest(h.low[2], low[2]), greatest(h.low[3], low[3])]
    WHERE h.session = session AND h.no = ANY (nos);
    GET DIAGNOSTICS given = ROW_COUNT;
    RETURN given;
END $$;

-- Ends a session: its shards are free after this commits, its batches write nothing any more. False when it had ended.
-- A batch under way holds the fence FOR SHARE: it gets 1 s to finish; after that, and in any case once the row is ours,
-- the backend named in the row is terminated if it still holds the session's lock (an owner stopped between executing and
-- Sync would keep its locks for ever). The calling backend never terminates itself: that is how a session ends by itself.
-- What its heartbeat says speaks for a shard from the second beat after the acquisition on (one may have been under way that did not
-- know of it); until then the shard's own low is all that is known.
CREATE FUNCTION postrider.end_session(session uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    s record;
    former text := current_setting('lock_timeout');
    done boolean;
BEGIN
    SELECT x.pid, x.lock_key INTO s FROM postrider.session AS x WHERE x.id = session AND x.ended IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    BEGIN
        PERFORM set_config('lock_timeout', '1s', true);
        UPDATE postrider.session AS x SET ended = clock_timestamp() WHERE x.id = session AND x.ended IS NULL;
        done := FOUND;
    EXCEPTION WHEN lock_not_available THEN
        done := NULL;
    END;
    PERFORM set_config('lock_timeout', former, true);
    IF s.pid <> pg_backend_pid() AND postrider.session_connected(s.lock_key, s.pid) THEN
        BEGIN
            PERFORM pg_terminate_backend(s.pid, 5000);
        EXCEPTION WHEN insufficient_privilege THEN      -- it connected as a superuser, which no actor should
            RAISE WARNING 'backend % of the ended session % cannot be terminated: it is a superuser''s', s.pid, session;
        END;
    END IF;
    IF done IS NULL THEN
        UPDATE postrider.session AS x SET ended = clock_timestamp() WHERE x.id = session AND x.ended IS NULL;
        done := FOUND;
    END IF;
    UPDATE postrider.shard AS h SET session = NULL, low = CASE
        WHEN b.beat > h.beat + 1
        THEN ARRAY[greatest(b.low[1], h.low[1]), greatest(b.low[2], h.low[2]), greatest(b.low[3], h.low[3])]
        ELSE h.low END
    FROM postrider.heartbeat AS b WHERE h.session = session AND b.session = session;
    IF s.pid = pg_backend_pid() THEN
        PERFORM pg_advisory_unlock(s.lock_key);
    END IF;
    RETURN done;
END $$;

-- Ends every other session whose advisory lock is free: its connection is gone (3 ms after kill -9). Returns their ids.
CREATE FUNCTION postrider.end_dead_sessions(self uuid) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    s record;
BEGIN
    FOR s IN SELECT x.id FROM postrider.session AS x
             WHERE x.ended IS NULL AND x.id IS DISTINCT FROM self AND NOT postrider.session_connected(x.lock_key, x.pid)
             ORDER BY x.id LOOP
        IF postrider.end_session(s.id) THEN
            RETURN NEXT s.id;
        END IF;
    END LOOP;
END $$;

-- The others' heartbeats: an observer that sees a counter still for 6 s of its own clock ends that session.
-- address: where workers reach that scheduler when every broker is away.
CREATE FUNCTION postrider.observe_heartbeats(self uuid)
RETURNS TABLE (id uuid, beat bigint, address text, connected boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.id, h.beat, s.address, postrider.session_connected(s.lock_key, s.pid)
    FROM postrider.session AS s JOIN postrider.heartbeat AS h ON h.session = s.id
    WHERE s.ended IS NULL AND s.id IS DISTINCT FROM $1
    ORDER BY s.id
$$;

-- An asynchronous fail-over may lose the last commits. Jobs and results then stand as they did a moment before, which no scheduler's memory
-- knows (one that went on with its session would beat past jobs that live again); sequences stand behind numbers that merchants have seen
-- already (a version is an outbox id). The relay calls it on each new connection, resume_session() on each of a scheduler's. On a new timeline
-- of the same cluster: outbox ids jump by a million, all sessions end, so that every scheduler reads everything anew. True when that
-- happened. Another cluster (a copy) is check_cluster's affair.
CREATE FUNCTION postrider.follow_timeline() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    here text := (SELECT s.system_identifier FROM pg_control_system() AS s)
                 || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8); -- known at once, unlike the control file's
    known text;
BEGIN
    INSERT INTO postrider.setting (key, value) VALUES ('timeline', here) ON CONFLICT (key) DO NOTHING;
    SELECT s.value INTO known FROM postrider.setting AS s WHERE s.key = 'timeline' FOR UPDATE;
    IF known = here THEN
        RETURN false;
    END IF;
    UPDATE postrider.setting AS s SET value = here WHERE s.key = 'timeline';
    IF split_part(known, '/', 1) <> split_part(here, '/', 1) THEN
        RETURN false;
    END IF;
    PERFORM setval('postrider.outbox_id_seq', nextval('postrider.outbox_id_seq') + 1000000);
    PERFORM postrider.end_session(s.id) FROM (SELECT x.id FROM postrider.session AS x WHERE x.ended IS NULL ORDER BY x.id) AS s;
    RETURN true;
END $$;

-- A scheduler whose connection broke goes on with the session it had: a restart of Postgres must not cost the memory of what is under way.
-- alive: the session has not ended; locked: its advisory lock is this backend's now. Not locked: the former backend has been told
-- to end, ask again. Packets to Postgres that were dropped leave that backend behind a half-open connection, with the lock and perhaps a
-- batch's, until its keepalives give up: two hours by default. Only the session's owner knows its random id, and it has one connection:
-- whoever holds the lock is stale.
CREATE FUNCTION postrider.resume_session(session uuid, OUT alive boolean, OUT locked boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    s record;
BEGIN
    PERFORM postrider.follow_timeline();        -- another timeline: no session of the former one goes on
    SELECT x.pid, x.lock_key INTO s FROM postrider.session AS x WHERE x.id = session AND x.ended IS NULL;
    alive := FOUND;
    locked := false;
    IF NOT alive THEN
        RETURN;
    END IF;
    IF s.pid <> pg_backend_pid() AND postrider.session_connected(s.lock_key, s.pid) THEN
        BEGIN       -- before any lock: a batch that it left half done may hold the row
            PERFORM pg_terminate_backend(s.pid);
        EXCEPTION WHEN insufficient_privilege THEN      -- it connected as a superuser, which no actor should
            RAISE WARNING 'backend % of session % cannot be terminated: it is a superuser''s', s.pid, session;
        END;
        RETURN;
    END IF;
    PERFORM FROM postrider.session AS x WHERE x.id = session AND x.ended IS NULL FOR UPDATE;
    alive := FOUND;
    locked := alive AND pg_try_advisory_lock(s.lock_key);
    IF locked THEN
        UPDATE postrider.session AS x SET pid = pg_backend_pid() WHERE x.id = session;
    END IF;
END $$;

-- what a session writes -----------------------------------------------------------------------------------------

-- An endpoint asked to be left alone (Retry-After): nothing is to be sent to it for the next ms, whoever owns its shard then. A pause is never
-- shortened. The row's change tells other schedulers. True: it is paused longer than before. ms is the scheduler's, capped there
-- (retry_after.cap); 7 days bound a mistake.
CREATE FUNCTION postrider.endpoint_pause(id bigint, ms bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    until CONSTANT timestamptz := clock_timestamp() + least(ms, 604800000) * interval '1 ms';
BEGIN
    UPDATE postrider.endpoint AS e SET paused_until = until
    WHERE e.id = endpoint_pause.id AND (e.paused_until IS NULL OR e.paused_until < until);
    RETURN FOUND;
END $$;

-- How an attempt is kept (one place for the batch and the late one). Plain SQL, so that they are inlined.
-- How long before this transaction it began, by the worker's clock in us since 1970; within what fits.
CREATE FUNCTION postrider.before_ms(started_us bigint) RETURNS int
LANGUAGE sql STABLE AS $$
    SELECT greatest(-2147483648, least(2147483647, (extract(epoch FROM now()) * 1000)::bigint - $1 / 1000))::int
$$;

-- The seven bytes that nearly every receiver answers are not written: NULL stands for them, an empty string for nothing.
CREATE FUNCTION postrider.response_kept(outcome smallint, response bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN $1 <> 1 THEN $2 WHEN $2 = E'\\x53554343455353' THEN NULL ELSE coalesce($2, '') END
$$;

-- Endpoints that want only the newest version of an order (N21). The relay calls it after a move: jobs made by it have seq in (after, upto].
-- Of the orders that they are about, older versions that still wait for the same endpoint are cancelled, reason superseded. One under way
-- may win: its outcome is then stale. Returns how many were cancelled. Costs one look at a partial index where no endpoint wants it.
CREATE FUNCTION postrider.supersede(after bigint, upto bigint) RETURNS int
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

RESET ROLE;
