-- bench.fill: many notifications in one transaction, spread over the merchants; nothing reads them yet.
-- $1 text tag of the order numbers   $2 int merchants   $3 int how many of them (the first ones) hang   $4 text prefix of those
-- $5 bigint first number   $6 bigint how many
-- rows: $6: notify_id uuid, merchant int, hangs boolean.
SELECT postrider.enqueue_notification(
           CASE WHEN m.hangs THEN $4::text ELSE 'm' END || m.no, $1::text || '-' || n, 'payment.succeeded',
           jsonb_build_object('payment', n, 'method', 'card', 'captured', true,
                              'reference', '4200002026113012345678901234'),
           amount_minor => 5800 + n, currency => 'CNY') AS notify_id,
       m.no AS merchant, m.hangs
FROM generate_series($5::bigint, $5::bigint + $6::bigint - 1) AS n,
     LATERAL (SELECT (n % $2::int)::int AS no, n % $2::int < $3::int AS hangs) AS m;
