-- cli.task_list: tasks, oldest first.
-- $1 text status, or 'open' (NULL = all)   $2 text biz_type (NULL = all)   $3 text merchant id (NULL = all)   $4 bigint payment_id (NULL = all)
-- $5 text order_no (NULL = all; with a merchant)   $6 int most rows
-- rows: as cli.task_show.
SELECT t.task_no, t.biz_type, t.biz_id, t.merchant_id, t.order_no, t.payment_id, t.status, t.source, t.retry_count, t.retry_limit, t.next_run_at,
       t.last_run_at, t.last_error_code, t.last_error_message, t.closed_by, t.conclusion, t.follows, t.created_at, t.updated_at, t.request::text AS request,
       t.result::text AS result, t.before::text AS before, t.after::text AS after, t.difference_id, t.lock_owner, t.locked_at
FROM postrider.compensation_tasks AS t
WHERE ($1::text IS NULL OR t.status = $1::text OR $1::text = 'open' AND t.status NOT IN ('SUCCESS', 'CLOSED'))
  AND ($2::text IS NULL OR t.biz_type = $2::text) AND ($3::text IS NULL OR t.merchant_id = $3::text)
  AND ($4::bigint IS NULL OR t.payment_id = $4::bigint) AND ($5::text IS NULL OR t.order_no = $5::text)
ORDER BY t.created_at, t.task_no LIMIT $6::int;
