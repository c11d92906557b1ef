-- scheduler.next_due: when the next dated job of some (endpoint, class) pairs is due.
-- $1 bigint[] endpoints   $2 smallint[] classes
-- $3 bigint[] due times before this many ms from now are known already (in memory); NULL = none known
-- rows: endpoint, class, due_in_ms; no row for a pair without dated jobs.
SELECT p.endpoint, p.class, (extract(epoch FROM j.due - clock_timestamp()) * 1000)::bigint AS due_in_ms
FROM unnest($1::bigint[], $2::smallint[], $3::bigint[]) AS p (endpoint, class, after_ms)
CROSS JOIN LATERAL (
    SELECT n.due FROM postrider.job AS n
    WHERE n.endpoint = p.endpoint AND n.class = p.class AND n.due IS NOT NULL
      AND n.due > coalesce(clock_timestamp() + p.after_ms * interval '1 ms', '-infinity')
    ORDER BY n.due LIMIT 1) AS j;
