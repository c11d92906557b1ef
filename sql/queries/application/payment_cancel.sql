-- application.payment_cancel: closes it at the channel; its answer decides.
-- $1 bigint payment_id   $2 text reason
-- rows: one, said text: cancelled | failed | closing. Errors: PR006, PR009.
SELECT postrider.cancel_payment($1::bigint, $2::text) AS said;
