-- 0016 check addresses as C does: notify_url, url, egress and email are refused at the door when the notifier could not use them.
-- why:   what the doors of SQL took and lib/core did not was found out days later, by a delivery that nobody could make.
--        One rule each, stated in lib/core/{url,egress,email}.h; tests/contract/doors runs one table of cases against both.
-- locks: none that matter (functions are replaced). Rows that are there are not looked at again.
-- undo:  the former definitions are in 0002 and 0005; DROP FUNCTION for the three new ones.

SET LOCAL ROLE postrider_owner;

-- A name of RFC 1035 (underscores too), or a dotted quad; no other number: some resolvers read 127.1 as an address.
CREATE FUNCTION postrider.host_ok(host text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT host ~ '^[A-Za-z0-9._-]+$' AND length(host) <= 253
       AND host !~ '(^|[.])([.]|-|$)|-([.]|$)'
       AND NOT EXISTS (SELECT FROM string_to_table(host, '.') AS label WHERE length(label) > 63)
       AND (host !~ '(^|[.])([0-9]+|0[xX][0-9A-Fa-f]*)$'
            OR host ~ '^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])([.]|$)){4}$' AND host !~ '[.]$')
$$;

-- An IPv6 address of RFC 4291, without brackets and zone.
CREATE FUNCTION postrider.ipv6_ok(address text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN a.x ~ '[.]' THEN false                                 -- not a dotted quad at its end, or one that is none
        WHEN a.x ~ '::' THEN a.x ~ '^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?$'
                             AND (SELECT count(*) FROM regexp_matches(a.x, '[0-9A-Fa-f]+', 'g')) <= 7
        ELSE a.x ~ '^([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}$' END
    FROM regexp_replace(address, ':((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$',
                        ':0:0') AS a (x)
$$;

-- scheme://host:port of an http(s) URL, lower case, port always given; NULL when it is no URL we would call (lib/core/url.h).
-- What the address may be, the notifier decides after DNS. What was an origin before is the same one now, or none.
CREATE OR REPLACE FUNCTION postrider.url_origin(url text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT lower(m[1]) || '://' || lower(m[2]) || ':' || p.port
    FROM regexp_match(url, '^([Hh][Tt][Tt][Pp][Ss]?)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([1-9][0-9]{0,4}))?'
                           '(?:[/?#](?:[]!#$&-;=?-Z[^_a-z{|}~]|%[0-9A-Fa-f][0-9A-Fa-f])*)?$') AS m,
         LATERAL (SELECT coalesce(m[3]::int, CASE lower(m[1]) WHEN 'https' THEN 443 ELSE 80 END) AS port) AS p
    WHERE p.port <= 65535 AND octet_length(url) <= 512
      AND CASE WHEN m[2] ~ '^\[' THEN postrider.ipv6_ok(btrim(m[2], '[]')) ELSE postrider.host_ok(m[2]) END
$$;

-- lib/core/egress.h
CREATE FUNCTION postrider.egress_ok(egress text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN egress IS NULL OR egress = '' THEN true
        WHEN octet_length(egress) > 512 THEN false
        WHEN egress ~ '^(https?|socks5h?)://' THEN rest !~ '[/?#]' AND postrider.url_origin('http://' || rest) IS NOT NULL
        WHEN egress ~ '^address:' THEN substr(egress, 9) ~ '^[0-9]+[.][0-9.]+$' AND postrider.host_ok(substr(egress, 9))
                                       OR substr(egress, 9) ~ '^[0-9A-Fa-f:.]+$' AND postrider.ipv6_ok(substr(egress, 9))
        ELSE egress ~ '^interface:[A-Za-z0-9._-]{1,15}$' END
    FROM regexp_replace(regexp_replace(egress, '^[a-z0-9]+://([A-Za-z0-9._~!$&''()*+,;=:%-]+@)?', ''), '/$', '') AS r (rest)
$$;

-- lib/core/email.h
CREATE FUNCTION postrider.email_ok(email text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT email IS NULL OR email = '' OR octet_length(email) <= 254 AND email ~ '^.+@[^@]+$' AND email !~ '[\x01-\x20\x7f]'
$$;

-- Whatever changes a merchant or an endpoint, these hold. Triggers, because several doors write both.
CREATE FUNCTION postrider.merchant_check() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    NEW.email := nullif(NEW.email, '');
    IF NOT postrider.email_ok(NEW.email) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'email is not NAME@HOST of at most 254 printable bytes',
            HINT = 'Leave it out when there is nobody to write to.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER merchant_check BEFORE INSERT OR UPDATE OF email ON postrider.merchant
    FOR EACH ROW EXECUTE FUNCTION postrider.merchant_check();

CREATE FUNCTION postrider.endpoint_check() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NOT postrider.egress_ok(NEW.egress) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003',
            MESSAGE = 'egress is not http://[USER:WORD@]HOST:PORT, https://..., socks5://..., socks5h://..., address:IP or interface:NAME',
            HINT = 'Leave it out to leave by the lane''s egress.';
    END IF;
    RETURN NEW;
END $$;
-- Not for what the relay makes of a notify_url (below 0): it copies the merchant's own, and must never be stopped by it.
CREATE TRIGGER endpoint_check BEFORE INSERT OR UPDATE OF egress ON postrider.endpoint
    FOR EACH ROW WHEN (NEW.id > 0) EXECUTE FUNCTION postrider.endpoint_check();

REVOKE ALL ON FUNCTION postrider.host_ok, postrider.ipv6_ok, postrider.egress_ok, postrider.email_ok, postrider.merchant_check,
    postrider.endpoint_check FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.host_ok, postrider.ipv6_ok TO postrider_relay;     -- url_origin stands on them

-- The relay cannot make an endpoint of a URL without an origin: rows on their way must have one by the new rule too.
DO $$
BEGIN
    IF EXISTS (SELECT FROM postrider.outbox AS o WHERE o.kind = 0 AND o.notify_url IS NOT NULL
               AND postrider.url_origin(o.notify_url) IS NULL AND NOT postrider.is_moved(o.class, o.tx, o.id)) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'outbox rows that are not handed over have a notify_url that no longer passes',
            HINT = 'Let the relay of the former version hand them over, or cancel them, then migrate.';
    END IF;
END $$;
RESET ROLE;
