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
), s AS MATERIALIZED (              -- where the first arm begins. One row comparison and no second lower bound: with
    SELECT CASE WHEN w.dt >= x.lo THEN w.dt ELSE x.lo END AS tx,  -- two of them the index is read from its beginning
           CASE WHEN w.dt >= x.lo THEN w.di ELSE -1 END AS id
    FROM w CROSS JOIN LATERAL (SELECT pg_snapshot_xmax(w.lo) AS lo) AS x
), r AS MATERIALIZED (              -- each arm with its own LIMIT: read in index order, never sorted whole
    SELECT v.* FROM w CROSS JOIN s CROSS JOIN LATERAL (
        (SELECT o.tx, o.id, o.at, o.kind, o.merchant_id, o.event, o.notify_id, o.notify_url, o.cancel_at, o.cancel_reason,
                o.ref_at, o.ref_id, o.ref_endpoint
         FROM postrider.outbox AS o
         WHERE o.class = $1 AND (o.tx, o.id) > (s.tx, s.id) AND o.tx < pg_snapshot_xmax(w.hi)
           AND pg_visible_in_snapshot(o.tx, w.hi)
         ORDER BY o.tx, o.id LIMIT $3)
        UNION ALL
        (SELECT o.tx, o.id, o.at, o.kind, o.merchant_id, o.event, o.notify_id, o.notify_url, o.cancel_at, o.cancel_reason,
                o.ref_at, o.ref_id, o.ref_endpoint
         FROM pg_snapshot_xip(w.lo) AS p (tx) CROSS JOIN LATERAL (
             SELECT b.tx, b.id, b.at, b.kind, b.merchant_id, b.event, b.notify_id, b.notify_url, b.cancel_at, b.cancel_reason,
                    b.ref_at, b.ref_id, b.ref_endpoint
             FROM postrider.outbox AS b
             WHERE p.tx >= w.dt AND b.class = $1 AND (b.tx, b.id) > (p.tx, CASE WHEN p.tx = w.dt THEN w.di ELSE -1 END)
               AND b.tx <= p.tx             -- not tx = p.tx: the index on id would give that order, too, of all rows
               AND pg_visible_in_snapshot(b.tx, w.hi)
             ORDER BY b.tx, b.id LIMIT $3) AS o
         ORDER BY o.tx, o.id LIMIT $3)
        ORDER BY 1, 2 LIMIT $3) AS v
), k AS MATERIALIZED (
    SELECT coalesce(l.n, 0)::int AS n, l.tx, l.id
    FROM (VALUES (1)) AS v (x)
    LEFT JOIN (SELECT count(*) OVER () AS n, r.tx, r.id FROM r ORDER BY r.tx DESC, r.id DESC LIMIT 1) AS l ON true
), m AS MATERIALIZED (              -- the deliveries; endpoint NULL: there is none
    SELECT r.tx, r.id, r.at AS outbox_at, r.id AS outbox_id, e.id AS endpoint, r.notify_id, 0 AS tried_before,
           NULL::text AS merchant_id, NULL::text AS origin, r.cancel_at, r.cancel_reason, NULL::timestamptz AS reborn
    FROM r LEFT JOIN LATERAL (
        SELECT x.id FROM postrider.endpoint AS x
        WHERE x.merchant_id = r.merchant_id AND x.id > 0 AND r.cancel_at IS NULL
          AND ('*' = ANY (x.events) OR r.event = ANY (x.events)
               OR EXISTS (SELECT FROM unnest(x.events) AS p WHERE right(p, 2) = '.*' AND starts_with(r.event, left(p, -1))))
        OFFSET 0) AS e ON true
    WHERE r.kind = 0 AND r.notify_url IS NULL
    UNION ALL
    SELECT r.tx, r.id, r.at, r.id, CASE WHEN r.cancel_at IS NULL AND (
               SELECT true FROM postrider.endpoint AS e WHERE e.merchant_id = r.merchant_id AND e.id > 0 LIMIT 1)
               THEN postrider.notify_endpoint_id(r.merchant_id, g.origin) END,
           r.notify_id, 0, r.merchant_id, g.origin, r.cancel_at, r.cancel_reason, NULL
    FROM r CROSS JOIN LATERAL (SELECT postrider.url_origin(r.notify_url) AS origin) AS g
    WHERE r.kind = 0 AND r.notify_url IS NOT NULL
    UNION ALL
    SELECT r.tx, r.id, r.ref_at, r.ref_id, r.ref_endpoint, gen_random_uuid(), d.tries, NULL, NULL, NULL, NULL, now()
    FROM r CROSS JOIN LATERAL (
        SELECT x.tries FROM postrider.dead AS x     -- CASE: by the primary key, not by an index that begins with endpoint
        WHERE x.outbox_id = r.ref_id AND CASE WHEN x.endpoint = r.ref_endpoint THEN true END LIMIT 1) AS d
    WHERE r.kind = 1 AND r.cancel_at IS NULL
), q AS MATERIALIZED (
    SELECT m.outbox_at, m.outbox_id, m.endpoint, m.tried_before, uuid_hash_extended(m.notify_id, 0) AS salt,
           m.merchant_id, m.origin, m.reborn, w.seq + row_number() OVER (ORDER BY m.tx, m.id, m.endpoint) AS seq
    FROM m CROSS JOIN w WHERE m.endpoint IS NOT NULL
), t AS (
    INSERT INTO postrider.tick (class, n, lo, hi, more, dt, di, seq, sysid)
    SELECT $1, w.n + 1, w.lo, w.hi, k.n = $3, coalesce(k.tx, w.dt), coalesce(k.id, w.di),
           coalesce((SELECT max(q.seq) FROM q), w.seq), $2
    FROM w CROSS JOIN k WHERE k.n > 0 OR w.dt > '0'::xid8
    ON CONFLICT DO NOTHING RETURNING n, more, seq
), e AS (                           -- endpoints of new origins, with secrets and rules of the merchant's default one
    INSERT INTO postrider.endpoint (id, merchant_id, shard, name, url, events, scheme, secret, secret_next, rotate_until,
                                    success_rule, retry, max_age_ms, concurrency, rate_per_s, headers, tls_ca, egress, http2,
                                    supersede)
    SELECT x.endpoint, x.merchant_id, d.shard, x.origin, x.origin, '{}', d.scheme, d.secret, d.secret_next, d.rotate_until,
           d.success_rule, d.retry, d.max_age_ms, d.concurrency, d.rate_per_s, d.headers, d.tls_ca, d.egress, d.http2,
           d.supersede
    FROM t CROSS JOIN (SELECT DISTINCT q.endpoint, q.merchant_id, q.origin FROM q WHERE q.origin IS NOT NULL) AS x
    CROSS JOIN LATERAL (SELECT * FROM postrider.endpoint AS f WHERE f.merchant_id = x.merchant_id AND f.id > 0
                        ORDER BY f.name = 'default' DESC, f.id LIMIT 1) AS d
    WHERE (SELECT g.id FROM postrider.endpoint AS g WHERE g.id = x.endpoint) IS NULL
    ON CONFLICT DO NOTHING
), j AS (
    INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt, tried_before, reborn)
    SELECT q.seq, q.outbox_at, q.outbox_id, q.endpoint, $1, q.salt, q.tried_before, q.reborn FROM t CROSS JOIN q
), p AS MATERIALIZED (              -- kind 2: jobs that must not be; sorted, so that width_bucket finds the reason
    SELECT array_agg(r.ref_id ORDER BY r.ref_id, r.id) AS ids, array_agg(r.cancel_reason ORDER BY r.ref_id, r.id) AS reasons
    FROM t CROSS JOIN r WHERE r.kind = 2
), b AS (
    DELETE FROM postrider.job AS n WHERE n.outbox_id = ANY ((SELECT p.ids FROM p)::bigint[])
    RETURNING n.outbox_id, n.endpoint, n.outbox_at,
              (SELECT p.reasons FROM p)[width_bucket(n.outbox_id, (SELECT p.ids FROM p))] AS cancel_reason
), x AS (
    INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason)
    SELECT b.outbox_id, b.endpoint, b.outbox_at, coalesce(b.cancel_reason, 'cancelled') FROM b
    UNION ALL
    SELECT m.outbox_id, 0, m.outbox_at, CASE WHEN m.cancel_at IS NULL THEN 'no endpoint' ELSE coalesce(m.cancel_reason, 'cancelled') END
    FROM t CROSS JOIN m WHERE m.endpoint IS NULL
    UNION ALL
    SELECT r.ref_id, r.ref_endpoint, r.ref_at, coalesce(r.cancel_reason, 'cancelled')
    FROM t CROSS JOIN r WHERE r.kind = 1 AND r.cancel_at IS NOT NULL
    ON CONFLICT DO NOTHING
)
SELECT CASE WHEN t.n IS NULL THEN 0 ELSE k.n END AS moved,
       CASE WHEN t.n IS NULL THEN 0 ELSE (SELECT count(*)::int FROM q) END AS jobs,
       coalesce(t.seq, c.seq) AS last_seq, coalesce(t.more, c.ok AND (k.n > 0 OR c.more), false) AS more, c.ok
FROM c CROSS JOIN k LEFT JOIN t ON true;
