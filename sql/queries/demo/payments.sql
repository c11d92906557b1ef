-- demo.payments: what Postrider has of each payment.
-- rows: order_no text, state text, captured_minor bigint, refunded_minor bigint, manual_reason text (NULL: no person has it), task bool (a
-- person's task is open), ended_by text (NULL: not ended), ended_at timestamptz (when it ended, or went to the person).
SELECT p.order_no, p.state, p.captured_minor, p.refunded_minor, p.manual_reason,
       EXISTS (SELECT FROM postrider.compensation_tasks AS t WHERE t.payment_id = p.payment_id AND t.status = 'MANUAL') AS task,
       p.ended_by, coalesce(p.final_at, p.updated_at) AS ended_at
FROM postrider.payment_status AS p;
