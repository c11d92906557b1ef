-- 0020 keep pauses: how long an endpoint asked to be left alone (Retry-After) outlives the scheduler that heard it.
-- why:   receivers.md promises that nothing at all is sent before that time; in the owner's memory alone the promise ended with
--        the owner, or when the shard changed hands.
-- locks: endpoint ACCESS EXCLUSIVE for an instant (a new column without a default), notification_status too.
-- undo:  the view as in 0017; DROP FUNCTION postrider.endpoint_pause; ALTER TABLE postrider.endpoint DROP COLUMN paused_until.

SET LOCAL ROLE postrider_owner;

ALTER TABLE postrider.endpoint ADD COLUMN paused_until timestamptz;

-- Nothing is to be sent to the endpoint for the next ms. A pause is never shortened. The row's change tells other schedulers.
-- True: it is paused longer than before. ms is the scheduler's, capped there (retry_after.cap); 7 days bound a mistake.
CREATE FUNCTION postrider.endpoint_pause(id bigint, ms bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    until CONSTANT timestamptz := clock_timestamp() + least(ms, 604800000) * interval '1 ms';
BEGIN
    UPDATE postrider.endpoint AS e SET paused_until = until
    WHERE e.id = endpoint_pause.id AND (e.paused_until IS NULL OR e.paused_until < until);
    RETURN FOUND;
END $$;

-- As in 0011; so do an open breaker and a pause.
CREATE OR REPLACE FUNCTION postrider.endpoint_holds(id bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.state <> 'active' OR coalesce(e.forced = 'open', false) OR coalesce(e.paused_until > now(), false)
        OR e.forced IS NULL AND EXISTS (SELECT FROM postrider.breaker_open AS b WHERE b.endpoint = e.id AND b.until > now())
    FROM postrider.endpoint AS e WHERE e.id = $1
$$;

-- As in 0017, and a paused endpoint holds, too (states.md).
CREATE OR REPLACE VIEW postrider.notification_status AS
SELECT d.notify_id, d.endpoint AS endpoint_id, d.merchant_id, d.order_no, d.event, d.class::int AS priority, d.status,
       CASE WHEN d.status = 'pending' AND (e.state = 'disabled' OR e.forced = 'open' OR e.paused_until > now() OR e.forced IS NULL AND EXISTS (
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

REVOKE ALL ON FUNCTION postrider.endpoint_pause FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.endpoint_pause TO postrider_scheduler;
RESET ROLE;
