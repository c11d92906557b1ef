-- cli.merchant_list: merchants by id.
-- $1 text after this id ('' = from the start)   $2 int most rows
-- rows: merchant_id, tier, email text; endpoints, disabled int (addresses in all, switched off); created_at timestamptz.
SELECT m.merchant_id, m.tier, m.email, count(e.endpoint_id)::int AS endpoints,
       (count(*) FILTER (WHERE e.state = 'disabled'))::int AS disabled, m.created_at
FROM (SELECT * FROM postrider.merchants AS x WHERE x.merchant_id > $1::text ORDER BY x.merchant_id LIMIT $2::int) AS m
LEFT JOIN postrider.endpoints AS e ON e.merchant_id = m.merchant_id
GROUP BY m.merchant_id, m.tier, m.email, m.created_at ORDER BY m.merchant_id;
