-- 0011 create check_invariants: what must always hold, as one look (`postrider check`).
-- why:   an operator, a test and a demo ask the same questions; tables are private, so the asking is a function.
-- locks: none that matter, everything is new. It reads whole tables when it is asked for all time.
-- undo:  DROP FUNCTION postrider.check_invariants(timestamptz); DROP FUNCTION postrider.endpoint_holds.

SET LOCAL ROLE postrider_owner;

-- Nothing is sent there, and that is as it should be (0020 adds what came later).
CREATE FUNCTION postrider.endpoint_holds(id bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.state <> 'active' OR coalesce(e.forced = 'open', false) FROM postrider.endpoint AS e WHERE e.id = $1
$$;

-- broken 0: it holds. kind invariant: broken means a bug or a damaged database. kind lag: something stands still.
-- One statement, so one snapshot: what moves meanwhile is seen before or after, never in between.
CREATE FUNCTION postrider.check_invariants(since timestamptz)
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

REVOKE ALL ON FUNCTION postrider.check_invariants(timestamptz), postrider.endpoint_holds FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.check_invariants(timestamptz) TO postrider_console;
RESET ROLE;
