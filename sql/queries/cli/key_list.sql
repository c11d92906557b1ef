-- cli.key_list: keys for HTTP, newest first; neither key nor hash.
-- $1 bool those that count no more, too
-- rows: key_id bigint; kind, merchant_id text; livemode bool; label text; created_at, expires_at, revoked_at timestamptz.
SELECT k.key_id, k.kind, k.merchant_id, k.livemode, k.label, k.created_at, k.expires_at, k.revoked_at FROM postrider.http_keys AS k
WHERE $1::bool OR k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) ORDER BY k.key_id DESC;
