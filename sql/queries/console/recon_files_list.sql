-- console.recon_files_list: statements, newest first.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT postrider.page_json(array_agg(to_jsonb(r) || jsonb_build_object('cursor', r.file_id::text) ORDER BY r.file_id DESC),
       postrider.arg_limit($2::text::jsonb))::text AS body
FROM postrider.reader($1::text) AS w (ok),
     postrider.recon_file_list($2::text::jsonb ->> 'channel', $2::text::jsonb ->> 'status',
         nullif($2::text::jsonb ->> 'after', '')::bigint, postrider.arg_limit($2::text::jsonb) + 1) AS r;
