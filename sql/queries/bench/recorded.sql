-- bench.recorded: is everything recorded as delivered? Cheap: the first job that lives, if any. The relay must have moved all.
-- rows: one, recorded boolean.
SELECT NOT EXISTS (SELECT 1 FROM postrider.job ORDER BY seq LIMIT 1) AS recorded;
