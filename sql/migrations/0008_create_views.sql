-- 0008 create views: what applications, operators and the console read of notifications (contracts.md, "Views").
-- why:   tables are private to the actors; these names and columns are the contract. Columns are only ever added.
-- locks: none that matter, everything is new.
-- undo:  DROP VIEW and FUNCTION for each.
--
-- They read as postrider_owner. Each arm begins at its own table, so that a look-up by notify_id or order starts from
-- outbox, one by endpoint from dead, cancelled or, for attempts, its merchant's outbox rows; all by index. Secrets and bodies
-- are in none of them.

SET LOCAL ROLE postrider_owner;

-- Bytes of an attempt's response as text: UTF-8 where they are, else with the others escaped as \nnn. Of a delivered one
-- NULL stands for the seven bytes that nearly all of them answer.
CREATE FUNCTION postrider.response_text(outcome smallint, response bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
BEGIN
    IF response IS NULL AND outcome = 1 THEN
        RETURN 'SUCCESS';
    END IF;
    RETURN convert_from(response, 'UTF8');
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR untranslatable_character THEN
    RETURN encode(response, 'escape');
END $$;

CREATE FUNCTION postrider.outcome_name(outcome smallint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE $1 WHEN 1 THEN 'delivered' WHEN 2 THEN 'refused' WHEN 3 THEN 'throttled' WHEN 4 THEN 'gone'
                   WHEN 5 THEN 'unreachable' WHEN 6 THEN 'own_fault' WHEN 7 THEN 'returned' ELSE 'unknown' END
$$;

-- Outbox rows, those that retention kept too. Private. No WHERE in its arms: a join by id must reach their indexes.
CREATE VIEW postrider.notification AS
    SELECT o.id, o.at, o.class, o.kind, o.merchant_id, o.order_no, o.event, o.version, o.notify_id, o.notify_url
    FROM postrider.outbox AS o
    UNION ALL
    SELECT k.id, k.at, k.class, k.kind, k.merchant_id, k.order_no, k.event, k.version, k.notify_id, k.notify_url
    FROM postrider.outbox_kept AS k;

-- Where each delivery stands: one row per (notify_id, endpoint), one with endpoint NULL before the relay's move, 0 when no
-- endpoint matched. Private; notification_status dresses it.
CREATE VIEW postrider.delivery AS
    -- not handed over yet
    SELECT o.id AS outbox_id, o.at AS outbox_at, o.class, o.merchant_id, o.order_no, o.event, o.version, o.notify_id, o.notify_url,
           NULL::bigint AS endpoint, CASE WHEN o.cancel_at IS NULL THEN 'pending' ELSE 'cancelled' END AS status,
           CASE WHEN o.cancel_at IS NULL THEN 'new' END AS phase, 0 AS tried_before,
           CASE WHEN o.cancel_at IS NULL THEN o.at END AS next_at, o.cancel_at AS ended_at, o.cancel_reason AS reason
    FROM postrider.outbox AS o
    CROSS JOIN LATERAL (SELECT k.lo, k.hi, k.more, k.dt, k.di FROM postrider.tick AS k
                        WHERE k.class = o.class ORDER BY k.n DESC LIMIT 1) AS t
    WHERE o.kind = 0
      AND NOT CASE WHEN t.more
                   THEN pg_visible_in_snapshot(o.tx, t.lo)
                        OR (pg_visible_in_snapshot(o.tx, t.hi) AND (o.tx, o.id) <= (t.dt, t.di))
                   ELSE pg_visible_in_snapshot(o.tx, t.hi) END
    UNION ALL
    -- waiting or under way
    SELECT o.id, o.at, o.class, o.merchant_id, o.order_no, o.event, o.version, o.notify_id, o.notify_url,
           j.endpoint, 'pending', CASE WHEN j.try = 0 THEN 'new' ELSE 'retrying' END, j.tried_before,
           coalesce(j.due, j.reborn, o.at), NULL, NULL
    FROM postrider.job AS j JOIN postrider.notification AS o ON o.id = j.outbox_id AND o.at = j.outbox_at
    UNION ALL
    -- dead, or driven again and not yet handed over
    SELECT o.id, o.at, o.class, o.merchant_id, o.order_no, o.event, o.version, o.notify_id, o.notify_url,
           d.endpoint, CASE d.state WHEN 'redriven' THEN 'pending' ELSE 'dead' END,
           CASE d.state WHEN 'redriven' THEN 'new' END, CASE d.state WHEN 'redriven' THEN d.tries ELSE 0 END,
           CASE d.state WHEN 'redriven' THEN d.closed_at END, CASE WHEN d.state <> 'redriven' THEN d.at END, d.reason
    FROM postrider.dead AS d JOIN postrider.notification AS o ON o.id = d.outbox_id AND o.at = d.outbox_at
    WHERE d.state <> 'redriven'
       OR NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = d.outbox_id AND j.endpoint = d.endpoint)
          AND NOT EXISTS (SELECT FROM postrider.cancelled AS c WHERE c.outbox_id = d.outbox_id AND c.endpoint = d.endpoint)
          AND NOT EXISTS (SELECT FROM postrider.attempt AS a
                          WHERE a.outbox_id = d.outbox_id AND a.endpoint = d.endpoint AND a.outcome = 1)
    UNION ALL
    SELECT o.id, o.at, o.class, o.merchant_id, o.order_no, o.event, o.version, o.notify_id, o.notify_url,
           c.endpoint, 'cancelled', NULL, 0, NULL, c.at, c.reason
    FROM postrider.cancelled AS c JOIN postrider.notification AS o ON o.id = c.outbox_id AND o.at = c.outbox_at
    UNION ALL
    -- delivered: by the first attempt that was. The merchant leads from an endpoint to its attempts.
    SELECT o.id, o.at, o.class, o.merchant_id, o.order_no, o.event, o.version, o.notify_id, o.notify_url,
           a.endpoint, 'delivered', NULL, 0, NULL, a.at, NULL
    FROM postrider.attempt AS a
    JOIN postrider.notification AS o ON o.id = a.outbox_id
    JOIN postrider.endpoint AS e ON e.id = a.endpoint AND e.merchant_id = o.merchant_id
    WHERE a.outcome = 1
      AND NOT EXISTS (SELECT FROM postrider.attempt AS b
                      WHERE b.endpoint = a.endpoint AND b.outbox_id = a.outbox_id AND b.outcome = 1 AND b.try < a.try);

-- A disabled endpoint, a breaker that a person forced or that opened by itself, and a pause hold (states.md). A breaker that a person
-- forced closed holds nothing.
CREATE VIEW postrider.notification_status AS
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
COMMENT ON VIEW postrider.notification_status IS
    'One row per delivery. status: pending, delivered, dead, cancelled. A try under way shows as new or retrying.';

-- Of notifications; attempt_log has calls of payments, too.
CREATE VIEW postrider.notification_attempts AS
SELECT 'notification'::text AS job_kind, o.notify_id::text AS subject, a.try::int AS attempt, a.at - a.before_ms * interval '1 ms' AS started_at,
       a.ms AS duration_ms,
       postrider.outcome_name(a.outcome) AS outcome, nullif(a.code, 0)::int AS http_code, a.error,
       postrider.response_text(a.outcome, a.response) AS response,
       o.notify_id, a.endpoint AS endpoint_id, o.merchant_id, o.order_no, w.name AS worker, a.at AS recorded_at,
       a.next_due AS next_attempt_at
FROM postrider.attempt AS a
JOIN postrider.notification AS o ON o.id = a.outbox_id
JOIN postrider.endpoint AS e ON e.id = a.endpoint AND e.merchant_id = o.merchant_id
LEFT JOIN postrider.worker AS w ON w.no = a.worker;

CREATE VIEW postrider.dead_letters AS
SELECT o.notify_id, d.endpoint AS endpoint_id, o.merchant_id, o.order_no, o.event, d.class::int AS priority, d.reason,
       d.tries AS attempts, d.at AS dead_at, d.state, d.closed_by, d.closed_reason, d.closed_at,
       coalesce(o.notify_url, e.url) AS notify_url, nullif(l.code, 0)::int AS last_http_code, l.error AS last_error,
       postrider.response_text(l.outcome, l.response) AS last_response, o.version, o.at AS created_at
FROM postrider.dead AS d
JOIN postrider.notification AS o ON o.id = d.outbox_id AND o.at = d.outbox_at
LEFT JOIN postrider.endpoint AS e ON e.id = d.endpoint
LEFT JOIN LATERAL (
    SELECT a.outcome, a.code, a.error, a.response FROM postrider.attempt AS a
    WHERE a.endpoint = d.endpoint AND a.outbox_id = d.outbox_id ORDER BY a.try DESC LIMIT 1) AS l ON true;

-- Values of headers and passwords of proxies may be secrets: names and hosts only.
CREATE VIEW postrider.endpoints AS
SELECT e.id AS endpoint_id, e.merchant_id, e.name, e.url, e.events, e.scheme, e.success_rule, e.retry, e.max_age_ms,
       e.concurrency, e.rate_per_s, ARRAY(SELECT jsonb_object_keys(e.headers)) AS header_names,
       e.tls_ca IS NOT NULL AS private_ca, regexp_replace(e.egress, '//[^@/]*@', '//***@') AS egress, e.http2, e.supersede,
       e.state, e.state_reason, e.state_at, e.forced, e.rotate_until, e.shard, e.created_at, e.updated_at
FROM postrider.endpoint AS e;

CREATE VIEW postrider.merchants AS
SELECT m.id AS merchant_id, m.tier, m.email, m.shard, m.created_at FROM postrider.merchant AS m;

CREATE VIEW postrider.alerts AS
SELECT a.id AS alert_id, a.kind, a.subject, a.severity, a.message, a.count, a.first_at, a.last_at, a.resolved_at
FROM postrider.alert AS a;

-- Of notifications; order_timeline has everything.
CREATE VIEW postrider.notification_timeline AS
    SELECT o.merchant_id, o.order_no, o.at, 'notification.enqueued'::text AS kind,
           jsonb_build_object('notify_id', o.notify_id, 'event', o.event, 'version', o.version, 'priority', o.class) AS detail
    FROM postrider.notification AS o WHERE o.kind = 0
    UNION ALL
    SELECT o.merchant_id, o.order_no, a.at - a.before_ms * interval '1 ms', 'notification.attempt',
           jsonb_build_object('notify_id', o.notify_id, 'endpoint_id', a.endpoint, 'attempt', a.try, 'outcome',
               postrider.outcome_name(a.outcome), 'http_code', nullif(a.code, 0), 'error', a.error, 'duration_ms', a.ms,
               'next_attempt_at', a.next_due)
    FROM postrider.attempt AS a
    JOIN postrider.notification AS o ON o.id = a.outbox_id
    JOIN postrider.endpoint AS e ON e.id = a.endpoint AND e.merchant_id = o.merchant_id
    UNION ALL
    SELECT o.merchant_id, o.order_no, d.at, 'notification.dead',
           jsonb_build_object('notify_id', o.notify_id, 'endpoint_id', d.endpoint, 'reason', d.reason, 'attempts', d.tries)
    FROM postrider.dead AS d JOIN postrider.notification AS o ON o.id = d.outbox_id AND o.at = d.outbox_at
    UNION ALL
    SELECT o.merchant_id, o.order_no, d.closed_at, 'notification.' || d.state,
           jsonb_build_object('notify_id', o.notify_id, 'endpoint_id', d.endpoint, 'by', d.closed_by, 'reason', d.closed_reason)
    FROM postrider.dead AS d JOIN postrider.notification AS o ON o.id = d.outbox_id AND o.at = d.outbox_at
    WHERE d.closed_at IS NOT NULL
    UNION ALL
    SELECT o.merchant_id, o.order_no, c.at, 'notification.cancelled',
           jsonb_build_object('notify_id', o.notify_id, 'endpoint_id', c.endpoint, 'reason', c.reason)
    FROM postrider.cancelled AS c JOIN postrider.notification AS o ON o.id = c.outbox_id AND o.at = c.outbox_at;

-- what must always hold -----------------------------------------------------------------------------------------

-- Nothing is sent there, and that is as it should be: switched off, its breaker open, or paused.
CREATE FUNCTION postrider.endpoint_holds(id bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.state <> 'active' OR coalesce(e.forced = 'open', false) OR coalesce(e.paused_until > now(), false)
        OR e.forced IS NULL AND EXISTS (SELECT FROM postrider.breaker_open AS b WHERE b.endpoint = e.id AND b.until > now())
    FROM postrider.endpoint AS e WHERE e.id = $1
$$;

-- Of notifications, for check_invariants().
CREATE FUNCTION postrider.check_notifications(since timestamptz)
RETURNS TABLE (name text, kind text, broken bigint, detail text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH t AS MATERIALIZED (        -- each class' last tick
        SELECT l.* FROM generate_series(0, 2) AS c (class)
        CROSS JOIN LATERAL (SELECT k.class, k.lo, k.hi, k.more, k.dt, k.di, k.seq FROM postrider.tick AS k
                            WHERE k.class = c.class ORDER BY k.n DESC LIMIT 1) AS l
    ), o AS MATERIALIZED (
        SELECT b.id, b.at, b.kind,
               CASE WHEN t.more THEN pg_visible_in_snapshot(b.tx, t.lo)
                                     OR (pg_visible_in_snapshot(b.tx, t.hi) AND (b.tx, b.id) <= (t.dt, t.di))
                    ELSE pg_visible_in_snapshot(b.tx, t.hi) END AS moved
        FROM postrider.outbox AS b JOIN t USING (class) WHERE b.at >= $1
    )
    SELECT 'unaccounted', 'invariant', count(*), 'notifications handed over, without job, delivery, dead letter or cancellation'
    FROM o WHERE o.moved AND o.kind = 0
      AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = o.id)
      AND NOT EXISTS (SELECT FROM postrider.dead AS d WHERE d.outbox_id = o.id)
      AND NOT EXISTS (SELECT FROM postrider.cancelled AS c WHERE c.outbox_id = o.id)
      AND NOT EXISTS (SELECT FROM postrider.attempt AS a WHERE a.outbox_id = o.id AND a.outcome = 1)
    UNION ALL
    SELECT 'job_without_endpoint', 'invariant', count(*), 'jobs whose endpoint does not exist'
    FROM postrider.job AS j WHERE NOT EXISTS (SELECT FROM postrider.endpoint AS e WHERE e.id = j.endpoint)
    UNION ALL
    SELECT 'job_without_notification', 'invariant', count(*), 'jobs whose notification does not exist'
    FROM postrider.job AS j
    WHERE NOT EXISTS (SELECT FROM postrider.outbox AS b WHERE b.at = j.outbox_at AND b.id = j.outbox_id)
      AND NOT EXISTS (SELECT FROM postrider.outbox_kept AS k WHERE k.id = j.outbox_id)
    UNION ALL
    SELECT 'job_of_delivered', 'invariant', count(*), 'jobs of deliveries that were made in this very life'
    FROM postrider.job AS j
    WHERE EXISTS (SELECT FROM postrider.attempt AS a WHERE a.endpoint = j.endpoint AND a.outbox_id = j.outbox_id
                  AND a.try > j.tried_before AND a.outcome = 1)
    UNION ALL
    SELECT 'job_of_dead', 'invariant', count(*), 'jobs of deliveries that are open dead letters'
    FROM postrider.job AS j JOIN postrider.dead AS d ON d.outbox_id = j.outbox_id AND d.endpoint = j.endpoint
    WHERE d.state = 'open'
    UNION ALL
    SELECT 'job_doubled', 'invariant', count(*), 'deliveries with more than one job'
    FROM (SELECT FROM postrider.job AS j GROUP BY j.outbox_id, j.endpoint HAVING count(*) > 1) AS x
    UNION ALL
    SELECT 'job_beyond_cursor', 'invariant', count(*), 'jobs with a seq that the relay has not given out'
    FROM t JOIN postrider.job AS j ON j.seq > t.seq AND j.seq < (t.class::bigint + 1) << 56
    UNION ALL
    SELECT 'dead_without_notification', 'invariant', count(*), 'open dead letters whose bytes are gone'
    FROM postrider.dead AS d WHERE d.state = 'open'
      AND NOT EXISTS (SELECT FROM postrider.outbox AS b WHERE b.at = d.outbox_at AND b.id = d.outbox_id)
      AND NOT EXISTS (SELECT FROM postrider.outbox_kept AS k WHERE k.id = d.outbox_id)
    UNION ALL
    SELECT 'relay_lag', 'lag', count(*),
           'outbox rows not handed over for 5 s'
           || coalesce('; the oldest for ' || floor(extract(epoch FROM clock_timestamp() - min(o.at))) || ' s', '')
    FROM o WHERE NOT o.moved AND o.at < clock_timestamp() - interval '5 s'
    UNION ALL
    SELECT 'overdue', 'lag', count(*),
           'jobs due for a minute at endpoints that hold nothing'
           || coalesce('; the oldest for ' || floor(extract(epoch FROM clock_timestamp() - min(j.due))) || ' s', '')
    FROM postrider.job AS j WHERE j.due < clock_timestamp() - interval '1 min' AND NOT postrider.endpoint_holds(j.endpoint)
    UNION ALL
    SELECT 'shard_without_scheduler', 'lag', count(*), 'of 256 shards, without a living session'
    FROM postrider.shard AS h LEFT JOIN postrider.session AS s ON s.id = h.session AND s.ended IS NULL WHERE s.id IS NULL
    UNION ALL
    SELECT 'alert_not_announced', 'lag', count(*), 'alerts that dead-letter has not announced for 10 s'
    FROM postrider.alert AS a WHERE a.announced_at IS NULL AND a.first_at < clock_timestamp() - interval '10 s'
$$;

RESET ROLE;
