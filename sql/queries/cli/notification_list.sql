-- cli.notification_list: the deliveries of an order.
-- $1 text merchant id   $2 text order_no
-- rows: as notification_show, by time.
SELECT s.notify_id, s.endpoint_id, s.merchant_id, s.order_no, s.event, s.priority, s.status, s.phase, s.notify_url, s.attempts,
       s.max_attempts, s.retry_count, s.max_retry, s.next_attempt_at, s.last_http_code, s.last_error, s.last_response, s.version,
       s.created_at, s.updated_at, s.delivered_at, s.reason
FROM postrider.notification_status AS s WHERE s.merchant_id = $1::text AND s.order_no = $2::text
ORDER BY s.created_at, s.notify_id, s.endpoint_id;
