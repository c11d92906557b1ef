-- cli.key_create: a key for HTTP; the key itself is never here.
-- $1 text who   $2 bytea SHA-256 of the key   $3 text kind (application | merchant)   $4 text merchant or NULL   $5 bool livemode   $6 text label
-- rows: one, key_id bigint. Errors: PR001, PR003.
SELECT postrider.key_create($1::text, $2::bytea, $3::text, $4::text, $5::boolean, $6::text) AS key_id;
