-- cli.key_revoke: a key counts no more.
-- $1 text who   $2 bigint key_id   $3 text reason
-- rows: one, revoked bool (false: no such key, or it was).
SELECT postrider.key_revoke($1::text, $2::bigint, $3::text) AS revoked;
