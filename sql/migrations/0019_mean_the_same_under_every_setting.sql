-- 0019 mean the same under every setting: no backslash in a plain literal of a function; the doors' limits are the wire's.
-- why:   a function's literals are parsed under its caller's standard_conforming_strings. With it off, '[.]' written with a
--        backslash let any byte pass, and a body was no JSON. SET in a function costs each call, other spelling costs nothing;
--        tests/sql/settings.sql looks at every function. A CA, or a secret, larger than lib/wire/envelope.h has it was taken and
--        made brokers drop the jobs around it. A merchant_id too long for the index was 54000 instead of PR001.
-- locks: endpoint SHARE ROW EXCLUSIVE for an instant (a trigger). Rows that are there are not looked at again.
-- undo:  the former definitions are in 0002, 0003, 0016 and 0018.

SET LOCAL ROLE postrider_owner;

-- As in 0016.
CREATE OR REPLACE FUNCTION postrider.url_origin(url text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT lower(m[1]) || '://' || lower(m[2]) || ':' || p.port
    FROM regexp_match(url, '^([Hh][Tt][Tt][Pp][Ss]?)://([A-Za-z0-9._-]+|[[][0-9A-Fa-f:.]+[]])(?::([1-9][0-9]{0,4}))?'
                           '(?:[/?#](?:[]!#$&-;=?-Z[^_a-z{|}~]|%[0-9A-Fa-f][0-9A-Fa-f])*)?$') AS m,
         LATERAL (SELECT coalesce(m[3]::int, CASE lower(m[1]) WHEN 'https' THEN 443 ELSE 80 END) AS port) AS p
    WHERE p.port <= 65535 AND octet_length(url) <= 512
      AND CASE WHEN m[2] ~ '^[[]' THEN postrider.ipv6_ok(btrim(m[2], '[]')) ELSE postrider.host_ok(m[2]) END
$$;

-- As in 0016.
CREATE OR REPLACE FUNCTION postrider.email_ok(email text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT email IS NULL OR email = '' OR octet_length(email) <= 254 AND email ~ '^.+@[^@]+$' AND email !~ E'[\\x01-\\x20\\x7f]'
$$;

-- As in 0018.
CREATE OR REPLACE FUNCTION postrider.retry_ok(retry text) RETURNS boolean
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

-- As in 0018.
CREATE OR REPLACE FUNCTION postrider.header_ok(name text, value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT name ~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,64}$' AND octet_length(value) <= 512 AND value !~ E'[\\x01-\\x08\\x0a-\\x1f\\x7f]'
       AND name !~* '^(host|transfer-encoding|connection|te|trailer|upgrade|expect|keep-alive|user-agent|accept-encoding|x-timestamp|http2-settings)$'
       AND name !~* '^(content-|proxy-|x-sign|x-notify|webhook-)'
$$;

-- As in 0003.
CREATE OR REPLACE FUNCTION postrider.response_kept(outcome smallint, response bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN $1 <> 1 THEN $2 WHEN $2 = E'\\x53554343455353' THEN NULL ELSE coalesce($2, '') END
$$;

-- As in 0018.
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
                           WHERE p IS NULL OR p !~ '^([*]|[a-z0-9_]+([.][a-z0-9_]+)*([.][*])?)$' OR length(p) > 66)
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

-- As in 0018, and what is more than lib/wire/envelope.h lets through (PR_WIRE_TLS_CA_MAX, PR_WIRE_SECRET_MAX).
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
DROP TRIGGER endpoint_check ON postrider.endpoint;
CREATE TRIGGER endpoint_check BEFORE INSERT OR UPDATE OF egress, retry, headers, tls_ca, secret, secret_next ON postrider.endpoint
    FOR EACH ROW WHEN (NEW.id > 0) EXECUTE FUNCTION postrider.endpoint_check();

-- As in 0002.
CREATE OR REPLACE FUNCTION postrider.enqueue_refuse(
    order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority int, notify_url text,
    idempotency_key text, status text, version bigint, occurred_at timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    largest CONSTANT bigint := 9007199254740991;
    code text := 'PR003';
    what text;
    hint text;
BEGIN
    IF order_no IS NULL OR order_no = '' OR order_no ~ '[[:cntrl:]]' THEN
        what := 'order_no is missing or has control characters';
        hint := 'Pass the order''s number: 1 to 64 printable characters.';
    ELSIF length(order_no) > 64 THEN
        code := 'PR008';
        what := 'order_no is longer than 64 characters';
        hint := 'Shorten order_no; put further data into payload.';
    ELSIF length(event) > 64 THEN
        code := 'PR008';
        what := 'event is longer than 64 characters';
        hint := 'Shorten the event''s name; put further data into payload.';
    ELSIF event IS NULL OR event !~ '^[a-z0-9_]+([.][a-z0-9_]+)*$' THEN
        what := 'event is not of the form word.word';
        hint := 'Use lower case words of a-z, 0-9 and _ joined by dots, such as payment.succeeded.';
    ELSIF payload IS NULL OR jsonb_typeof(payload) <> 'object' THEN
        what := 'payload is not a JSON object';
        hint := 'Pass a jsonb object, {} if there is nothing to add: it becomes "data" in the body.';
    ELSIF octet_length(payload::text) > 20480 THEN
        code := 'PR008';
        what := format('payload has %s bytes, at most 20480', octet_length(payload::text));
        hint := 'Send a reference and let the merchant fetch the rest.';
    ELSIF amount_minor NOT BETWEEN 0 AND largest THEN
        what := 'amount_minor is out of range';
        hint := 'Amounts are integers in the minor unit of the currency, 0 to 2^53-1.';
    ELSIF currency !~ '^[A-Z]{3}$' THEN
        what := 'currency is not an ISO 4217 code';
        hint := 'Pass three capitals, such as CNY.';
    ELSIF priority NOT BETWEEN 0 AND 2 THEN
        what := 'priority is not 0, 1 or 2';
        hint := 'Leave priority NULL to derive it from amount and merchant.';
    ELSIF status = '' OR length(status) > 64 OR status ~ '[[:cntrl:]]' THEN
        what := 'status is empty, longer than 64 characters or has control characters';
        hint := 'Leave status NULL to use the last word of the event.';
    ELSIF version NOT BETWEEN 0 AND largest THEN
        what := 'version is out of range';
        hint := 'Leave version NULL, or pass a number that grows per order, 0 to 2^53-1.';
    ELSIF length(idempotency_key) > 255 THEN
        code := 'PR008';
        what := 'idempotency_key is longer than 255 characters';
        hint := 'Use a hash of what makes the call unique.';
    ELSIF idempotency_key = '' THEN
        what := 'idempotency_key is empty';
        hint := 'Pass NULL for no key.';
    ELSIF length(notify_url) > 512 THEN
        code := 'PR008';
        what := 'notify_url is longer than 512 characters';
        hint := 'Shorten the URL.';
    ELSIF notify_url IS NOT NULL AND postrider.url_origin(notify_url) IS NULL THEN
        what := 'notify_url is not a URL that can be called';
        hint := 'Pass http(s)://host[:port]/path in ASCII, without user, password or spaces.';
    ELSE
        what := 'occurred_at is not a time between the years 1 and 9999';
        hint := 'Leave occurred_at out to use the transaction''s time.';
    END IF;
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = what, HINT = hint;
END $$;

-- As in 0002; a merchant_id that no merchant can have never meets an index.
CREATE OR REPLACE FUNCTION postrider.enqueue_notification(
    merchant_id text, order_no text, event text, payload jsonb,
    amount_minor bigint DEFAULT NULL, currency text DEFAULT NULL, priority int DEFAULT NULL,
    notify_url text DEFAULT NULL, idempotency_key text DEFAULT NULL,
    status text DEFAULT NULL, version bigint DEFAULT NULL, occurred_at timestamptz DEFAULT now()) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    new_id uuid;
    args bytea;
    known record;
    origin text;
BEGIN
    IF (length(order_no) BETWEEN 1 AND 64 AND order_no !~ '[[:cntrl:]]'
        AND length(event) <= 64 AND event ~ '^[a-z0-9_]+([.][a-z0-9_]+)*$'
        AND jsonb_typeof(payload) = 'object' AND octet_length(payload::text) <= 20480
        AND coalesce(amount_minor, 0) BETWEEN 0 AND 9007199254740991       -- 2^53 - 1: what every JSON reader keeps exact
        AND coalesce(version, 0) BETWEEN 0 AND 9007199254740991
        AND coalesce(priority, 0) BETWEEN 0 AND 2
        AND (currency IS NULL OR currency ~ '^[A-Z]{3}$')
        AND (status IS NULL OR length(status) BETWEEN 1 AND 64 AND status !~ '[[:cntrl:]]')
        AND (idempotency_key IS NULL OR length(idempotency_key) BETWEEN 1 AND 255)
        AND (notify_url IS NULL OR length(notify_url) <= 512 AND postrider.url_origin(notify_url) IS NOT NULL)
        AND occurred_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00') IS NOT TRUE THEN
        PERFORM postrider.enqueue_refuse(order_no, event, payload, amount_minor, currency, priority, notify_url, idempotency_key,
                                         status, version, occurred_at);
    END IF;

    IF idempotency_key IS NOT NULL THEN
        -- occurred_at as of this transaction is "not given": a later call with the defaults must be the same call.
        args := sha256(convert_to(jsonb_build_array(order_no, event, payload, amount_minor, currency, priority, notify_url,
            status, version, CASE WHEN occurred_at <> now() THEN extract(epoch FROM occurred_at) END)::text, 'UTF8'));
        new_id := gen_random_uuid();
        LOOP
            INSERT INTO postrider.idempotency AS i (merchant_id, function, key, args_hash, notify_id)
            SELECT merchant_id, 'enqueue_notification', idempotency_key, args, new_id
            WHERE length(merchant_id) <= 64
            ON CONFLICT DO NOTHING;      -- waits for another transaction with this key
            EXIT WHEN FOUND OR (length(merchant_id) <= 64) IS NOT TRUE;     -- nobody's: PR001 below
            SELECT i.args_hash, i.notify_id INTO known FROM postrider.idempotency AS i
            WHERE i.merchant_id = merchant_id AND i.function = 'enqueue_notification' AND i.key = idempotency_key;
            CONTINUE WHEN NOT FOUND;     -- retention took it between the two statements
            IF known.args_hash <> args THEN
                RAISE EXCEPTION USING ERRCODE = 'PR002',
                    MESSAGE = format('idempotency_key %L was used with other arguments', idempotency_key),
                    HINT = 'Use a new key for another notification, or repeat the first call exactly.';
            END IF;
            RETURN known.notify_id;
        END LOOP;
    END IF;

    -- At most 100 addresses of a merchant come from notify_url. The relay makes the rows, so those under way are not counted.
    IF notify_url IS NOT NULL THEN
        origin := postrider.url_origin(notify_url);
        IF (SELECT count(*) FROM postrider.endpoint AS e WHERE e.merchant_id = merchant_id AND e.id < 0) >= 100
           AND NOT EXISTS (SELECT FROM postrider.endpoint AS e WHERE e.id = postrider.notify_endpoint_id(merchant_id, origin)) THEN
            RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('merchant %L has 100 addresses from notify_url', merchant_id),
                HINT = 'Use a configured endpoint: leave notify_url NULL, and add one with postrider merchant add --endpoint.';
        END IF;
    END IF;

    -- The row and the bytes of every try: keys in the order of contracts.md; merchant_id and event need no escapes.
    INSERT INTO postrider.outbox AS o (id, class, merchant_id, order_no, event, status, version, notify_id, notify_url, body)
    OVERRIDING SYSTEM VALUE
    SELECT g.id,
           CASE WHEN priority IS NOT NULL THEN priority
                WHEN m.tier = 'vip' OR amount_minor >= r.large_minor THEN 0
                WHEN m.tier = 'small' OR amount_minor < r.small_minor THEN 2
                ELSE 1 END,
           merchant_id, order_no, event, g.status, coalesce(version, g.id), g.notify_id, notify_url,
           convert_to('{"notify_id":"' || g.notify_id || '","event":"' || event || '","merchant_id":"' || merchant_id
               || '","order_no":' || to_json(order_no) || ',"payment_id":null,"amount":' || coalesce(amount_minor::text, 'null')
               || ',"currency":' || coalesce('"' || currency || '"', 'null') || ',"status":' || to_json(g.status)
               || ',"version":' || coalesce(version, g.id) || ',"occurred_at":"'
               || to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
               || '","livemode":true,"failure":null,"extra":{},"data":' || payload::text || '}', 'UTF8')
    FROM postrider.merchant AS m
    LEFT JOIN postrider.priority_rule AS r ON r.currency = currency
    CROSS JOIN LATERAL (SELECT nextval('postrider.outbox_id_seq') AS id, coalesce(new_id, gen_random_uuid()) AS notify_id,
                               coalesce(status, split_part(event, '.', -1)) AS status) AS g
    WHERE m.id = merchant_id
    RETURNING o.notify_id INTO new_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)),
            HINT = 'Add it first: postrider merchant add ID --url URL.';
    END IF;
    RETURN new_id;
END $$;

-- Bounds are written as texts and read again: IST is a time of India in one style and of Israel in the parser's table.
ALTER FUNCTION postrider.ensure_partitions SET datestyle = 'ISO, MDY';
-- The audit's "before" has numbers as texts.
ALTER FUNCTION postrider.endpoint_set SET extra_float_digits = 1;
ALTER FUNCTION postrider.redrive_request SET extra_float_digits = 1;

RESET ROLE;
