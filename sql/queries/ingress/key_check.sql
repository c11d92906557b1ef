-- ingress.key_check: whose bearer token is it?
-- $1 bytea SHA-256 of the token
-- rows: one while it counts (neither expired nor revoked), else none: key_id bigint, kind text ('application' | 'merchant'),
--   merchant_id text or NULL, livemode bool, signing bytea or NULL (sealed: requests must be signed).
SELECT k.key_id, k.kind, k.merchant_id, k.livemode, postrider.http_key_signing(k.key_id) AS signing
FROM postrider.http_key_check($1::bytea) AS k;
