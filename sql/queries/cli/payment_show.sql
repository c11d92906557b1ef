-- cli.payment_show: one payment with its refunds.
-- $1 bigint payment_id
-- rows: one, payment text (JSON: the row of the view payment_status), refunds text (JSON array of rows of refund_status); none: no such payment.
SELECT to_jsonb(p)::text AS payment,
       coalesce((SELECT jsonb_agg(to_jsonb(r) ORDER BY r.refund_id) FROM postrider.refund_status AS r WHERE r.payment_id = p.payment_id), '[]')::text AS refunds
FROM postrider.payment_status AS p WHERE p.payment_id = $1::bigint;
