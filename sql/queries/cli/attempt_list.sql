-- cli.attempt_list: the history of a notification, oldest first (dead show, status of one).
-- $1 text notify_id   $2 bigint endpoint (NULL = all)
-- rows: endpoint_id bigint, attempt int, started_at timestamptz, duration_ms int, outcome text, http_code int, error text,
--       response text, worker text, next_attempt_at timestamptz.
SELECT a.endpoint_id, a.attempt, a.started_at, a.duration_ms, a.outcome, a.http_code, a.error, a.response, a.worker,
       a.next_attempt_at
FROM postrider.attempt_log AS a
WHERE a.notify_id = $1::text::uuid AND ($2::bigint IS NULL OR a.endpoint_id = $2::bigint)
ORDER BY a.endpoint_id, a.attempt, a.recorded_at;
