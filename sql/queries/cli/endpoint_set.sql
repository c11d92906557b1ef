-- cli.endpoint_set: changes settings of an endpoint; the schedulers act on it within 2 s.
-- $1 text who   $2 bigint endpoint   $3 text JSON object: url events scheme success_rule retry max_age_ms concurrency rate_per_s
--    headers tls_ca egress http2; null removes a limit   $4 text reason or NULL
-- rows: one, empty. Errors: PR003, PR009.
SELECT postrider.endpoint_set($1::text, $2::bigint, $3::text::jsonb, $4::text);
