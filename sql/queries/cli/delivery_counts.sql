-- cli.delivery_counts: deliveries by status and phase since a time (the demo's accounting; reads all of them).
-- $1 bigint since, us since 1970 (0 = all)
-- rows: status text, phase text, deliveries bigint, notifications bigint (distinct).
SELECT s.status, s.phase, count(*) AS deliveries, count(DISTINCT s.notify_id) AS notifications
FROM postrider.notification_status AS s
WHERE s.created_at >= timestamptz 'epoch' + $1::bigint * interval '1 us'
GROUP BY 1, 2 ORDER BY 1, 2;
