-- outbox-relay.move_window: hands the next frozen window of one class over, in one statement (docs/protocol.md, section 1).
-- A window is what committed between two stored snapshots (lo, hi); it is moved by keyset (tx, id), at most $3 rows a
-- statement. The tick inserted here is the compare-and-swap between relays: without it nothing else is written.
--   kind 0  a job per matching endpoint of the merchant, or the endpoint of notify_url (made when it is new);
--           no match, or cancelled before it was handed over: an end with endpoint 0
--   kind 1  a dead delivery lives again: new salt, tries go on
--   kind 2  what became a job of a row while it was being cancelled ends now
-- seq is dense in (tx, id, endpoint) order over all ticks of the class: tick n + 1 needs tick n committed.
-- Run with synchronous_commit = off: a lost move is made again.
-- $1 smallint class   $2 bigint sysid from check_cluster   $3 int most outbox rows
-- rows: one. moved int: outbox rows handed over   jobs int: jobs born   last_seq bigint: of the class, after this statement
--       more boolean: come again at once   ok boolean: false = the cursor belongs to another cluster, run check_cluster
--       (moved 0 with more = true: another relay was faster)
WITH c AS MATERIALIZED (
    SELECT t.n, t.lo, t.hi, t.more, t.dt, t.di, t.seq,
           t.sysid = $2 AND pg_snapshot_xmax(t.hi) <= pg_snapshot_xmax(pg_current_snapshot()) AS ok
    FROM postrider.tick AS t WHERE t.class = $1 ORDER BY t.n DESC LIMIT 1
), w AS MATERIALIZED (
    SELECT c.n, c.seq, CASE WHEN c.more THEN c.lo ELSE c.hi END AS lo,
           CASE WHEN c.more THEN c.hi ELSE pg_current_snapshot() END AS hi,
           CASE WHEN c.more THEN c.dt ELSE '0'::xid8 END AS dt, CASE WHEN c.more THEN c.di ELSE 0 END AS di
    FROM c WHERE c.ok
), r AS MATERIALIZED (
    SELECT s.* FROM w CROSS JOIN LATERAL (
        SELECT o.tx, o.id, o.at, o.kind, o.merchant_id, o.event, o.notify_id, o.notify_url, o.cancel_at, o.cancel_reason,
               o.ref_at, o.ref_id, o.ref_endpoint
        FROM postrider.outbox AS o
        WHERE o.class = $1 AND o.tx >= pg_snapshot_xmax(w.lo) AND o.tx < pg_snapshot_xmax(w.hi)
          AND (o.tx, o.id) > (w.dt, w.di) AND pg_visible_in_snapshot(o.tx, w.hi)
        UNION ALL
        SELECT o.tx, o.id, o.at, o.kind, o.merchant_id, o.event, o.notify_id, o.notify_url, o.cancel_at, o.cancel_reason,
               o.ref_at, o.ref_id, o.ref_endpoint
        FROM postrider.outbox AS o
        WHERE o.class = $1 AND o.tx = ANY (ARRAY(SELECT pg_snapshot_xip(w.lo))::xid8[])
          AND (o.tx, o.id) > (w.dt, w.di) AND pg_visible_in_snapshot(o.tx, w.hi)
        ORDER BY 1, 2 LIMIT $3) AS s
), k AS MATERIALIZED (
    SELECT count(*)::int AS n, (SELECT r.tx FROM r ORDER BY r.tx DESC, r.id DESC LIMIT 1) AS tx,
           (SELECT r.id FROM r ORDER BY r.tx DESC, r.id DESC LIMIT 1) AS id
    FROM r
), u AS MATERIALIZED (              -- the endpoint of each notify_url
    SELECT r.tx, r.id, r.merchant_id, g.origin, postrider.notify_endpoint_id(r.merchant_id, g.origin) AS endpoint
    FROM r CROSS JOIN LATERAL (SELECT postrider.url_origin(r.notify_url) AS origin) AS g
    WHERE r.kind = 0 AND r.notify_url IS NOT NULL AND r.cancel_at IS NULL
), m AS MATERIALIZED (              -- the deliveries
    SELECT r.tx, r.id, r.at AS outbox_at, r.id AS outbox_id, e.id AS endpoint, r.notify_id, 0 AS tried_before
    FROM r JOIN postrider.endpoint AS e ON e.merchant_id = r.merchant_id AND e.id > 0
    WHERE r.kind = 0 AND r.notify_url IS NULL AND r.cancel_at IS NULL
      AND ('*' = ANY (e.events) OR r.event = ANY (e.events)
           OR EXISTS (SELECT FROM unnest(e.events) AS p WHERE right(p, 2) = '.*' AND starts_with(r.event, left(p, -1))))
    UNION ALL
    SELECT r.tx, r.id, r.at, r.id, u.endpoint, r.notify_id, 0
    FROM u JOIN r USING (tx, id)
    WHERE EXISTS (SELECT FROM postrider.endpoint AS e WHERE e.merchant_id = u.merchant_id AND e.id > 0)
    UNION ALL
    SELECT r.tx, r.id, r.ref_at, r.ref_id, r.ref_endpoint, NULL, d.tries
    FROM r JOIN postrider.dead AS d ON d.outbox_id = r.ref_id AND d.endpoint = r.ref_endpoint
    WHERE r.kind = 1 AND r.cancel_at IS NULL
), q AS MATERIALIZED (
    SELECT m.*, w.seq + row_number() OVER (ORDER BY m.tx, m.id, m.endpoint) AS seq FROM m CROSS JOIN w
), t AS (
    INSERT INTO postrider.tick (class, n, lo, hi, more, dt, di, seq, sysid)
    SELECT $1, w.n + 1, w.lo, w.hi, k.n = $3, coalesce(k.tx, w.dt), coalesce(k.id, w.di),
           coalesce((SELECT max(q.seq) FROM q), w.seq), $2
    FROM w CROSS JOIN k WHERE k.n > 0 OR w.dt > '0'::xid8
    ON CONFLICT DO NOTHING RETURNING n, more, seq
), e AS (                           -- endpoints of new origins, with secrets and rules of the merchant's default one
    INSERT INTO postrider.endpoint (id, merchant_id, shard, name, url, events, scheme, secret, secret_next, rotate_until,
                                    success_rule, retry, max_age_ms, concurrency, rate_per_s, headers, tls_ca, egress, http2)
    SELECT x.endpoint, x.merchant_id, d.shard, x.origin, x.origin, '{}', d.scheme, d.secret, d.secret_next, d.rotate_until,
           d.success_rule, d.retry, d.max_age_ms, d.concurrency, d.rate_per_s, d.headers, d.tls_ca, d.egress, d.http2
    FROM t CROSS JOIN (SELECT DISTINCT u.endpoint, u.merchant_id, u.origin FROM u) AS x
    CROSS JOIN LATERAL (SELECT * FROM postrider.endpoint AS f WHERE f.merchant_id = x.merchant_id AND f.id > 0
                        ORDER BY f.name = 'default' DESC, f.id LIMIT 1) AS d
    WHERE NOT EXISTS (SELECT FROM postrider.endpoint AS g WHERE g.id = x.endpoint)
    ON CONFLICT DO NOTHING
), j AS (
    INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt, tried_before)
    SELECT q.seq, q.outbox_at, q.outbox_id, q.endpoint, $1,
           ('x' || left(coalesce(q.notify_id, gen_random_uuid())::text, 8)
                || right(coalesce(q.notify_id, gen_random_uuid())::text, 8))::bit(64)::bigint,  -- the random ends of a uuid
           q.tried_before
    FROM t CROSS JOIN q
), b AS (                           -- kind 2: jobs that must not be
    DELETE FROM postrider.job AS n USING t, r WHERE r.kind = 2 AND n.outbox_id = r.ref_id
    RETURNING n.outbox_id, n.endpoint, n.outbox_at, r.cancel_reason
), x AS (
    INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason)
    SELECT b.outbox_id, b.endpoint, b.outbox_at, coalesce(b.cancel_reason, 'cancelled') FROM b
    UNION ALL
    SELECT r.id, 0, r.at, CASE WHEN r.cancel_at IS NULL THEN 'no endpoint' ELSE coalesce(r.cancel_reason, 'cancelled') END
    FROM t CROSS JOIN r
    WHERE r.kind = 0 AND NOT EXISTS (SELECT FROM m WHERE m.tx = r.tx AND m.id = r.id)
    UNION ALL
    SELECT r.ref_id, r.ref_endpoint, r.ref_at, coalesce(r.cancel_reason, 'cancelled')
    FROM t CROSS JOIN r WHERE r.kind = 1 AND r.cancel_at IS NOT NULL
    ON CONFLICT DO NOTHING
)
SELECT CASE WHEN t.n IS NULL THEN 0 ELSE k.n END AS moved,
       CASE WHEN t.n IS NULL THEN 0 ELSE (SELECT count(*)::int FROM q) END AS jobs,
       coalesce(t.seq, c.seq) AS last_seq, coalesce(t.more, c.ok AND (k.n > 0 OR c.more), false) AS more, c.ok
FROM c CROSS JOIN k LEFT JOIN t ON true;
