-- 0018 check retries and headers as C does: one grammar of retries, one list of headers that are ours, in SQL and in lib/core.
-- why:   1.2.3s passed here and was no delay there, so that the endpoint was tried by the default list; jitter=+-20% was refused
--        here and meant something there; Host and X-Signature passed here and were dropped by the notifier.
--        tests/contract/doors runs one table of cases against both.
-- locks: endpoint SHARE ROW EXCLUSIVE for an instant (a trigger). Rows that are there are not looked at again.
-- undo:  the former definitions are in 0005 and 0016; DROP FUNCTION for the three new ones.

SET LOCAL ROLE postrider_owner;

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
        FROM regexp_replace(btrim(retry, ' '), ' *(:|,|[*]|[.][.]|;|=) *', '\1', 'g') AS x
        CROSS JOIN LATERAL regexp_match(x, '^(list|fixed|linear|exponential|exponential-jitter):([^;]*)((?:;(?:jitter|cap)=[^;]*)*)$') AS m
        CROSS JOIN LATERAL (SELECT m[1] AS kind, m[2] AS body, m[3] AS options, substring(m[3] FROM ';jitter=([^;]*)') AS jitter,
                                   substring(m[3] FROM ';cap=([^;]*)') AS cap) AS p
        CROSS JOIN LATERAL regexp_match(p.body, '^([0-9a-z]+)(?:[.][.]([0-9a-z]+))?[*]([0-9]{1,6})$') AS f
        ), false)
$$;

