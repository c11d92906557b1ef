-- circuit-breaker.disable_failing: endpoint $1 failed for $2; looked at once more before it is switched off.
-- $1 bigint endpoint, $2 bigint ms. rows: the merchant (text), or none: not so, off already, or unknown.
SELECT s.merchant FROM postrider.endpoint_switch_off($1::bigint, 'failing', $2::bigint) AS s (merchant)
WHERE s.merchant IS NOT NULL;
