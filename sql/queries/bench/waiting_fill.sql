-- bench.waiting_fill: some jobs that failed once and wait for later, 6 to 18 hours from now, spread over the merchants;
-- their outbox rows are older than any window of the relay (tx 0), so that it leaves them alone.
-- $1 bigint first number, from 0   $2 bigint how many   $3 int merchants
-- rows: one, how many jobs.
WITH n AS MATERIALIZED (
    SELECT i, 'm' || i % $3::int AS merchant_id, CASE WHEN i % $3::int % 10 = 0 THEN 0 WHEN i % $3::int % 10 >= 7 THEN 2 ELSE 1 END::smallint AS class,
           (1::bigint << 40) + i AS id, timestamptz '2000-01-01 00:00:00+00' + i * interval '1 us' AS at
    FROM generate_series($1::bigint, $1::bigint + $2::bigint - 1) AS i
), o AS (
    INSERT INTO postrider.outbox_waiting (id, tx, at, class, merchant_id, order_no, event, status, version, notify_id, body)
    SELECT n.id, '0'::xid8, n.at, n.class, n.merchant_id, 'W-' || n.i, 'payment.succeeded', 'succeeded', n.id, gen_random_uuid(),
           convert_to('{"order_no":"W-' || n.i || '","data":"' || repeat('x', 380) || '"}', 'UTF8')
    FROM n
), j AS (
    INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt, try, due)
    SELECT k.seq + n.i + 1, n.at, n.id, e.id, n.class, n.id * 7919, 1, now() + interval '6 hours' + random() * interval '12 hours'
    FROM n JOIN postrider.endpoint AS e ON e.merchant_id = n.merchant_id
    CROSS JOIN LATERAL (SELECT t.seq FROM postrider.tick AS t WHERE t.class = n.class ORDER BY t.n DESC LIMIT 1) AS k
    RETURNING 1
)
SELECT count(*) AS jobs FROM j;
