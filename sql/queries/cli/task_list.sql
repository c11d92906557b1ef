-- cli.task_list: tasks, oldest first.
-- $1 text status or NULL (all that are open)   $2 text biz_type or NULL   $3 text merchant or NULL   $4 int most
-- rows: task_no, biz_type, biz_id, merchant_id, order_no, payment_id bigint, source, status, last_error_code, last_error_message, created_at, updated_at.
SELECT t.task_no, t.biz_type, t.biz_id, t.merchant_id, t.order_no, t.payment_id, t.source, t.status, t.last_error_code, t.last_error_message, t.created_at, t.updated_at
FROM postrider.compensation_tasks AS t
WHERE CASE WHEN $1::text IS NULL THEN t.status NOT IN ('SUCCESS', 'CLOSED') ELSE t.status = $1::text END
  AND ($2::text IS NULL OR t.biz_type = $2::text) AND ($3::text IS NULL OR t.merchant_id = $3::text)
ORDER BY t.created_at, t.task_no LIMIT $4::int;
