-- cli.payment_poll: asks the channel about it now, within its budget.
-- $1 text who   $2 bigint payment_id   $3 text reason or NULL
-- rows: one, asked bool (false: a call for it is under way). Errors: PR006, PR009.
SELECT postrider.payment_poll($1::text, $2::bigint, $3::text) AS asked;
