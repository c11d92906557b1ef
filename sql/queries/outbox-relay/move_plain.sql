-- outbox-relay.move_plain: move_window for the usual window, whose rows are all notifications (kind 0) to endpoints of the merchant, not
-- cancelled, each with one at least. It knows nothing of the rest, so that Postgres has fewer plan nodes to set up: of a move of two
-- rows that is nearly all the work. A window with anything else in it is left alone: nothing is written, plain is false, and
-- move_window comes next. What is the same in both is said there.
-- $1 smallint class   $2 bigint sysid from check_cluster   $3 int most outbox rows
-- rows: one, as of move_window, and plain boolean: false = nothing was done, run move_window.
WITH c AS MATERIALIZED (
    SELECT t.n, t.lo, t.hi, t.more, t.dt, t.di, t.seq,
           t.sysid = $2 AND pg_snapshot_xmax(t.hi) <= pg_snapshot_xmax(pg_current_snapshot()) AS ok
    FROM postrider.tick AS t WHERE t.class = $1 ORDER BY t.n DESC LIMIT 1
), w AS MATERIALIZED (
    SELECT x.n, x.seq, x.lo, x.hi, x.dt, x.di,
           CASE WHEN x.dt >= pg_snapshot_xmax(x.lo) THEN x.dt ELSE pg_snapshot_xmax(x.lo) END AS from_tx,
           CASE WHEN x.dt >= pg_snapshot_xmax(x.lo) THEN x.di ELSE -1 END AS from_id
    FROM c CROSS JOIN LATERAL (
        SELECT c.n, c.seq, CASE WHEN c.more THEN c.lo ELSE c.hi END AS lo,
               CASE WHEN c.more THEN c.hi ELSE pg_current_snapshot() END AS hi,
               CASE WHEN c.more THEN c.dt ELSE '0'::xid8 END AS dt, CASE WHEN c.more THEN c.di ELSE 0 END AS di
        OFFSET 0) AS x
    WHERE c.ok
), r AS MATERIALIZED (
    SELECT v.* FROM w CROSS JOIN LATERAL (
        (SELECT o.tx, o.id, o.at, o.merchant_id, o.event, o.notify_id,
                o.kind = 0 AND o.notify_url IS NULL AND o.cancel_at IS NULL AS plain
         FROM postrider.outbox AS o
         WHERE o.class = $1 AND (o.tx, o.id) > (w.from_tx, w.from_id) AND o.tx < pg_snapshot_xmax(w.hi)
           AND pg_visible_in_snapshot(o.tx, w.hi)
         ORDER BY o.tx, o.id LIMIT $3)
        UNION ALL
        (SELECT o.tx, o.id, o.at, o.merchant_id, o.event, o.notify_id, o.plain
         FROM pg_snapshot_xip(w.lo) AS p (tx) CROSS JOIN LATERAL (
             SELECT b.tx, b.id, b.at, b.merchant_id, b.event, b.notify_id,
                    b.kind = 0 AND b.notify_url IS NULL AND b.cancel_at IS NULL AS plain
             FROM postrider.outbox AS b
             WHERE p.tx >= w.dt AND b.class = $1 AND (b.tx, b.id) > (p.tx, CASE WHEN p.tx = w.dt THEN w.di ELSE -1 END)
               AND b.tx <= p.tx AND pg_visible_in_snapshot(b.tx, w.hi)
             ORDER BY b.tx, b.id LIMIT $3) AS o
         ORDER BY o.tx, o.id LIMIT $3)
        ORDER BY 1, 2 LIMIT $3) AS v
), k AS MATERIALIZED (
    SELECT count(*)::int AS n, (array_agg(r.tx ORDER BY r.tx DESC, r.id DESC))[1] AS tx,
           (array_agg(r.id ORDER BY r.tx DESC, r.id DESC))[1] AS id
    FROM r
), q AS MATERIALIZED (
    SELECT r.at, r.id, e.id AS endpoint, uuid_hash_extended(r.notify_id, 0) AS salt, r.plain AND e.id IS NOT NULL AS plain,
           w.seq + row_number() OVER (ORDER BY r.tx, r.id, e.id) AS seq
    FROM w CROSS JOIN r LEFT JOIN LATERAL (
        SELECT x.id FROM postrider.endpoint AS x
        WHERE x.merchant_id = r.merchant_id AND x.id > 0 AND r.plain
          AND ('*' = ANY (x.events) OR r.event = ANY (x.events)
               OR EXISTS (SELECT FROM unnest(x.events) AS p WHERE right(p, 2) = '.*' AND starts_with(r.event, left(p, -1))))
        OFFSET 0) AS e ON true
), a AS MATERIALIZED (
    SELECT count(*)::int AS jobs, coalesce(bool_and(q.plain), true) AS plain, max(q.seq) AS seq FROM q
), t AS (
    INSERT INTO postrider.tick (class, n, lo, hi, more, dt, di, seq, sysid)
    SELECT $1, w.n + 1, w.lo, w.hi, k.n = $3, coalesce(k.tx, w.dt), coalesce(k.id, w.di), coalesce(a.seq, w.seq), $2
    FROM w CROSS JOIN k CROSS JOIN a WHERE a.plain AND (k.n > 0 OR w.dt > '0'::xid8)
    ON CONFLICT DO NOTHING RETURNING n, more, seq
), j AS (
    INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt)
    SELECT q.seq, q.at, q.id, q.endpoint, $1, q.salt FROM t CROSS JOIN q
)
SELECT CASE WHEN t.n IS NULL THEN 0 ELSE k.n END AS moved, CASE WHEN t.n IS NULL THEN 0 ELSE a.jobs END AS jobs,
       coalesce(t.seq, c.seq) AS last_seq, coalesce(t.more, c.ok AND (k.n > 0 OR c.more), false) AS more, c.ok, a.plain
FROM c CROSS JOIN k CROSS JOIN a LEFT JOIN t ON true;
