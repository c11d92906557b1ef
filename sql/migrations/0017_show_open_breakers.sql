-- 0017 show open breakers: notification_status says `held` for a delivery whose endpoint's breaker opened by itself, too.
-- why:   states.md counts an open breaker as held; until now only the owner's memory knew of it.
--        A row is a hint with an end: circuit-breaker writes it at each trip (also the one of a failed probe) and deletes it with
--        the episode. Killed in between, it leaves nothing that holds for longer than the row says.
--        Logged, though a crash could lose it without harm: a standby cannot read unlogged tables, and the view is read there.
-- locks: notification_status ACCESS EXCLUSIVE for an instant.
-- undo:  the former definitions are in 0006 and 0010; DROP FUNCTION postrider.endpoint_mark_open; DROP TABLE postrider.breaker_open.

SET LOCAL ROLE postrider_owner;

-- No index on the end: a refresh stays in its page.
CREATE TABLE postrider.breaker_open (
    endpoint bigint PRIMARY KEY REFERENCES postrider.endpoint ON DELETE CASCADE,
    until    timestamptz NOT NULL
) WITH (fillfactor = 50);

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

-- As in 0010; the breaker is not open any more, either.
CREATE OR REPLACE FUNCTION postrider.endpoint_recovered(id bigint) RETURNS boolean
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

-- As in 0006, but for the phase. A breaker that a person forced closed holds nothing.
CREATE OR REPLACE VIEW postrider.notification_status AS
SELECT d.notify_id, d.endpoint AS endpoint_id, d.merchant_id, d.order_no, d.event, d.class::int AS priority, d.status,
       CASE WHEN d.status = 'pending' AND (e.state = 'disabled' OR e.forced = 'open' OR e.forced IS NULL AND EXISTS (
                     SELECT FROM postrider.breaker_open AS b WHERE b.endpoint = d.endpoint AND b.until > now()))
            THEN 'held' ELSE d.phase END AS phase,
       coalesce(d.notify_url, e.url) AS notify_url,
       coalesce(l.try, 0)::int AS attempts, greatest(coalesce(l.try, 0), d.tried_before + r.retries + 1) AS max_attempts,
       greatest(coalesce(l.try, 0) - 1, 0) AS retry_count, r.retries AS max_retry,
       d.next_at AS next_attempt_at, nullif(l.code, 0)::int AS last_http_code, l.error AS last_error,
       postrider.response_text(l.outcome, l.response) AS last_response, d.version, d.outbox_at AS created_at,
       greatest(d.outbox_at, l.at, d.ended_at) AS updated_at,
       CASE WHEN d.status = 'delivered' THEN d.ended_at END AS delivered_at,
       d.reason
FROM postrider.delivery AS d
LEFT JOIN postrider.endpoint AS e ON e.id = d.endpoint
LEFT JOIN LATERAL (
    SELECT a.try, a.outcome, a.code, a.error, a.response, a.at FROM postrider.attempt AS a
    WHERE a.endpoint = d.endpoint AND a.outbox_id = d.outbox_id ORDER BY a.try DESC LIMIT 1) AS l ON true
CROSS JOIN LATERAL (
    SELECT coalesce(postrider.retry_count(coalesce(nullif(e.retry, ''),
        (SELECT s.value FROM postrider.setting AS s WHERE s.key = 'retry.notification'))), 8) AS retries) AS r;

REVOKE ALL ON FUNCTION postrider.endpoint_mark_open FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.endpoint_mark_open TO postrider_breaker;
RESET ROLE;
