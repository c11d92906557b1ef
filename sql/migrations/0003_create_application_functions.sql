-- 0003 create application functions: enqueue_notification, cancel_notification and what they stand on.
-- why:   the only doors through which an application's transaction enters (contracts.md, "SQL").
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.
--
-- SECURITY DEFINER, owned by postrider_owner, search_path fixed. They raise only for programming errors (SQLSTATE PRnnn
-- with a HINT), never for the state of an endpoint or an actor. enable_seqscan is off inside: a plan that a long-lived
-- session made while the tables were empty must not stay with it.

SET LOCAL ROLE postrider_owner;

-- The id of a notify_url's endpoint: two relays that meet the same origin make the same row.
CREATE FUNCTION postrider.notify_endpoint_id(merchant_id text, origin text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT -greatest(1, (('x' || encode(substr(sha256(convert_to(merchant_id || E'\x1f' || origin, 'UTF8')), 1, 8), 'hex'))
                         ::bit(64) >> 1)::bigint)
$$;

-- Has the relay handed this row over? By the class' last tick, in the caller's snapshot.
CREATE FUNCTION postrider.is_moved(class smallint, tx xid8, id bigint) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN t.more
                THEN pg_visible_in_snapshot($2, t.lo) OR (pg_visible_in_snapshot($2, t.hi) AND ($2, $3) <= (t.dt, t.di))
                ELSE pg_visible_in_snapshot($2, t.hi) END
    FROM postrider.tick AS t WHERE t.class = $1 ORDER BY t.n DESC LIMIT 1
$$;

-- Says what is wrong with the arguments of enqueue_notification. Apart from it because PL/pgSQL prepares every expression of a
-- function anew in each transaction: the hot path has four.
CREATE FUNCTION postrider.enqueue_refuse(
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

CREATE FUNCTION postrider.enqueue_notification(
    merchant_id text, order_no text, event text, payload jsonb,
    amount_minor bigint DEFAULT NULL, currency text DEFAULT NULL, priority int DEFAULT NULL,
    notify_url text DEFAULT NULL, idempotency_key text DEFAULT NULL,
    status text DEFAULT NULL, version bigint DEFAULT NULL, occurred_at timestamptz DEFAULT now()) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    new_id uuid;
    new_no bigint;
    args bytea;
    known record;
    origin text;
BEGIN
    -- What each call has; then what few have: PL/pgSQL sets an expression up anew in each transaction, so what is not reached is free.
    IF (length(order_no) BETWEEN 1 AND 64 AND order_no !~ '[[:cntrl:]]'
        AND length(event) <= 64 AND event ~ '^[a-z0-9_]+([.][a-z0-9_]+)*$'
        AND jsonb_typeof(payload) = 'object' AND octet_length(payload::text) <= 20480
        AND occurred_at BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00') IS NOT TRUE
       OR amount_minor NOT BETWEEN 0 AND 9007199254740991       -- 2^53 - 1: what every JSON reader keeps exact
       OR currency !~ '^[A-Z]{3}$' THEN                         -- NULL: not given
        PERFORM postrider.enqueue_refuse(order_no, event, payload, amount_minor, currency, priority, notify_url, idempotency_key,
                                         status, version, occurred_at);
    END IF;
    IF priority IS NOT NULL OR version IS NOT NULL OR status IS NOT NULL OR idempotency_key IS NOT NULL OR notify_url IS NOT NULL THEN
        IF priority NOT BETWEEN 0 AND 2 OR version NOT BETWEEN 0 AND 9007199254740991
           OR length(status) NOT BETWEEN 1 AND 64 OR status ~ '[[:cntrl:]]'
           OR length(idempotency_key) NOT BETWEEN 1 AND 255
           OR notify_url IS NOT NULL AND (length(notify_url) > 512 OR postrider.url_origin(notify_url) IS NULL) THEN
            PERFORM postrider.enqueue_refuse(order_no, event, payload, amount_minor, currency, priority, notify_url,
                                             idempotency_key, status, version, occurred_at);
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
    END IF;

    -- The row and the bytes of every try: keys in the order of contracts.md; merchant_id and event need no escapes.
    new_no := nextval('postrider.outbox_id_seq');
    new_id := coalesce(new_id, gen_random_uuid());
    INSERT INTO postrider.outbox (id, class, merchant_id, order_no, event, status, version, notify_id, notify_url, body)
    OVERRIDING SYSTEM VALUE
    SELECT new_no,
           CASE WHEN priority IS NOT NULL THEN priority
                WHEN m.tier = 'vip' OR amount_minor >= r.large_minor THEN 0
                WHEN m.tier = 'small' OR amount_minor < r.small_minor THEN 2
                ELSE 1 END,
           merchant_id, order_no, event, g.status, g.version, new_id, notify_url,
           convert_to('{"notify_id":"' || new_id || '","event":"' || event || '","merchant_id":"' || merchant_id
               || '","order_no":' || to_json(order_no) || ',"payment_id":null,"amount":' || coalesce(amount_minor::text, 'null')
               || ',"currency":' || coalesce('"' || currency || '"', 'null') || ',"status":' || to_json(g.status)
               || ',"version":' || g.version || ',"occurred_at":"'
               || to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
               || '","livemode":true,"failure":null,"extra":{},"data":' || payload::text || '}', 'UTF8')
    FROM postrider.merchant AS m
    LEFT JOIN postrider.priority_rule AS r ON r.currency = currency
    CROSS JOIN LATERAL (SELECT coalesce(status, split_part(event, '.', -1)) AS status, coalesce(version, new_no) AS version) AS g
    WHERE m.id = merchant_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)),
            HINT = 'Add it first: postrider merchant add ID --url URL.';
    END IF;
    RETURN new_id;
END $$;
COMMENT ON FUNCTION postrider.enqueue_notification IS
    'Notify a merchant when this transaction commits. Errors: PR001 merchant, PR002 key reused, PR003 argument, PR008 too large.';

-- True when the wish is recorded: something was still to be sent. A delivery under way may win.
-- Deliveries that wait lose their job here. For a row that the relay has not handed over in this snapshot the wish is
-- written on the row, and a row of kind 2 follows it through the outbox: should the relay be handing the row over at this
-- instant without seeing the wish, kind 2 comes after it in the same class and takes the jobs back.
-- The jobs are locked by their DELETE: one index read in order of seq, so no bitmap.
CREATE FUNCTION postrider.cancel_notification(notify_id uuid, reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_variable
DECLARE
    why CONSTANT text := coalesce(left(nullif(reason, ''), 500), 'cancelled');
    o record;
    waits boolean := false;
    follow boolean := false;
    deleted bigint;
BEGIN
    -- OFFSET 0: else the order would be had by reading the index on id instead of that on notify_id
    FOR o IN SELECT * FROM (SELECT b.at, b.id, b.tx, b.class FROM postrider.outbox AS b
                            WHERE b.notify_id = notify_id AND b.kind IN (0, 1) OFFSET 0) AS x ORDER BY x.id LOOP
        CONTINUE WHEN postrider.is_moved(o.class, o.tx, o.id);
        waits := true;
        UPDATE postrider.outbox AS b SET cancel_at = clock_timestamp(), cancel_reason = why
        WHERE b.at = o.at AND b.id = o.id AND b.cancel_at IS NULL;
        follow := follow OR FOUND;
    END LOOP;
    IF follow THEN
        INSERT INTO postrider.outbox (class, kind, merchant_id, order_no, event, status, version, notify_id, body,
                                      cancel_reason, ref_at, ref_id)
        SELECT b.class, 2, b.merchant_id, b.order_no, b.event, b.status, b.version, b.notify_id, '', why, b.at, b.id
        FROM (SELECT * FROM postrider.outbox UNION ALL SELECT * FROM postrider.outbox_kept) AS b
        WHERE b.notify_id = notify_id AND b.kind = 0 LIMIT 1;
    END IF;
    WITH d AS (
        DELETE FROM postrider.job AS n WHERE n.seq = ANY (ARRAY(
            SELECT j.seq
            FROM (SELECT b.id FROM postrider.outbox AS b WHERE b.notify_id = notify_id AND b.kind = 0
                  UNION ALL SELECT k.id FROM postrider.outbox_kept AS k WHERE k.notify_id = notify_id AND k.kind = 0) AS b
            CROSS JOIN LATERAL (SELECT x.seq FROM postrider.job AS x WHERE x.outbox_id = b.id OFFSET 0) AS j))
        RETURNING n.outbox_id, n.endpoint, n.outbox_at
    )
    INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason)
    SELECT d.outbox_id, d.endpoint, d.outbox_at, why FROM d ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN waits OR deleted > 0;
END $$;

RESET ROLE;
