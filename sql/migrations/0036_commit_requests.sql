-- 0036 commit requests: what determines a request that moves money, before it is first made; whose number a tracked payment has; a
--      channel's pause and its former owner's calls, for the next owner.
-- why:   a retry must send what was sent before, byte for byte (R6; docs/adr/0023-what-a-retry-sends.md). A payment that the application
--        charged is asked about, closed and refunded by its one number, and only the application knows whether the gateway calls it
--        its own or ours. A 429 and the number of calls at a time are the channel's, not its owner's.
-- locks: payment ACCESS EXCLUSIVE for an instant (a column with a constant default); functions are replaced.
-- undo:  calls_dispatch, call_refuse, call_apply, calls_channels as in 0024, payment_check, payment_insert as in 0023; DROP FUNCTION
--        channel_config, calls_pause, calls_orphaned; DROP TABLE call_request, channel_pause; ALTER TABLE payment DROP COLUMN number_ours.

SET LOCAL ROLE postrider_owner;

-- tracked payments ------------------------------------------------------------------------------------------------

-- Of a tracked payment: gateway_reference is what the gateway calls the merchant's number (option number: ours), not its own.
ALTER TABLE postrider.payment ADD COLUMN number_ours boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION postrider.payment_check(merchant_id text, order_no text, channel text, reference text, amount_minor bigint, currency text,
                                        request jsonb, options jsonb) RETURNS postrider.channel
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    c postrider.channel;
    code text := 'PR003';
    what text;
    hint text;
    k text;
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.merchant AS m WHERE m.id = merchant_id AND length(merchant_id) <= 64) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)),
            HINT = 'Add it first: postrider merchant add ID --url URL.';
    END IF;
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = channel AND length(channel) <= 64;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(channel, 80)),
            HINT = 'Add it first: postrider channel add ID --profile NAME --base-url URL.';
    END IF;
    SELECT o.key INTO k FROM jsonb_object_keys(CASE jsonb_typeof(options) WHEN 'object' THEN options ELSE '{}' END) AS o (key)
    WHERE o.key NOT IN ('notify_url', 'priority', 'extra', 'app_ref', 'intent', 'on_expiry', 'livemode', 'expires_at', 'number') LIMIT 1;
    IF order_no IS NULL OR order_no = '' OR order_no ~ '[[:cntrl:]]' THEN
        what := 'order_no is missing or has control characters';
        hint := 'Pass the order''s number: 1 to 64 printable characters.';
    ELSIF length(order_no) > 64 THEN
        code := 'PR008';
        what := 'order_no is longer than 64 characters';
        hint := 'Shorten order_no.';
    ELSIF amount_minor IS NULL OR amount_minor NOT BETWEEN 0 AND 9007199254740991 THEN
        what := 'amount_minor is missing or out of range';
        hint := 'Amounts are integers in the minor unit of the currency, 0 to 2^53-1.';
    ELSIF currency IS NULL OR currency !~ '^[A-Z]{3}$' THEN
        what := 'currency is not an ISO 4217 code';
        hint := 'Pass three capitals, such as CNY.';
    ELSIF reference IS NOT NULL AND (octet_length(reference) NOT BETWEEN 1 AND 127 OR reference ~ '[[:cntrl:]]') THEN
        what := 'gateway_reference is empty, longer than 127 bytes or has control characters';
        hint := 'Pass the number that the gateway knows the payment by.';
    ELSIF jsonb_typeof(request) IS DISTINCT FROM 'object' THEN
        what := 'request is not a JSON object';
        hint := 'Pass what the channel''s profile takes from request, {} if nothing.';
    ELSIF octet_length(request::text) > 20480 THEN
        code := 'PR008';
        what := format('request has %s bytes, at most 20480', octet_length(request::text));
        hint := 'Leave in it only what the gateway needs.';
    ELSIF jsonb_typeof(options) IS DISTINCT FROM 'object' THEN
        what := 'options is not a JSON object';
        hint := 'Pass {} for none.';
    ELSIF k IS NOT NULL THEN
        what := format('%L is no option', left(k, 80));
        hint := 'Options are notify_url, priority, extra, app_ref, intent, on_expiry, livemode, expires_at, number.';
    ELSIF EXISTS (SELECT FROM jsonb_each(options) AS o
                  WHERE jsonb_typeof(o.value) <> CASE o.key WHEN 'priority' THEN 'number' WHEN 'extra' THEN 'object' WHEN 'livemode' THEN 'boolean' ELSE 'string' END)
          OR options ->> 'priority' NOT IN ('0', '1', '2') OR options ->> 'on_expiry' NOT IN ('close', 'manual') OR options ->> 'number' NOT IN ('ours', 'gateway')
          OR length(options ->> 'intent') NOT BETWEEN 1 AND 64 OR length(options ->> 'app_ref') NOT BETWEEN 1 AND 128 THEN
        what := 'an option has a value that it does not take';
        hint := 'notify_url text, priority 0 to 2, extra object, app_ref text (128), intent text (64), on_expiry close or manual, livemode boolean, number ours or gateway.';
    ELSIF options ? 'number' AND reference IS NULL THEN
        what := 'number is an option of track_payment';
        hint := 'A payment that Postrider charges has a number of ours and gets one of the gateway''s.';
    ELSIF octet_length(options ->> 'extra') > 20480 THEN
        code := 'PR008';
        what := 'extra is longer than 20480 bytes';
        hint := 'Pass on a reference and let the merchant fetch the rest.';
    ELSIF length(options ->> 'notify_url') > 512 THEN
        code := 'PR008';
        what := 'notify_url is longer than 512 characters';
        hint := 'Shorten the URL.';
    ELSIF options ? 'notify_url' AND postrider.url_origin(options ->> 'notify_url') IS NULL THEN
        what := 'notify_url is not a URL that can be called';
        hint := 'Pass http(s)://host[:port]/path in ASCII, without user, password or spaces.';
    ELSIF options ? 'notify_url' AND (SELECT count(*) FROM postrider.endpoint AS e WHERE e.merchant_id = merchant_id AND e.id < 0) >= 100
          AND NOT EXISTS (SELECT FROM postrider.endpoint AS e
                          WHERE e.id = postrider.notify_endpoint_id(merchant_id, postrider.url_origin(options ->> 'notify_url'))) THEN
        what := format('merchant %L has 100 addresses from notify_url', merchant_id);
        hint := 'Use a configured endpoint.';
    ELSIF (options ->> 'livemode')::boolean <> c.livemode THEN
        what := format('channel %L is %s', channel, CASE WHEN c.livemode THEN 'live' ELSE 'for tests' END);
        hint := 'Leave livemode out, or use another channel.';
    END IF;
    IF what IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = code, MESSAGE = what, HINT = hint;
    END IF;
    RETURN c;
