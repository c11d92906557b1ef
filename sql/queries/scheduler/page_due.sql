-- scheduler.page_due: the next dated jobs of some (endpoint, class) pairs, by due time; and when the first one after them is due.
-- One statement, one clock (now()): a job that is due neither within the horizon nor after it would be forgotten.
-- $1 bigint[] endpoints   $2 smallint[] classes   $3 bigint horizon in ms: due times up to now() + horizon
-- $4 int[] most rows per pair (what is in memory already is skipped by the caller: ask for that many more)
-- rows: as load_new, in (endpoint, class, due, seq) order, mine true; and a row with mine = false for each pair that has a job
--       due after the horizon: endpoint, class and due_in_ms are its, the rest means nothing.
(SELECT j.seq, j.class, true AS mine, j.salt, j.try::int, j.tried_before, j.endpoint, j.outbox_id,
       (extract(epoch FROM clock_timestamp() - coalesce(j.reborn, j.outbox_at)) * 1000)::bigint AS age_ms,
       ceil(extract(epoch FROM j.due - clock_timestamp()) * 1000)::bigint AS due_in_ms,
       o.version, o.order_no, o.event, o.notify_id, o.notify_url, o.body
FROM unnest($1::bigint[], $2::smallint[], $4::int[]) AS p (endpoint, class, most)
CROSS JOIN LATERAL (
    SELECT * FROM postrider.job AS n
    WHERE n.endpoint = p.endpoint AND n.class = p.class AND n.due IS NOT NULL
      AND n.due <= now() + $3::bigint * interval '1 ms'
    ORDER BY n.due, n.seq LIMIT p.most) AS j
CROSS JOIN LATERAL (
    SELECT b.version, b.order_no, b.event, b.notify_id, b.notify_url, b.body
    FROM postrider.outbox AS b WHERE b.at = j.outbox_at AND b.id = j.outbox_id
    UNION ALL
    SELECT k.version, k.order_no, k.event, k.notify_id, k.notify_url, k.body
    FROM postrider.outbox_kept AS k WHERE k.id = j.outbox_id
    LIMIT 1) AS o)
UNION ALL
(SELECT 0::bigint, p.class, false, 0::bigint, 0, 0, p.endpoint, 0::bigint, 0::bigint,
       ceil(extract(epoch FROM l.due - clock_timestamp()) * 1000)::bigint, 0::bigint, '', '', NULL::uuid, NULL::text, ''::bytea
FROM unnest($1::bigint[], $2::smallint[]) AS p (endpoint, class)
CROSS JOIN LATERAL (
    SELECT n.due FROM postrider.job AS n
    WHERE n.endpoint = p.endpoint AND n.class = p.class AND n.due IS NOT NULL
      AND n.due > now() + $3::bigint * interval '1 ms'
    ORDER BY n.due LIMIT 1) AS l);
