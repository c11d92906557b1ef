-- console.endpoint_add: adds one more endpoint of a merchant; the secret is sealed, hex.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR001, PR003, PR010.
SELECT jsonb_build_object('endpoint_id', postrider.endpoint_add($1::text, $2::text::jsonb ->> 'merchant_id', $2::text::jsonb ->> 'endpoint', $2::text::jsonb ->> 'url',
    decode($2::text::jsonb ->> 'secret', 'hex'), coalesce($2::text::jsonb -> 'settings', '{}')))::text AS body;
