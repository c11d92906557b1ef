-- cli.status_queues: what waits, per class.
-- rows: three. class smallint; unmoved bigint (outbox rows not handed over, counted up to 100000), oldest_unmoved_ms bigint;
--       jobs bigint (waiting or under way), retrying bigint (of these, dated), overdue bigint (dated and due), oldest_due_ms bigint.
SELECT c.class::smallint AS class, u.n AS unmoved, u.oldest_ms AS oldest_unmoved_ms, j.n AS jobs, j.retrying, j.overdue,
       j.oldest_ms AS oldest_due_ms
FROM generate_series(0, 2) AS c (class)
CROSS JOIN LATERAL (
    SELECT CASE WHEN k.more THEN k.lo ELSE k.hi END AS lo FROM postrider.tick AS k
    WHERE k.class = c.class ORDER BY k.n DESC LIMIT 1) AS t
CROSS JOIN LATERAL (
    SELECT count(*) AS n, coalesce((extract(epoch FROM clock_timestamp() - min(x.at)) * 1000)::bigint, 0) AS oldest_ms
    FROM (SELECT o.at, o.tx, o.id FROM postrider.outbox AS o WHERE o.class = c.class AND o.tx >= pg_snapshot_xmax(t.lo)
          UNION ALL
          SELECT o.at, o.tx, o.id FROM postrider.outbox AS o
          WHERE o.class = c.class AND o.tx = ANY (ARRAY(SELECT pg_snapshot_xip(t.lo))::xid8[])
          LIMIT 100000) AS x
    WHERE NOT postrider.is_moved(c.class::smallint, x.tx, x.id)) AS u
CROSS JOIN LATERAL (
    SELECT count(*) AS n, count(b.due) AS retrying, count(*) FILTER (WHERE b.due <= now()) AS overdue,
           coalesce((extract(epoch FROM clock_timestamp() - min(b.due)) * 1000)::bigint, 0) AS oldest_ms
    FROM postrider.job AS b
    WHERE b.seq > c.class::bigint << 56 AND b.seq < (c.class::bigint + 1) << 56) AS j
ORDER BY c.class;
