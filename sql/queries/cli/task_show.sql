-- cli.task_show: one task.
-- $1 text task_no
-- rows: task_no, biz_type, biz_id, merchant_id, order_no text; payment_id bigint; status, source text; retry_count, retry_limit int; next_run_at,
--   last_run_at timestamptz; last_error_code, last_error_message, closed_by, conclusion, follows text; created_at, updated_at timestamptz;
--   request, result, before, after text (JSON); difference_id bigint; lock_owner text; locked_at timestamptz.
SELECT t.task_no, t.biz_type, t.biz_id, t.merchant_id, t.order_no, t.payment_id, t.status, t.source, t.retry_count, t.retry_limit, t.next_run_at,
       t.last_run_at, t.last_error_code, t.last_error_message, t.closed_by, t.conclusion, t.follows, t.created_at, t.updated_at, t.request::text AS request,
       t.result::text AS result, t.before::text AS before, t.after::text AS after, t.difference_id, t.lock_owner, t.locked_at
FROM postrider.compensation_tasks AS t WHERE t.task_no = $1::text;
