-- cli.order_timeline: everything known of an order, oldest first.
-- $1 text merchant id   $2 text order_no   $3 int most rows
-- rows: at timestamptz, kind text, detail text (JSON).
SELECT t.at, t.kind, t.detail::text AS detail FROM postrider.order_timeline AS t
WHERE t.merchant_id = $1::text AND t.order_no = $2::text ORDER BY t.at, t.kind LIMIT $3::int;
