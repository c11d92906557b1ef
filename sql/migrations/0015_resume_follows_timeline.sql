-- 0015 resume_follows_timeline: a scheduler that reconnects to a promoted standby first ends all sessions, its own too.
-- why:   an asynchronous fail-over may lose results that a scheduler remembers as written. Until the relay's first connection ended the
--        sessions, a scheduler that was faster went on with its own and beat on: its low passed jobs that live again, and
--        once the session was ended nobody looked for them (found by tests/sim).
-- locks: none that matter, a function is replaced.
-- undo:  resume_session as in 0013.

SET LOCAL ROLE postrider_owner;

-- alive: the session has not ended; locked: its advisory lock is this backend's now. Not locked: the former backend has been told
-- to end, ask again. Only the session's owner knows its random id, and it has one connection: whoever holds the lock is stale.
CREATE OR REPLACE FUNCTION postrider.resume_session(session uuid, OUT alive boolean, OUT locked boolean)
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

RESET ROLE;
