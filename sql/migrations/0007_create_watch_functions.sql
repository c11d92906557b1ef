-- 0007 create watch functions: what circuit-breaker and dead-letter write down.
-- why:   an endpoint that fails for days is switched off, whoever restarted meanwhile; every alert is announced, also one that was
--        raised inside the database; the table of dead letters, not a message, decides what is alarming.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.

SET LOCAL ROLE postrider_owner;

-- circuit-breaker -----------------------------------------------------------------------------------------------

-- What the breaker knew in its last life, and what people forced meanwhile.
CREATE FUNCTION postrider.watch_load()
RETURNS TABLE (endpoint bigint, merchant_id text, forced text, failing boolean, since_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.id, e.merchant_id, e.forced, f.endpoint IS NOT NULL,
           coalesce(greatest(0, extract(epoch FROM clock_timestamp() - f.since) * 1000), 0)::bigint
    FROM postrider.endpoint AS e LEFT JOIN postrider.endpoint_failing AS f ON f.endpoint = e.id
    WHERE e.forced IS NOT NULL OR f.endpoint IS NOT NULL
    ORDER BY e.id
$$;

-- An episode begins. False: it is on already, or there is no such endpoint.
CREATE FUNCTION postrider.endpoint_mark_failing(id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO postrider.endpoint_failing (endpoint)
    SELECT e.id FROM postrider.endpoint AS e WHERE e.id = endpoint_mark_failing.id ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

-- Its breaker opened, for open_ms at a time: the next trip or the end of the episode comes within twice that, and a minute for
-- a probe that hangs. False: no such endpoint.
CREATE FUNCTION postrider.endpoint_mark_open(id bigint, open_ms bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO postrider.breaker_open AS b (endpoint, until)
    SELECT e.id, clock_timestamp() + 2 * open_ms * interval '1 ms' + interval '1 min'
    FROM postrider.endpoint AS e WHERE e.id = endpoint_mark_open.id
    ON CONFLICT (endpoint) DO UPDATE SET until = excluded.until;
    RETURN FOUND;
END $$;

-- The episode is over: the receiver took something. Its breaker is not open any more, its alerts are resolved; an endpoint that was
-- switched off for failing is switched on again (one that answered 410, or that a person disabled, is not). False: nothing was on record.
CREATE FUNCTION postrider.endpoint_recovered(id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    marked boolean;
BEGIN
    DELETE FROM postrider.breaker_open AS b WHERE b.endpoint = endpoint_recovered.id;
    DELETE FROM postrider.endpoint_failing AS f WHERE f.endpoint = endpoint_recovered.id;
    marked := FOUND;
    PERFORM FROM postrider.endpoint AS e
    WHERE e.id = endpoint_recovered.id AND e.state = 'disabled' AND e.state_reason = 'failing';
    IF FOUND THEN
        PERFORM postrider.endpoint_enable('circuit-breaker', endpoint_recovered.id, 'recovered');
    END IF;
    UPDATE postrider.alert AS a SET resolved_at = clock_timestamp()
    WHERE a.kind IN ('breaker_open', 'merchant_failing', 'endpoint_failing')
      AND a.subject = endpoint_recovered.id::text AND a.resolved_at IS NULL;
    RETURN marked;
END $$;

-- Switches an endpoint off and raises the alert of it in the same transaction. why: '410', or 'failing' (off_after_ms: for so
-- long at least; looked up here again, since the caller only heard rumours: not when anything was delivered meanwhile).
-- Returns the merchant, or NULL when nothing was changed.
CREATE FUNCTION postrider.endpoint_switch_off(id bigint, why text, off_after_ms bigint DEFAULT NULL) RETURNS text
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

-- A person's force, as breaker_force, for an endpoint that may not exist. Returns its merchant, or NULL: no such endpoint.
CREATE FUNCTION postrider.watch_force(id bigint, forced text, who text, reason text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    merchant text;
BEGIN
    SELECT e.merchant_id INTO merchant FROM postrider.endpoint AS e WHERE e.id = watch_force.id;
    IF FOUND THEN
        PERFORM postrider.breaker_force(who, id, forced, reason);
    END IF;
    RETURN merchant;
END $$;

-- dead-letter ---------------------------------------------------------------------------------------------------

-- As alert_raise, for the one who tells people of it at once: a fresh one counts as announced.
CREATE FUNCTION postrider.alert_announce(kind text, subject text, severity text, message text,
                                         OUT id bigint, OUT fresh boolean, OUT count bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT r.id, r.fresh, r.count INTO id, fresh, count
    FROM postrider.alert_raise(kind, subject, severity, message) AS r;
    fresh := fresh OR EXISTS (SELECT FROM postrider.alert AS a WHERE a.id = alert_announce.id AND a.announced_at IS NULL);
    UPDATE postrider.alert AS a SET announced_at = clock_timestamp() WHERE a.id = alert_announce.id AND a.announced_at IS NULL;
END $$;

-- Alerts that nobody announced yet, at most `most`; from now on they count as announced. Two callers share them.
CREATE FUNCTION postrider.alert_take(most int)
RETURNS TABLE (id bigint, kind text, subject text, severity text, message text, count bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH t AS (
        SELECT x.id FROM postrider.alert AS x WHERE x.announced_at IS NULL ORDER BY x.id LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    UPDATE postrider.alert AS a SET announced_at = clock_timestamp() FROM t WHERE a.id = t.id
    RETURNING a.id, a.kind, a.subject, a.severity, a.message, a.count
$$;

-- The truth about dead letters, as alerts: per merchant one `dead_letter` (count = letters open now), and one `dead_letters` of
-- severity page while more than `threshold` are open in all. Those that are over are resolved. Returns the open ones.
CREATE FUNCTION postrider.dead_scan(threshold bigint, OUT open_letters bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH c AS MATERIALIZED (
        SELECT e.merchant_id, count(*) AS n, max(d.at) AS last_at
        FROM postrider.dead AS d JOIN postrider.endpoint AS e ON e.id = d.endpoint WHERE d.state = 'open' GROUP BY e.merchant_id
    ), t AS MATERIALIZED (
        SELECT coalesce(sum(c.n), 0)::bigint AS n, max(c.last_at) AS last_at FROM c
    ), w AS MATERIALIZED (          -- what should stand
        SELECT 'dead_letter' AS kind, c.merchant_id AS subject, 'warn' AS severity, c.n, c.last_at,
               format('%s dead letter(s) of merchant %s wait for a person: `postrider dead list --merchant %s`',
                      c.n, c.merchant_id, c.merchant_id) AS message
        FROM c
        UNION ALL
        SELECT 'dead_letters', 'all', 'page', t.n, t.last_at,
               format('%s dead letters are open, more than %s: `postrider dead list`', t.n, $1)
        FROM t WHERE t.n > $1
    ), u AS (
        INSERT INTO postrider.alert AS a (kind, subject, severity, message, count, last_at)
        SELECT w.kind, w.subject, w.severity, w.message, w.n, w.last_at FROM w
        ON CONFLICT (kind, subject) WHERE resolved_at IS NULL
        DO UPDATE SET count = excluded.count, message = excluded.message, last_at = excluded.last_at
        WHERE (a.count, a.last_at) IS DISTINCT FROM (excluded.count, excluded.last_at)
    ), o AS (
        UPDATE postrider.alert AS a SET resolved_at = clock_timestamp()
        WHERE a.kind IN ('dead_letter', 'dead_letters') AND a.resolved_at IS NULL
          AND NOT EXISTS (SELECT FROM w WHERE w.kind = a.kind AND w.subject = a.subject)
    )
    SELECT t.n FROM t
$$;

RESET ROLE;
