-- cli.notification_show: where the deliveries of one notification stand.
-- $1 text notify_id
-- rows: one per endpoint: the columns of notification_status.
SELECT s.notify_id, s.endpoint_id, s.merchant_id, s.order_no, s.event, s.priority, s.status, s.phase, s.notify_url, s.attempts,
       s.max_attempts, s.retry_count, s.max_retry, s.next_attempt_at, s.last_http_code, s.last_error, s.last_response, s.version,
       s.created_at, s.updated_at, s.delivered_at, s.reason
FROM postrider.notification_status AS s WHERE s.notify_id = $1::text::uuid ORDER BY s.endpoint_id;
