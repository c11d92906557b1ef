-- demo.payment_counts: how far the payments are.
-- $1 text app_ref of those whose money comes after their end
-- rows: one: submitted, open (nobody knows yet how they end), late (their money is still to come, or to go back; what never reached the gateway has none).
SELECT count(*) AS submitted,
       count(*) FILTER (WHERE p.state IN ('created', 'processing') AND p.manual_reason IS NULL) AS open,
       count(*) FILTER (WHERE p.app_ref = $1::text AND p.state = 'cancelled' AND p.gateway_reference IS NOT NULL AND (p.captured_minor = 0 OR r.open)) AS late
FROM postrider.payment_status AS p
CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM postrider.refund_status AS s WHERE s.payment_id = p.payment_id AND s.manual_reason IS NULL
                                   AND s.state IN ('created', 'processing')) AS open) AS r;