END $$;

CREATE OR REPLACE FUNCTION postrider.payment_insert(c postrider.channel, merchant_id text, order_no text, reference text, request_no text, amount_minor bigint,
                                         currency text, request jsonb, expires timestamptz, options jsonb, args bytea, OUT id bigint, OUT fresh boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    known record;
    odd CONSTANT boolean := postrider.currency_exponent(currency) IS NULL AND NOT c.exponents ? currency;
BEGIN
    LOOP
        INSERT INTO postrider.payment AS p (merchant_id, order_no, channel, channel_no, intent, state, manual, manual_reason, amount_minor, currency,
            version, gateway_reference, request_no, request, webhook_url, app_ref, notify_url, priority, extra, on_expiry, livemode, single, expires_at,
            args_hash, number_ours)
        VALUES (merchant_id, order_no, c.id, c.no, coalesce(options ->> 'intent', '1'), CASE WHEN request_no IS NULL THEN 'processing' ELSE 'created' END,
            odd, CASE WHEN odd THEN 'UNKNOWN_CURRENCY' END, amount_minor, currency, nextval('postrider.outbox_id_seq'), reference, request_no, request::text,
            c.notify_url, options ->> 'app_ref', options ->> 'notify_url', (options ->> 'priority')::smallint, coalesce(options -> 'extra', '{}'),
            coalesce(options ->> 'on_expiry', 'close'), c.livemode, c.order_policy = 'single', expires, args,
            coalesce(options ->> 'number', '') = 'ours')
        ON CONFLICT DO NOTHING RETURNING p.id INTO id;
        fresh := FOUND;
        EXIT WHEN fresh;
        SELECT p.id, p.args_hash INTO known FROM postrider.payment AS p
        WHERE p.request_no = request_no OR p.channel_no = c.no AND p.gateway_reference = reference;
        IF FOUND THEN
            IF known.args_hash <> args THEN
                RAISE EXCEPTION USING ERRCODE = 'PR002', MESSAGE = 'this payment is known with other arguments',
                    HINT = 'Repeat the first call exactly; a corrected payment is a new one (option intent).';
            END IF;
            id := known.id;
            RETURN;
        ELSIF EXISTS (SELECT FROM postrider.payment AS p WHERE p.merchant_id = merchant_id AND p.order_no = order_no AND p.single
                      AND p.request_no IS NOT NULL AND p.state IN ('created', 'processing', 'succeeded')) THEN
            PERFORM postrider.order_refuse(order_no);
        END IF;
    END LOOP;
    IF odd THEN
        PERFORM postrider.task_open('payment_review', id::text, 'MANUAL', 'inspection', merchant_id, order_no, id, 'UNKNOWN_CURRENCY',
                                    format('%s is no currency that Postrider knows', currency), '{}');
    END IF;
END $$;

-- requests --------------------------------------------------------------------------------------------------------

-- The bytes of a request follow from the payment (which stays what it is), the channel's account and addresses (config), and the time that
-- stands in it (built_at). The first outcome says what they were (sha256); from then on a worker sends nothing else. Without that
-- word (its worker died) a request is made again only while config is the same.
CREATE TABLE postrider.call_request (
    payment_id bigint NOT NULL, refund_id bigint NOT NULL, operation text NOT NULL,     -- refund_id 0: about the payment
    config bytea NOT NULL,
    built_at timestamptz NOT NULL DEFAULT date_trunc('second', clock_timestamp()),
    sha256 text CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    PRIMARY KEY (payment_id, refund_id, operation)
);
CREATE FUNCTION postrider.call_request_before() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (NEW.payment_id, NEW.refund_id, NEW.operation) <> (OLD.payment_id, OLD.refund_id, OLD.operation)
       OR OLD.sha256 IS NOT NULL AND (NEW.config, NEW.built_at, NEW.sha256) IS DISTINCT FROM (OLD.config, OLD.built_at, OLD.sha256) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'a request stays what it was', HINT = 'What is to be sent differently is a new intent.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER call_request_before BEFORE UPDATE ON postrider.call_request FOR EACH ROW EXECUTE FUNCTION postrider.call_request_before();
CREATE TRIGGER call_request_kept BEFORE DELETE OR TRUNCATE ON postrider.call_request FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

CREATE FUNCTION postrider.channel_config(c postrider.channel) RETURNS bytea
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT sha256(convert_to(jsonb_build_array(c.profile, c.base_url, c.account, c.exponents, postrider.channel_parameters(c.id))::text, 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION postrider.call_refuse(c postrider.channel, p postrider.payment, r postrider.refund, k postrider.call) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF k.refund_id IS NULL AND p.state IN ('succeeded', 'failed', 'cancelled') OR k.refund_id IS NOT NULL AND r.state NOT IN ('created', 'processing') THEN
        DELETE FROM postrider.call AS x WHERE x.id = k.id;
        RETURN CASE WHEN k.refund_id IS NULL THEN 'payment final' ELSE 'refund final' END;
    ELSIF c.state <> 'active' THEN
        RETURN 'channel ' || c.state;
    ELSIF k.operation = 'expire' OR NOT k.operation = ANY (c.operations) THEN
        IF k.operation = 'query' AND p.expires_at > clock_timestamp() THEN
            PERFORM postrider.call_put(p, NULL, 'expire', p.expires_at - clock_timestamp(), 'webhooks_only');
            RETURN 'the channel cannot be asked';
        ELSIF k.refund_id IS NOT NULL THEN
            PERFORM postrider.refund_to_person(p, r, 'CANNOT_ASK', '{}');
        ELSE
            PERFORM postrider.payment_to_person(p, 'EXPIRED_UNKNOWN', '{}');
        END IF;
        RETURN 'with a person';
    ELSIF k.operation = 'charge' AND p.sent_at IS NULL AND p.expires_at <= clock_timestamp() THEN
        PERFORM postrider.payment_apply(c, p, 'expiry', jsonb_build_object('status', 'CANCELLED', 'reason', 'expired_before_it_was_sent'), NULL);
        RETURN 'expired';
    ELSIF k.operation IN ('charge', 'capture') AND p.manual THEN
        DELETE FROM postrider.call AS x WHERE x.id = k.id;
        RETURN 'with a person';
    -- R2: never sent a second time unless a question has confirmed that the first did nothing (or it was handed back untried)
    ELSIF k.operation = 'charge' AND p.sent_at IS NOT NULL AND (k.reason NOT IN ('confirmed_not_charged', 'returned') OR p.expires_at <= clock_timestamp())
          OR k.operation = 'refund' AND r.sent_at IS NOT NULL AND k.reason NOT IN ('confirmed_not_charged', 'returned', 'refused_untried') THEN
        PERFORM postrider.call_put(p, k.refund_id, CASE k.operation WHEN 'charge' THEN 'query' ELSE 'query_refund' END, interval '0', 'ask_first');
        RETURN 'asked first';
    ELSIF k.operation IN ('charge', 'capture', 'refund') AND EXISTS (
            SELECT FROM postrider.call_request AS q WHERE q.payment_id = p.id AND q.refund_id = coalesce(k.refund_id, 0) AND q.operation = k.operation
            AND q.sha256 IS NULL AND q.config <> postrider.channel_config(c) AND k.tries > 0) THEN
        IF k.refund_id IS NULL THEN
            PERFORM postrider.payment_to_person(p, 'REQUEST_MAY_DIFFER', '{}');
        ELSE
            PERFORM postrider.refund_to_person(p, r, 'REQUEST_MAY_DIFFER', '{}');
        END IF;
        RETURN 'with a person';
    END IF;
    RETURN NULL;
END $$;

DROP FUNCTION postrider.calls_dispatch(uuid, bigint[], int[]);
CREATE FUNCTION postrider.calls_dispatch(session uuid, call_ids bigint[], lease_ms int[])
RETURNS TABLE (call_id bigint, dropped text, salt bigint, attempt int, channel text, class int, operation text, payment_id bigint, refund_id bigint,
               request_no text, reference text, refund_no text, refund_reference text, order_no text, currency text, description text, reason text,
               notify_url text, return_url text, amount_minor bigint, refund_minor bigint, expires_at_us bigint, request text, paid_before boolean,
               age_ms bigint, expires_ms bigint, polls int, sooner int, polled_at_expiry boolean, tries int, failures int,
               built_at_us bigint, request_sha256 text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    locked bigint[];
    k postrider.call;
    p postrider.payment;
    r postrider.refund;
    c postrider.channel;
    lease interval;
    money boolean;
    q postrider.call_request;
BEGIN
    PERFORM postrider.call_fence($1);
    -- payments first, in order; one that somebody else holds just now keeps its call for the next time
    locked := ARRAY(SELECT x.id FROM postrider.payment AS x
                    WHERE x.id = ANY (ARRAY(SELECT y.payment_id FROM postrider.call AS y WHERE y.id = ANY ($2)))
                    ORDER BY x.id FOR NO KEY UPDATE SKIP LOCKED);
    FOR k IN SELECT x.* FROM postrider.call AS x WHERE x.id = ANY ($2) AND x.payment_id = ANY (locked) AND x.lease_until IS NULL
             ORDER BY x.id FOR UPDATE SKIP LOCKED LOOP
        SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = k.payment_id;
        SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = k.refund_id;
        SELECT x.* INTO c FROM postrider.channel AS x JOIN postrider.call_shard AS h ON h.no = x.shard AND h.session = $1 WHERE x.no = k.channel_no;
        CONTINUE WHEN NOT FOUND;
        call_id := k.id;
        dropped := postrider.call_refuse(c, p, r, k);
        IF dropped IS NOT NULL THEN
            RETURN QUERY SELECT k.id, dropped, NULL::bigint, NULL::int, c.id, NULL::int, k.operation, p.id, r.id, NULL::text, NULL::text, NULL::text, NULL::text,
                NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::boolean,
                NULL::bigint, NULL::bigint, NULL::int, NULL::int, NULL::boolean, NULL::int, NULL::int, NULL::bigint, NULL::text;
            CONTINUE;
        END IF;
        lease := $3[array_position($2, k.id)] * interval '1 ms';
        money := k.operation IN ('charge', 'capture', 'refund');
        UPDATE postrider.call AS x
        SET due = NULL, lease_until = clock_timestamp() + lease, dispatched_at = clock_timestamp(), session = $1, attempt = x.attempt + 1,
            tries = x.tries + money::int,
            settle_at = CASE WHEN money THEN clock_timestamp() + lease + postrider.scaled(c.settle_ms) ELSE x.settle_at END
        WHERE x.id = k.id RETURNING x.* INTO k;
        q := NULL;
        IF money THEN                 -- what determines the request's bytes, committed before the first of its calls
            INSERT INTO postrider.call_request AS x (payment_id, refund_id, operation, config)
            VALUES (p.id, coalesce(r.id, 0), k.operation, postrider.channel_config(c))
            ON CONFLICT ON CONSTRAINT call_request_pkey DO UPDATE SET config = excluded.config, built_at = excluded.built_at
            WHERE k.tries = 1 AND x.sha256 IS NULL;                  -- handed back untried: this one is the first
            SELECT x.* INTO q FROM postrider.call_request AS x
            WHERE x.payment_id = p.id AND x.refund_id = coalesce(r.id, 0) AND x.operation = k.operation;
        END IF;
        IF k.operation = 'refund' THEN
            UPDATE postrider.refund AS x SET state = 'processing', sent_at = coalesce(x.sent_at, clock_timestamp()), updated_at = now() WHERE x.id = r.id;
        ELSIF money AND p.sent_at IS NULL THEN
            UPDATE postrider.payment AS x SET state = 'processing', sent_at = clock_timestamp(), updated_at = now(),
                   version = nextval('postrider.outbox_id_seq') WHERE x.id = p.id RETURNING x.* INTO p;
            PERFORM postrider.history_add(p, NULL, 'postrider', NULL, 'sent', 'created', p.state, jsonb_build_object('request_no', p.request_no));
        END IF;
        RETURN QUERY SELECT k.id, NULL::text, k.salt, k.attempt, c.id, k.class::int, k.operation, p.id, r.id,
            coalesce(p.request_no, CASE WHEN p.number_ours THEN p.gateway_reference END), CASE WHEN NOT p.number_ours THEN p.gateway_reference END, r.gateway_no,
            r.gateway_reference, p.order_no, p.currency, p.request::jsonb ->> 'description', r.reason, p.webhook_url, p.request::jsonb ->> 'return_url',
            p.amount_minor, r.amount_minor, (extract(epoch FROM p.expires_at) * 1000000)::bigint, p.request, p.paid_before,
            (extract(epoch FROM clock_timestamp() - p.created_at) * 1000)::bigint, (extract(epoch FROM p.expires_at - p.created_at) * 1000)::bigint,
            k.polls, k.sooner, k.at_expiry, k.tries, k.failures, (extract(epoch FROM q.built_at) * 1000000)::bigint, q.sha256;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION postrider.call_apply(result jsonb, OUT verdict text, OUT next text, OUT next_in interval, OUT channel text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    p postrider.payment;
    c postrider.channel;
    k postrider.call;
    own boolean;
    about CONSTANT text := CASE WHEN result ->> 'operation' IN ('refund', 'query_refund') THEN 'refund' ELSE 'payment' END;
    e CONSTANT jsonb := coalesce(result -> 'evidence', '{}') || jsonb_build_object('object', about, 'asked', true);
BEGIN
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = (result ->> 'payment_id')::bigint FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        verdict := 'ignored: unknown payment';
        next := 'none: gone';
        RETURN;
    END IF;
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.no = p.channel_no;
    channel := c.id;
    SELECT x.* INTO k FROM postrider.call AS x WHERE x.id = (result ->> 'call_id')::bigint FOR UPDATE;
    own := k.lease_until IS NOT NULL AND k.salt = (result ->> 'salt')::bigint AND k.attempt = (result ->> 'attempt')::int;
    own := coalesce(own, false);
    IF coalesce((result ->> 'returned')::boolean, false) THEN
        verdict := CASE WHEN own THEN 'returned' ELSE 'stale token: returned' END;
        next := 'none: stale token';
        IF own THEN
            UPDATE postrider.call AS x SET due = clock_timestamp(), lease_until = NULL, session = NULL, reason = 'returned',
                   tries = x.tries - CASE WHEN k.operation IN ('charge', 'capture', 'refund') THEN 1 ELSE 0 END
            WHERE x.id = k.id RETURNING x.operation, interval '0' INTO next, next_in;
        END IF;
        RETURN;
    END IF;
    IF e ->> 'request_sha256' ~ '^[0-9a-f]{64}$' THEN       -- what was sent first is what may be sent again
        UPDATE postrider.call_request AS q SET sha256 = e ->> 'request_sha256'
        WHERE q.payment_id = p.id AND q.refund_id = coalesce((result ->> 'refund_id')::bigint, 0) AND q.operation = result ->> 'operation' AND q.sha256 IS NULL;
    END IF;
    verdict := postrider.apply_evidence(p.id, (result ->> 'refund_id')::bigint, result ->> 'operation', e, NULL);
    IF own THEN
        SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = p.id;
        SELECT x.* INTO k FROM postrider.call AS x WHERE x.id = k.id;
        IF NOT FOUND THEN                  -- the door has ended it
            next := CASE WHEN p.manual OR EXISTS (SELECT FROM postrider.refund AS r WHERE r.id = (result ->> 'refund_id')::bigint AND r.manual)
                         THEN 'none: with a person' ELSE 'none: final' END;
        ELSE
            SELECT f.next, f.next_in INTO next, next_in
            FROM postrider.call_follow(c, p, k, verdict, jsonb_set(result, '{evidence}', e)) AS f;
        END IF;
    ELSE
        verdict := 'stale token: ' || verdict;
        next := 'none: stale token';
    END IF;
    INSERT INTO postrider.call_log (channel_no, payment_id, refund_id, operation, attempt, dispatched_at, duration_ms, http_status, transport, status, action,
                                    reason, verdict, next)
    VALUES (p.channel_no, p.id, (result ->> 'refund_id')::bigint, result ->> 'operation', coalesce((result ->> 'attempt')::int, 0),
            CASE WHEN own THEN k.dispatched_at END, (e ->> 'duration_ms')::int, (e ->> 'http_status')::int, e ->> 'transport', e ->> 'status', e ->> 'action',
            e ->> 'reason', verdict, next);
END $$;

-- the next owner --------------------------------------------------------------------------------------------------

-- A gateway's wish to be left alone. Apart from the channel's row, whose every change is a new version that all read again.
CREATE TABLE postrider.channel_pause (channel_no int PRIMARY KEY, until timestamptz NOT NULL);

CREATE FUNCTION postrider.calls_pause(session uuid, channel text, ms bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
BEGIN
    PERFORM postrider.call_fence(session);
    INSERT INTO postrider.channel_pause AS p (channel_no, until)
    SELECT c.no, clock_timestamp() + least(ms, 86400000) * interval '1 ms' FROM postrider.channel AS c WHERE c.id = channel
    ON CONFLICT (channel_no) DO UPDATE SET until = greatest(p.until, excluded.until);
END $$;

DROP FUNCTION postrider.calls_channels(uuid, text[], bigint[]);
CREATE FUNCTION postrider.calls_channels(session uuid, known text[], versions bigint[])
RETURNS TABLE (channel text, version bigint, shard smallint, state text, profile text, base_url text, tls_ca text, parameters jsonb, exponents jsonb,
               rate_per_s double precision, burst int, concurrency int, polls text, max_polls int, charge_retry text, query_supported boolean, paused_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.id, c.version, c.shard, c.state, c.profile, c.base_url, c.tls_ca, postrider.channel_parameters(c.id), c.exponents, c.rate_per_s, c.burst,
           c.concurrency, c.polls, c.max_polls, c.charge_retry, 'query' = ANY (c.operations),
           (SELECT greatest(0, (extract(epoch FROM x.until - clock_timestamp()) * 1000)::bigint) FROM postrider.channel_pause AS x WHERE x.channel_no = c.no)
    FROM postrider.channel AS c JOIN postrider.call_shard AS h ON h.no = c.shard AND h.session = $1
    WHERE NOT EXISTS (SELECT FROM unnest($2, $3) AS k (id, version) WHERE k.id = c.id AND k.version = c.version)
    ORDER BY c.id
$$;

-- Calls of the session's shards that an owner which is gone had under way: some worker may be making them. Read before their leases are
-- ended (calls_expire_leases).
CREATE FUNCTION postrider.calls_orphaned(session uuid)
RETURNS TABLE (call_id bigint, channel text, class int, salt bigint, attempt int, operation text, payment_id bigint, refund_id bigint, age_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT d.id, c.id, d.class::int, d.salt, d.attempt, d.operation, d.payment_id, d.refund_id,
           (extract(epoch FROM clock_timestamp() - d.dispatched_at) * 1000)::bigint
    FROM postrider.channel AS c JOIN postrider.call_shard AS h ON h.no = c.shard AND h.session = $1
    CROSS JOIN LATERAL (SELECT k.* FROM postrider.call AS k WHERE k.channel_no = c.no AND k.lease_until IS NOT NULL
                        ORDER BY k.lease_until DESC LIMIT 1000) AS d        -- 1000: the most at a time that a channel may have
    WHERE d.session <> $1 AND NOT EXISTS (SELECT FROM postrider.call_session AS s WHERE s.id = d.session AND s.ended IS NULL)
$$;

REVOKE ALL ON FUNCTION postrider.calls_dispatch, postrider.calls_channels, postrider.calls_pause, postrider.calls_orphaned, postrider.channel_config,
    postrider.call_request_before FROM PUBLIC;
GRANT EXECUTE ON FUNCTION postrider.calls_dispatch, postrider.calls_channels, postrider.calls_pause, postrider.calls_orphaned TO postrider_gateway_scheduler;
GRANT SELECT ON postrider.call_request, postrider.channel_pause TO postrider_console;

RESET ROLE;
