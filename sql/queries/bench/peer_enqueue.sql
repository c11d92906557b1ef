-- bench.peer_enqueue: bench.enqueue beside a peer (bench/peers/application.mjs).
-- $1 text merchant   $2 text order number   $3 bigint amount in minor units   $4 int not used: peers have no classes
-- rows: one, notify_id uuid.
WITH p AS (
    INSERT INTO bench.payment (merchant_id, order_no, amount_minor, currency, state)
    VALUES ($1::text, $2::text, $3::bigint, 'CNY', 'succeeded') RETURNING $4::int AS class
)
SELECT peer.enqueue($1::text, $2::text, $3::bigint) AS notify_id FROM p;
