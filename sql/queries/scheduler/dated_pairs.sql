-- scheduler.dated_pairs: what waits in Postgres for adopted shards.
-- $1 smallint[] shards
-- rows: endpoint, class, due_in_ms of the first dated job of each pair that has one.
SELECT e.id AS endpoint, c.class::smallint AS class,
       (extract(epoch FROM j.due - clock_timestamp()) * 1000)::bigint AS due_in_ms
FROM postrider.endpoint AS e CROSS JOIN generate_series(0, 2) AS c (class)
CROSS JOIN LATERAL (
    SELECT n.due FROM postrider.job AS n
    WHERE n.endpoint = e.id AND n.class = c.class AND n.due IS NOT NULL
    ORDER BY n.due, n.seq LIMIT 1) AS j
WHERE e.shard = ANY ($1);
