-- scheduler.load_first_tries: what a former owner left of first tries without a due time, for adopted shards. Jobs that have one are
-- passed over in the index's order, many in one statement: beside millions that wait it costs what lies between the two ends.
-- $1 smallint[] adopted shards   $2 bigint[] per class: after this seq   $3 bigint[] per class: up to this seq
-- $4 int most first tries per class   $5 int most jobs per class to look at
-- rows: as load_new, mine true, in order of seq per class; and a row with mine = false for each class: its seq is how far
--       was read, and class is its, the rest means nothing.
WITH w AS MATERIALIZED (
    SELECT (c.hi >> 56)::smallint AS class, l.seqs[1:$4::int] AS seqs,
           CASE WHEN cardinality(l.seqs) > $4::int THEN l.seqs[$4::int] WHEN l.n = $5::int THEN l.last ELSE c.hi END AS upto
    FROM unnest($2::bigint[], $3::bigint[]) AS c (lo, hi)
    CROSS JOIN LATERAL (
        SELECT count(*) AS n, max(x.seq) AS last, array_agg(x.seq ORDER BY x.seq) FILTER (WHERE x.due IS NULL) AS seqs
        FROM (SELECT n.seq, n.due FROM postrider.job AS n
              WHERE n.seq > c.lo AND n.seq <= c.hi
              ORDER BY n.seq LIMIT $5::int) AS x) AS l
)
(SELECT j.seq, j.class, true AS mine, j.salt, j.try::int, j.tried_before, j.endpoint, j.outbox_id,
       (extract(epoch FROM clock_timestamp() - coalesce(j.reborn, j.outbox_at)) * 1000)::bigint AS age_ms,
       0::bigint AS due_in_ms, o.version, o.order_no, o.event, o.notify_id, o.notify_url, o.body
FROM w CROSS JOIN LATERAL unnest(w.seqs) AS u (seq)
CROSS JOIN LATERAL (SELECT * FROM postrider.job AS n WHERE n.seq = u.seq LIMIT 1) AS j
CROSS JOIN LATERAL (SELECT x.shard FROM postrider.endpoint AS x WHERE x.id = j.endpoint LIMIT 1) AS e
CROSS JOIN LATERAL (
    SELECT b.version, b.order_no, b.event, b.notify_id, b.notify_url, b.body
    FROM postrider.outbox AS b WHERE e.shard = ANY ($1) AND b.at = j.outbox_at AND b.id = j.outbox_id
    UNION ALL
    SELECT k.version, k.order_no, k.event, k.notify_id, k.notify_url, k.body
    FROM postrider.outbox_kept AS k WHERE e.shard = ANY ($1) AND k.id = j.outbox_id
    LIMIT 1) AS o)
UNION ALL
(SELECT w.upto, w.class, false, 0::bigint, 0, 0, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, '', '', NULL::uuid,
       NULL::text, ''::bytea
FROM w);
