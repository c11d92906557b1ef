-- console.payment_poll: asks the channel about a payment now.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR006, PR009, PR010.
SELECT jsonb_build_object('ok', postrider.payment_poll($1::text, postrider.arg_id($2::text::jsonb, 'payment_id'),
    postrider.arg_text($2::text::jsonb, 'reason', 500, true)))::text AS body;
