-- cli.endpoint_find: an endpoint's id.
-- $1 text merchant id   $2 text endpoint name
-- rows: one, or none. endpoint_id bigint.
SELECT e.endpoint_id FROM postrider.endpoints AS e WHERE e.merchant_id = $1::text AND e.name = $2::text;
