-- cli.recon_differences: differences, newest first.
-- $1 text channel, $2 text class, $3 text status, $4 text merchant, $5 text order, $6 bigint file (each NULL = all)   $7 bigint before this one
-- (NULL = from the newest)   $8 int most rows
-- rows: difference_id bigint; class, reason, status, channel, statement_date text; file_id, line bigint; merchant_id, order_no text; payment_id, refund_id bigint;
--   reference, task_no, task_type, task_status text; opened_at, ended_at timestamptz; ended_by, conclusion, theirs, ours text (JSON).
SELECT d.difference_id, d.class, d.reason, d.status, d.channel, d.statement_date::text, d.file_id, d.line, d.merchant_id, d.order_no, d.payment_id, d.refund_id,
       d.reference, d.task_no, d.task_type, d.task_status, d.opened_at, d.ended_at, d.ended_by, d.conclusion, d.theirs::text AS theirs, d.ours::text AS ours
FROM postrider.recon_difference_list($1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::bigint, $8::int) AS d;
