-- cli.merchant_add: a merchant and its first endpoint, in one transaction.
-- $1 text who   $2 text merchant id   $3 text tier (NULL = normal)   $4 text email or NULL   $5 text url   $6 bytea sealed secret
-- $7 text JSON object of endpoint settings ({} = defaults; keys: endpoint_patch)   $8 text endpoint name
-- rows: one, endpoint_id bigint. Errors: PR003.
SELECT postrider.merchant_add($1::text, $2::text, $3::text, $4::text, $5::text, $6::bytea, $7::text::jsonb, $8::text) AS endpoint_id;
