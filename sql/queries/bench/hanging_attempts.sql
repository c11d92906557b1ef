-- bench.hanging_attempts: requests to hanging merchants that have ended and are on record.
-- rows: one, attempts bigint.
SELECT count(*) AS attempts FROM postrider.attempt AS a JOIN postrider.endpoint AS e ON e.id = a.endpoint WHERE e.merchant_id LIKE 'h%';
