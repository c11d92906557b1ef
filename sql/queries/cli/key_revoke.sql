-- cli.key_revoke: it counts no longer.
-- $1 text who   $2 bigint key_id   $3 text reason
-- rows: one, revoked bool (false: there is none that counts).
SELECT postrider.key_revoke($1::text, $2::bigint, $3::text) AS revoked;
