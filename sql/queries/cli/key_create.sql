-- cli.key_create: a key for HTTP, by its hash.
-- $1 text who   $2 bytea SHA-256 of the key   $3 text kind: application | merchant   $4 text merchant id or NULL   $5 bool livemode   $6 text label
-- $7 bigint ms until it expires (NULL = never)
-- rows: one, key_id bigint. Errors: PR001, PR003.
SELECT postrider.key_create($1::text, $2::bytea, $3::text, $4::text, $5::bool, $6::text, now() + $7::bigint * interval '1 millisecond') AS key_id;
