-- cli.endpoint_rotate_secret: a new secret beside the old one until the overlap ends.
-- $1 text who   $2 bigint endpoint   $3 bytea sealed new secret   $4 bigint overlap in ms (0: the old one ends now)   $5 text reason
-- rows: one, until timestamptz. Errors: PR003, PR009.
SELECT postrider.endpoint_rotate_secret($1::text, $2::bigint, $3::bytea, $4::bigint * interval '1 ms', $5::text) AS until;
