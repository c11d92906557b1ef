-- cli.dead_list: dead letters, newest first.
-- $1 text state: open | redriven | closed (NULL = all)   $2 text merchant id (NULL = all)   $3 text order_no (NULL = all)
-- $4 text reason: retries_exhausted | expired | rejected (NULL = all)   $5 bigint endpoint (NULL = all)   $6 int most rows
-- rows: notify_id uuid, endpoint_id bigint; merchant_id, order_no, event text; priority int; reason text; attempts int;
--       dead_at timestamptz, state, closed_by, closed_reason text, closed_at timestamptz; notify_url text;
--       last_http_code int, last_error text.
SELECT d.notify_id, d.endpoint_id, d.merchant_id, d.order_no, d.event, d.priority, d.reason, d.attempts, d.dead_at, d.state,
       d.closed_by, d.closed_reason, d.closed_at, d.notify_url, d.last_http_code, d.last_error
FROM postrider.dead_letters AS d
WHERE ($1::text IS NULL OR d.state = $1::text) AND ($2::text IS NULL OR d.merchant_id = $2::text)
  AND ($3::text IS NULL OR d.order_no = $3::text) AND ($4::text IS NULL OR d.reason = $4::text)
  AND ($5::bigint IS NULL OR d.endpoint_id = $5::bigint)
ORDER BY d.dead_at DESC, d.notify_id LIMIT $6::int;
