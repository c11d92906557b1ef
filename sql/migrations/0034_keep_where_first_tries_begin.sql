-- 0034 keep where first tries begin: a shard's low never goes back.
-- why:   who takes a shard looks for first tries from its low on. A session that was ended before its second beat after an acquisition passed
--        on the least of the shard's low and its heartbeat's, which began with each class: the next owner read all that waits, 19 to 31 s beside
--        three million jobs, and began anew when it was killed meanwhile. But a low stays true: jobs are born behind the cursor, and one
--        that got a due time keeps one (docs/adr/0026-a-low-stays-true.md).
-- locks: none that matter, functions are replaced.
-- undo:  release_shards and end_session as in 0003.

SET LOCAL ROLE postrider_owner;

-- As in 0003: the owner gives shards up, on its batch connection, after its last outcome there. low: as in its heartbeat.
CREATE OR REPLACE FUNCTION postrider.release_shards(session uuid, nos smallint[], low bigint[]) RETURNS int
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

-- As in 0003: ends a session; false when it had ended. What its heartbeat says speaks for a shard from the second beat after the
-- acquisition on (one may have been under way that did not know of it); until then the shard's own low is all that is known.
CREATE OR REPLACE FUNCTION postrider.end_session(session uuid) RETURNS boolean
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

RESET ROLE;
