-- cli.breaker_list: endpoints that a person forced or that are switched off (what the breakers think, circuit-breaker knows).
-- rows: endpoint_id bigint; merchant_id, name, url, state, state_reason text; state_at timestamptz; forced text.
SELECT e.endpoint_id, e.merchant_id, e.name, e.url, e.state, e.state_reason, e.state_at, e.forced
FROM postrider.endpoints AS e WHERE e.forced IS NOT NULL OR e.state = 'disabled' ORDER BY e.merchant_id, e.endpoint_id;
