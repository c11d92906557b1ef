-- scheduler.load_first_tries: what a former owner left of first tries without a due time, for adopted shards.
-- $1 smallint[] adopted shards   $2 bigint[] per class: after this seq   $3 bigint[] per class: up to this seq
-- $4 int most rows per class
-- rows: as load_new; rows that are not ours come with mine = false, to move the cursor.
SELECT j.seq, j.class, (e.shard = ANY ($1) AND j.due IS NULL AND o.id IS NOT NULL) AS mine,
       j.salt, j.try::int, j.tried_before, j.endpoint, j.outbox_id,
       (extract(epoch FROM clock_timestamp() - coalesce(j.reborn, j.outbox_at)) * 1000)::bigint AS age_ms,
       0::bigint AS due_in_ms, o.version, o.order_no, o.event, o.notify_id, o.notify_url, o.body
FROM unnest($2::bigint[], $3::bigint[]) AS c (lo, hi)
CROSS JOIN LATERAL (
    SELECT * FROM postrider.job AS n
    WHERE n.seq > c.lo AND n.seq <= c.hi
    ORDER BY n.seq LIMIT $4::int) AS j
CROSS JOIN LATERAL (SELECT x.shard FROM postrider.endpoint AS x WHERE x.id = j.endpoint LIMIT 1) AS e
LEFT JOIN LATERAL (
    SELECT b.id, b.version, b.order_no, b.event, b.notify_id, b.notify_url, b.body
    FROM postrider.outbox AS b WHERE b.at = j.outbox_at AND b.id = j.outbox_id
    UNION ALL
    SELECT k.id, k.version, k.order_no, k.event, k.notify_id, k.notify_url, k.body
    FROM postrider.outbox_kept AS k WHERE k.id = j.outbox_id
    LIMIT 1) AS o ON e.shard = ANY ($1) AND j.due IS NULL;
