-- console.recon_differences_list: differences, newest first.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT postrider.page_json(array_agg(to_jsonb(r) || jsonb_build_object('cursor', r.difference_id::text) ORDER BY r.difference_id DESC),
       postrider.arg_limit($2::text::jsonb))::text AS body
FROM postrider.reader($1::text) AS w (ok),
     postrider.recon_difference_list($2::text::jsonb ->> 'channel', $2::text::jsonb ->> 'class', $2::text::jsonb ->> 'status',
         $2::text::jsonb ->> 'merchant_id', $2::text::jsonb ->> 'order_no', ($2::text::jsonb ->> 'file_id')::bigint,
         nullif($2::text::jsonb ->> 'after', '')::bigint, postrider.arg_limit($2::text::jsonb) + 1) AS r;
