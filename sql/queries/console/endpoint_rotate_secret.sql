-- console.endpoint_rotate_secret: puts a new secret (sealed, hex) beside the old one. merchant_id is whom it was sealed for: another's would not open.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON); none: no such endpoint of this merchant. Errors: PR003, PR009, PR010.
SELECT jsonb_build_object('ok', true, 'until', postrider.json_time(postrider.endpoint_rotate_secret($1::text, postrider.arg_id($2::text::jsonb, 'endpoint_id'),
    decode($2::text::jsonb ->> 'secret', 'hex'), postrider.arg_id($2::text::jsonb, 'overlap_s') * interval '1 s',
    postrider.arg_text($2::text::jsonb, 'reason', 500, true))))::text AS body
WHERE EXISTS (SELECT FROM postrider.endpoints AS e WHERE e.endpoint_id = postrider.arg_id($2::text::jsonb, 'endpoint_id')
              AND e.merchant_id = $2::text::jsonb ->> 'merchant_id');
