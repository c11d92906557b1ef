-- 0002 create checks: what may be an address, a retry, a header.
-- why:   what the doors of SQL take and lib/core does not would be found out days later, by a delivery that nobody can make. One rule each,
--        stated in lib/core/{url,egress,email,retry,headers}.h; tests/contract/doors runs one table of cases against both.
-- locks: none that matter, everything is new.
-- undo:  DROP TRIGGER merchant_check ON postrider.merchant, endpoint_check ON postrider.endpoint; DROP FUNCTION for each.
--
-- No function of any of these files has a backslash in a plain literal: it is parsed under its caller's standard_conforming_strings, and
-- with that off '[.]' written with a backslash lets any byte pass. tests/sql/settings.py looks at every function.

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
-- What the address may be, the notifier decides after DNS.
CREATE FUNCTION postrider.url_origin(url text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT lower(m[1]) || '://' || lower(m[2]) || ':' || p.port
    FROM regexp_match(url, '^([Hh][Tt][Tt][Pp][Ss]?)://([A-Za-z0-9._-]+|[[][0-9A-Fa-f:.]+[]])(?::([1-9][0-9]{0,4}))?'
                           '(?:[/?#](?:[]!#$&-;=?-Z[^_a-z{|}~]|%[0-9A-Fa-f][0-9A-Fa-f])*)?$') AS m,
         LATERAL (SELECT coalesce(m[3]::int, CASE lower(m[1]) WHEN 'https' THEN 443 ELSE 80 END) AS port) AS p
    WHERE p.port <= 65535 AND octet_length(url) <= 512
      AND CASE WHEN m[2] ~ '^[[]' THEN postrider.ipv6_ok(btrim(m[2], '[]')) ELSE postrider.host_ok(m[2]) END
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
    SELECT email IS NULL OR email = '' OR octet_length(email) <= 254 AND email ~ '^.+@[^@]+$' AND email !~ E'[\\x01-\\x20\\x7f]'
$$;

-- lib/base/duration.h; NULL: not one.
CREATE FUNCTION postrider.duration_ms(text text) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN text ~ '^0+$' THEN 0
        WHEN text ~ '^[0-9]{1,99}(ms|s|m|h|d)$' THEN substring(text FROM '^[0-9]+')::numeric
            * CASE substring(text FROM '[a-z]+$') WHEN 'ms' THEN 1 WHEN 's' THEN 1000 WHEN 'm' THEN 60000 WHEN 'h' THEN 3600000
                                                  ELSE 86400000 END
        END
$$;

-- lib/core/retry.h. Empty and NULL: the configuration's own.
CREATE FUNCTION postrider.retry_ok(retry text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT retry IS NULL OR retry = '' OR coalesce((
        SELECT CASE WHEN p.kind = 'list'
                    THEN cardinality(string_to_array(p.body, ',')) BETWEEN 1 AND 64
                         AND NOT EXISTS (SELECT FROM string_to_table(p.body, ',') AS delay
                                         WHERE coalesce(postrider.duration_ms(delay), -1) NOT BETWEEN 0 AND 2592000000)
                    ELSE (p.kind ~ '^exp') = (f[2] IS NOT NULL) AND f[3]::int BETWEEN 1 AND 1000
                         AND postrider.duration_ms(f[1]) BETWEEN 1
                             AND least(2592000000, postrider.duration_ms(f[2]), postrider.duration_ms(p.cap))
                         AND coalesce(postrider.duration_ms(f[2]) <= 2592000000, f[2] IS NULL) END
               AND CASE WHEN p.jitter IS NULL THEN true
                        WHEN p.jitter ~ '^([+]-)?[0-9]{1,6}%$' THEN substring(p.jitter FROM '[0-9]+')::int <= 100
                        ELSE postrider.duration_ms(p.jitter) <= 2592000000 END
               AND (p.cap IS NULL OR p.kind !~ '^exp' AND postrider.duration_ms(p.cap) BETWEEN 1 AND 2592000000)
               AND p.options !~ ';jitter=.*;jitter=|;cap=.*;cap='
        FROM regexp_replace(btrim(retry, ' '), ' *(:|,|[*]|[.][.]|;|=) *', E'\\1', 'g') AS x
        CROSS JOIN LATERAL regexp_match(x, '^(list|fixed|linear|exponential|exponential-jitter):([^;]*)((?:;(?:jitter|cap)=[^;]*)*)$') AS m
        CROSS JOIN LATERAL (SELECT m[1] AS kind, m[2] AS body, m[3] AS options, substring(m[3] FROM ';jitter=([^;]*)') AS jitter,
                                   substring(m[3] FROM ';cap=([^;]*)') AS cap) AS p
        CROSS JOIN LATERAL regexp_match(p.body, '^([0-9a-z]+)(?:[.][.]([0-9a-z]+))?[*]([0-9]{1,6})$') AS f
        ), false)
$$;

-- The number of retries of a text that retry_ok takes; the views ask it for each row.
CREATE FUNCTION postrider.retry_count(retry text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE WHEN x ~ '^list:.' THEN cardinality(string_to_array(x, ','))
                WHEN x ~ '^(fixed|linear|exponential|exponential-jitter):[^*]+[*][0-9]{1,6}$' THEN split_part(x, '*', 2)::int END
    FROM replace(split_part(retry, ';', 1), ' ', '') AS x
$$;

-- lib/core/headers.h
CREATE FUNCTION postrider.header_ok(name text, value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT name ~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,64}$' AND octet_length(value) <= 512 AND value !~ E'[\\x01-\\x08\\x0a-\\x1f\\x7f]'
       AND name !~* '^(host|transfer-encoding|connection|te|trailer|upgrade|expect|keep-alive|user-agent|accept-encoding|x-timestamp|http2-settings)$'
       AND name !~* '^(content-|proxy-|x-sign|x-notify|webhook-)'
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

-- Whatever door an endpoint comes through. A CA and a secret are no larger than lib/wire/envelope.h lets through (PR_WIRE_TLS_CA_MAX,
-- PR_WIRE_SECRET_MAX): larger ones would make brokers drop the jobs around them.
CREATE FUNCTION postrider.endpoint_check() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    header text;
BEGIN
    IF NOT postrider.egress_ok(NEW.egress) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003',
            MESSAGE = 'egress is not http://[USER:WORD@]HOST:PORT, https://..., socks5://..., socks5h://..., address:IP or interface:NAME',
            HINT = 'Leave it out to leave by the lane''s egress.';
    ELSIF NOT postrider.retry_ok(NEW.retry) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003',
            MESSAGE = 'retry is not list:5s,30s | fixed:5s*5 | linear:5s*3 | exponential:1s..6h*10 | exponential-jitter:1s..6h*10',
            HINT = 'Delays are whole numbers of ms, s, m, h or d, at most 30d; ;jitter=10% and ;cap=6h may follow.';
    ELSIF octet_length(NEW.tls_ca) > 65536 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR008', MESSAGE = format('tls_ca has %s bytes, at most 65536', octet_length(NEW.tls_ca)),
            HINT = 'Leave in it only the authorities that signed this merchant''s certificate.';
    ELSIF greatest(length(NEW.secret), length(NEW.secret_next)) > 4096 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR008', MESSAGE = 'secret is longer than 4096 bytes, sealed',
            HINT = 'Let postrider merchant make one, or give it one of at most 64 bytes.';
    END IF;
    SELECT h.key INTO header FROM jsonb_each(NEW.headers) AS h
    WHERE jsonb_typeof(h.value) <> 'string' OR NOT postrider.header_ok(h.key, h.value #>> '{}') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('header %L cannot be sent', left(header, 80)),
            HINT = 'Names of Postrider''s own and of the connection, names that are no token, values over 512 bytes or with control bytes cannot.';
    END IF;
    RETURN NEW;
END $$;

-- Not for what the relay makes of a notify_url (below 0): it copies the merchant's own, and must never be stopped by it.
CREATE TRIGGER endpoint_check BEFORE INSERT OR UPDATE OF egress, retry, headers, tls_ca, secret, secret_next ON postrider.endpoint
    FOR EACH ROW WHEN (NEW.id > 0) EXECUTE FUNCTION postrider.endpoint_check();

RESET ROLE;
