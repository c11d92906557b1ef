-- console.merchant_add: adds a merchant and its first endpoint; the secret is sealed, hex.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT jsonb_build_object('endpoint_id', postrider.merchant_add($1::text, $2::text::jsonb ->> 'merchant_id', $2::text::jsonb ->> 'tier', $2::text::jsonb ->> 'email',
    $2::text::jsonb ->> 'url', decode($2::text::jsonb ->> 'secret', 'hex'), coalesce($2::text::jsonb -> 'settings', '{}'),
    coalesce($2::text::jsonb ->> 'endpoint', 'default')))::text AS body;
