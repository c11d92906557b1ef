-- bench.peer_fill: bench.fill beside a peer.
-- $1 text tag of the order numbers   $2 int merchants   $3 int how many of them (the first ones) hang   $4 text prefix of those
-- $5 bigint first number   $6 bigint how many
-- rows: $6: notify_id uuid, merchant int, hangs boolean.
SELECT peer.enqueue(CASE WHEN m.hangs THEN $4::text ELSE 'm' END || m.no, $1::text || '-' || n, 5800 + n) AS notify_id,
       m.no AS merchant, m.hangs
FROM generate_series($5::bigint, $5::bigint + $6::bigint - 1) AS n,
     LATERAL (SELECT (n % $2::int)::int AS no, n % $2::int < $3::int AS hangs) AS m;
