-- cli.endpoint_list: endpoints without their secrets, by merchant and id.
-- $1 text merchant id (NULL = all)   $2 text state: active | disabled (NULL = both)   $3 int most rows
-- rows: endpoint_id bigint; merchant_id, name, url text; events text (comma separated); scheme, success_rule, retry text;
--       max_age_ms bigint, concurrency int, rate_per_s double, headers text (names, comma separated), private_ca boolean,
--       egress text, http2 boolean; state, state_reason text, state_at timestamptz, forced text; rotate_until timestamptz.
SELECT e.endpoint_id, e.merchant_id, e.name, e.url, array_to_string(e.events, ',') AS events, e.scheme, e.success_rule, e.retry,
       e.max_age_ms, e.concurrency, e.rate_per_s, array_to_string(e.header_names, ',') AS headers, e.private_ca, e.egress, e.http2,
       e.state, e.state_reason, e.state_at, e.forced, e.rotate_until
FROM postrider.endpoints AS e
WHERE ($1::text IS NULL OR e.merchant_id = $1::text) AND ($2::text IS NULL OR e.state = $2::text)
ORDER BY e.merchant_id, e.endpoint_id < 0, e.endpoint_id LIMIT $3::int;
