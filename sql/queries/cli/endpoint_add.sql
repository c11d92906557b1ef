-- cli.endpoint_add: another address of a merchant.
-- $1 text who   $2 text merchant id   $3 text name   $4 text url   $5 bytea sealed secret   $6 text JSON object of settings
-- rows: one, endpoint_id bigint. Errors: PR001, PR003.
SELECT postrider.endpoint_add($1::text, $2::text, $3::text, $4::text, $5::bytea, $6::text::jsonb) AS endpoint_id;