-- The number of retries of a text that retry_ok takes; the views ask it for each row.
CREATE OR REPLACE FUNCTION postrider.retry_count(retry text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE WHEN x ~ '^list:.' THEN cardinality(string_to_array(x, ','))
                WHEN x ~ '^(fixed|linear|exponential|exponential-jitter):[^*]+[*][0-9]{1,6}$' THEN split_part(x, '*', 2)::int END
    FROM replace(split_part(retry, ';', 1), ' ', '') AS x
$$;

-- lib/core/headers.h
CREATE FUNCTION postrider.header_ok(name text, value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT name ~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,64}$' AND octet_length(value) <= 512 AND value !~ '[\x01-\x08\x0a-\x1f\x7f]'
       AND replace(name, '_', '-') !~* '^(host|transfer-encoding|connection|te|trailer|upgrade|expect|keep-alive|user-agent|accept-encoding|x-timestamp|http2-settings)$'
       AND replace(name, '_', '-') !~* '^(content-|proxy-|x-sign|x-notify|webhook-)'
$$;

-- As in 0005; what retry and headers may be is said below.
CREATE OR REPLACE FUNCTION postrider.endpoint_patch(e postrider.endpoint, settings jsonb) RETURNS postrider.endpoint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k text;
    bad text;
BEGIN
    FOR k IN SELECT jsonb_object_keys(settings) LOOP
        IF k NOT IN ('url', 'events', 'scheme', 'success_rule', 'retry', 'max_age_ms', 'concurrency', 'rate_per_s', 'headers',
                     'tls_ca', 'egress', 'http2', 'supersede') THEN
            bad := format('%L is no setting of an endpoint', k);
        END IF;
    END LOOP;
    IF bad IS NULL THEN
        BEGIN
            e := jsonb_populate_record(e, settings);
        EXCEPTION WHEN data_exception OR invalid_text_representation THEN
            bad := 'a setting has a value of the wrong kind: ' || SQLERRM;
        END;
    END IF;
    IF bad IS NULL THEN
        bad := CASE
            WHEN length(e.url) > 512 OR (e.id > 0 AND postrider.url_origin(e.url) IS NULL)
                THEN 'url is not a URL that can be called'
            WHEN e.events IS NULL OR (e.id > 0 AND cardinality(e.events) = 0) OR cardinality(e.events) > 64
                OR EXISTS (SELECT FROM unnest(e.events) AS p
                           WHERE p IS NULL OR p !~ '^(\*|[a-z0-9_]+(\.[a-z0-9_]+)*(\.\*)?)$' OR length(p) > 66)
                THEN 'events has a pattern that is not *, word.word or word.*'
            WHEN e.scheme NOT IN ('postrider', 'ed25519', 'form-md5', 'form-hmac') OR e.scheme IS NULL
                THEN 'scheme is not postrider, ed25519, form-md5 or form-hmac'
            WHEN e.success_rule IS NULL OR e.success_rule !~ '^(default|2xx|body:.{1,200}|json:[^=]{1,100}=.{1,100})$'
                THEN 'success_rule is not default, 2xx, body:TEXT or json:FIELD=VALUE'
            WHEN e.retry IS NULL THEN 'retry is missing: empty is the configuration''s own'
            WHEN e.max_age_ms < 1 THEN 'max_age_ms is not positive'
            WHEN e.concurrency NOT BETWEEN 1 AND 1000 THEN 'concurrency is not 1 to 1000'
            WHEN NOT (e.rate_per_s > 0 AND e.rate_per_s < 'infinity') THEN 'rate_per_s is not positive'
            WHEN e.headers IS NULL OR jsonb_typeof(e.headers) <> 'object' THEN 'headers is not an object of name to value'
            WHEN (SELECT count(*) FROM jsonb_each(e.headers)) > 32 THEN 'headers has more than 32'
            WHEN e.http2 IS NULL THEN 'http2 is neither true nor false'
            WHEN e.supersede IS NULL THEN 'supersede is neither true nor false' END;
    END IF;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = bad, HINT = 'postrider merchant set --help lists the settings and their form.';
    END IF;
    RETURN e;
END $$;

-- Whatever door an endpoint comes through.
CREATE OR REPLACE FUNCTION postrider.endpoint_check() RETURNS trigger
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
    END IF;
    SELECT h.key INTO header FROM jsonb_each(NEW.headers) AS h
    WHERE jsonb_typeof(h.value) <> 'string' OR NOT postrider.header_ok(h.key, h.value #>> '{}') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('header %L cannot be sent', left(header, 80)),
            HINT = 'Names of Postrider''s own and of the connection, names that are no token, values over 512 bytes or with control bytes cannot.';
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER endpoint_check ON postrider.endpoint;
CREATE TRIGGER endpoint_check BEFORE INSERT OR UPDATE OF egress, retry, headers ON postrider.endpoint
    FOR EACH ROW WHEN (NEW.id > 0) EXECUTE FUNCTION postrider.endpoint_check();

-- As in 0005, with the whole grammar.
CREATE OR REPLACE FUNCTION postrider.configure(priority jsonb, retry_notification text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM jsonb_each(priority) AS p WHERE p.key !~ '^[A-Z]{3}$' OR jsonb_typeof(p.value) <> 'object')
       OR NOT postrider.retry_ok(retry_notification) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'priority is not by currency, or retry is not of the grammar',
            HINT = 'See priority and retry.notification in docs/configuration.md.';
    END IF;
    DELETE FROM postrider.priority_rule AS r WHERE NOT priority ? r.currency;
    INSERT INTO postrider.priority_rule AS r
    SELECT p.key, (p.value ->> 'large_minor')::bigint, (p.value ->> 'small_minor')::bigint FROM jsonb_each(priority) AS p
    ON CONFLICT (currency) DO UPDATE SET large_minor = excluded.large_minor, small_minor = excluded.small_minor
    WHERE (r.large_minor, r.small_minor) IS DISTINCT FROM (excluded.large_minor, excluded.small_minor);
    INSERT INTO postrider.setting AS s SELECT 'retry.notification', retry_notification WHERE retry_notification IS NOT NULL
    ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE s.value <> excluded.value;
END $$;

REVOKE ALL ON FUNCTION postrider.duration_ms, postrider.retry_ok, postrider.header_ok FROM PUBLIC;
RESET ROLE;
