-- console.merchant_set: changes a merchant.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR001, PR003, PR010.
WITH d AS (SELECT postrider.merchant_set($1::text, postrider.arg_text($2::text::jsonb, 'merchant_id', 64, true), $2::text::jsonb -> 'settings',
    postrider.arg_text($2::text::jsonb, 'reason', 500, true)) AS x)
SELECT jsonb_build_object('ok', true, 'said', d.x::text)::text AS body FROM d;
