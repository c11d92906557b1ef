-- 0031 sign http requests: a signing key beside a bearer key, and nonces that are used once.
-- why:   a bearer key that is overheard, in a log or at a proxy, can do everything; signed requests cannot be made anew (contracts, HTTP).
-- locks: http_key ACCESS EXCLUSIVE for an instant (a new column without a default).
-- undo:  http_purge as in 0025; DROP FUNCTION postrider.http_key_signing, postrider.http_nonce_take, postrider.key_sign;
--        DROP TABLE postrider.http_nonce; ALTER TABLE postrider.http_key DROP COLUMN signing.

SET LOCAL ROLE postrider_owner;

-- Sealed (lib/sign/seal.h) under "key/" and the first 32 hex digits of the hash. Where it is, every request must be signed.
ALTER TABLE postrider.http_key ADD COLUMN signing bytea CHECK (octet_length(signing) <= 4096);

CREATE TABLE postrider.http_nonce (
    key_id bigint NOT NULL, nonce text NOT NULL CHECK (length(nonce) BETWEEN 16 AND 64), at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (key_id, nonce)
);
CREATE INDEX http_nonce_at_idx ON postrider.http_nonce (at);

CREATE FUNCTION postrider.http_key_signing(key_id bigint) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT k.signing FROM postrider.http_key AS k WHERE k.id = $1
$$;

-- True: nobody has used it with this key.
CREATE FUNCTION postrider.http_nonce_take(key_id bigint, nonce text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO postrider.http_nonce (key_id, nonce) VALUES ($1, $2) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

-- signing NULL: requests need not be signed any more.
CREATE FUNCTION postrider.key_sign(who text, id bigint, signing bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE postrider.http_key AS k SET signing = $3 WHERE k.id = $2 AND k.revoked_at IS NULL;
    IF FOUND THEN
        PERFORM postrider.audit_add(who, 'key.sign', id::text, NULL, jsonb_build_object('signed', signing IS NOT NULL));
        RETURN true;
    END IF;
    RETURN false;
END $$;

-- As in 0025; and nonces that no timestamp can bring back: it counts 5 minutes either way.
CREATE OR REPLACE FUNCTION postrider.http_purge(most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    gone bigint;
BEGIN
    DELETE FROM postrider.http_nonce AS n
    WHERE n.ctid = ANY (ARRAY(SELECT x.ctid FROM postrider.http_nonce AS x WHERE x.at < now() - interval '15 minutes' ORDER BY x.at LIMIT most));
    DELETE FROM postrider.http_answer AS a
    WHERE a.ctid = ANY (ARRAY(SELECT x.ctid FROM postrider.http_answer AS x WHERE x.at < now() - interval '30 days' ORDER BY x.at LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END $$;

REVOKE ALL ON FUNCTION postrider.http_key_signing, postrider.http_nonce_take, postrider.key_sign FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.http_key_signing, postrider.http_nonce_take TO postrider_ingress;
GRANT EXECUTE ON FUNCTION postrider.key_sign TO postrider_console;

RESET ROLE;
