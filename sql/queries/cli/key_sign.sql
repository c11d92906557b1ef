-- cli.key_sign: a signing key beside a key: every request with it is signed from now on.
-- $1 text who   $2 bigint key_id   $3 bytea sealed signing key
-- rows: one, signed bool (false: no such key, or it counts no more). Errors: PR010.
SELECT postrider.key_sign($1::text, $2::bigint, $3::bytea) AS signed;
