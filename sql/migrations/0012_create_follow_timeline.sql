-- 0012 create follow_timeline: what must happen when a standby was promoted (docs/protocol.md, section 3).
-- why:   an asynchronous fail-over may lose the last commits. Jobs and results then stand as they did a moment before, which no
--        scheduler's memory knows; sequences stand behind numbers that merchants have seen already (a version is an outbox id).
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION postrider.follow_timeline().

SET LOCAL ROLE postrider_owner;

-- The relay calls it on each new connection. On a new timeline of the same cluster: outbox ids jump by a million, all sessions end,
-- so that every scheduler reads everything anew. True when that happened. Another cluster (a copy) is check_cluster's affair.
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

REVOKE ALL ON FUNCTION postrider.follow_timeline() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.follow_timeline() TO postrider_relay;
RESET ROLE;
