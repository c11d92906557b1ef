-- 0003 create session functions: sessions, shards, heartbeats, takeover (docs/protocol.md, sections 2 and 3).
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
-- the shard's low as well (a beat may be under way that was made before the answer to this call came).
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

-- The owner gives shards up, on its batch connection, after its last outcome there. low: as in its heartbeat.
-- Shards that are not its own are left alone. Returns how many were given up.
CREATE FUNCTION postrider.release_shards(session uuid, nos smallint[], low bigint[]) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    given int;
BEGIN
    UPDATE postrider.shard AS h SET session = NULL, low = low WHERE h.session = session AND h.no = ANY (nos);
    GET DIAGNOSTICS given = ROW_COUNT;
    RETURN given;
END $$;

-- Ends a session: its shards are free after this commits, its batches write nothing any more. False when it had ended.
-- A batch under way holds the fence FOR SHARE: it gets 1 s to finish; after that, and in any case once the row is ours,
-- the backend named in the row is terminated if it still holds the session's lock (an owner stopped between executing and
-- Sync would keep its locks for ever). The calling backend never terminates itself: that is how a session ends by itself.
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
        WHEN b.beat > h.beat + 1 THEN b.low
        ELSE ARRAY[least(b.low[1], h.low[1]), least(b.low[2], h.low[2]), least(b.low[3], h.low[3])] END
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

-- How an attempt is kept (one place for the batch and the late one). Plain SQL, so that they are inlined.
-- How long before this transaction it began, by the worker's clock in us since 1970; within what fits.
CREATE FUNCTION postrider.before_ms(started_us bigint) RETURNS int
LANGUAGE sql STABLE AS $$
    SELECT greatest(-2147483648, least(2147483647, (extract(epoch FROM now()) * 1000)::bigint - $1 / 1000))::int
$$;
-- The seven bytes that nearly every receiver answers are not written: NULL stands for them, an empty string for nothing.
CREATE FUNCTION postrider.response_kept(outcome smallint, response bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN $1 <> 1 THEN $2 WHEN $2 = '\x53554343455353' THEN NULL ELSE coalesce($2, '') END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA postrider FROM PUBLIC;
RESET ROLE;
