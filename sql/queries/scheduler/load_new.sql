-- scheduler.load_new: jobs born since the cursor, per class, with what a try needs.
-- $1 smallint[] shards that are ours   $2 bigint[] last seq seen, one per class (carries the class in its high bits)
-- $3 int[] most rows, one per class
-- rows: a row per job in seq order per class. Jobs of other owners come with mine = false and nothing else,
--       so that the cursor moves past them. Only first tries without a due time; dated ones are paged (page_due).
SELECT j.seq, j.class, (e.shard = ANY ($1) AND j.due IS NULL AND o.id IS NOT NULL) AS mine,
       j.salt, j.try::int, j.tried_before, j.endpoint, j.outbox_id,
       (extract(epoch FROM clock_timestamp() - coalesce(j.reborn, j.outbox_at)) * 1000)::bigint AS age_ms,
       0::bigint AS due_in_ms, o.version, o.order_no, o.event, o.notify_id, o.notify_url, o.body
FROM unnest($2::bigint[], $3::int[]) AS c (lo, most)
CROSS JOIN LATERAL (
    SELECT * FROM postrider.job AS n
    WHERE n.seq > c.lo AND n.seq < (((c.lo >> 56) + 1) << 56)
    ORDER BY n.seq LIMIT c.most) AS j
CROSS JOIN LATERAL (SELECT x.shard FROM postrider.endpoint AS x WHERE x.id = j.endpoint LIMIT 1) AS e
LEFT JOIN LATERAL (
    SELECT b.id, b.version, b.order_no, b.event, b.notify_id, b.notify_url, b.body
    FROM postrider.outbox AS b WHERE b.at = j.outbox_at AND b.id = j.outbox_id
    UNION ALL
    SELECT k.id, k.version, k.order_no, k.event, k.notify_id, k.notify_url, k.body
    FROM postrider.outbox_kept AS k WHERE k.id = j.outbox_id
    LIMIT 1) AS o ON e.shard = ANY ($1) AND j.due IS NULL;
