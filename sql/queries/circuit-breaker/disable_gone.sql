-- circuit-breaker.disable_gone: endpoint $1 answered 410; switched off and told in one transaction.
-- $1 bigint endpoint. rows: the merchant (text), or none: it was off already, or is unknown.
SELECT s.merchant FROM postrider.endpoint_switch_off($1::bigint, '410') AS s (merchant) WHERE s.merchant IS NOT NULL;
