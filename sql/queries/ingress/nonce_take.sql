-- ingress.nonce_take: the nonce of a signed request, once.
-- $1 bigint key_id   $2 text nonce
-- rows: one, fresh bool (false: it was used before).
SELECT postrider.http_nonce_take($1::bigint, $2::text) AS fresh;
