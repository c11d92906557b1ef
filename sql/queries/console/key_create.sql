-- console.key_create: keeps the hash (hex) of a key for HTTP.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR001, PR003, PR010.
SELECT jsonb_build_object('key_id', postrider.key_create($1::text, decode($2::text::jsonb ->> 'hash', 'hex'), $2::text::jsonb ->> 'kind', $2::text::jsonb ->> 'merchant_id',
    ($2::text::jsonb ->> 'livemode')::boolean, $2::text::jsonb ->> 'label', ($2::text::jsonb ->> 'expires_at')::timestamptz))::text AS body;
