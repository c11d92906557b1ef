-- 0009 create resume_session: a scheduler whose connection broke goes on with the session it had.
-- why:   a restart of Postgres must not cost the memory of what is under way; nobody else may have ended the session meanwhile.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION postrider.resume_session(uuid).

SET LOCAL ROLE postrider_owner;

-- alive: the session has not ended; locked: its advisory lock is this backend's now. Not locked: the old backend has not noticed
-- yet that its client is gone (ask again).
CREATE FUNCTION postrider.resume_session(session uuid, OUT alive boolean, OUT locked boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    key bigint;
BEGIN
    SELECT s.lock_key INTO key FROM postrider.session AS s WHERE s.id = session AND s.ended IS NULL FOR UPDATE;
    alive := FOUND;
    locked := alive AND pg_try_advisory_lock(key);
    IF locked THEN
        UPDATE postrider.session AS s SET pid = pg_backend_pid() WHERE s.id = session;
    END IF;
END $$;

REVOKE ALL ON FUNCTION postrider.resume_session(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.resume_session(uuid) TO postrider_scheduler;
RESET ROLE;
