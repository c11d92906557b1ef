-- cli.dead_count: dead letters by state and reason.
-- rows: state, reason text; letters bigint; oldest timestamptz.
SELECT d.state, d.reason, count(*) AS letters, min(d.at) AS oldest FROM postrider.dead AS d GROUP BY 1, 2 ORDER BY 1, 2;
