-- cli.merchant_show: one merchant (its endpoints: endpoint_list).
-- $1 text merchant id
-- rows: one, or none when it is not known. merchant_id, tier, email text; shard smallint; created_at timestamptz.
SELECT m.merchant_id, m.tier, m.email, m.shard, m.created_at FROM postrider.merchants AS m WHERE m.merchant_id = $1::text;
