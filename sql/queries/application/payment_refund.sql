-- application.payment_refund: sends money back.
-- $1 bigint payment_id   $2 text refund_no   $3 bigint amount   $4 text reason or NULL
-- rows: one, refund_id bigint. Errors: PR002, PR003, PR006 to PR009.
SELECT postrider.refund_payment($1::bigint, $2::text, $3::bigint, $4::text) AS refund_id;
