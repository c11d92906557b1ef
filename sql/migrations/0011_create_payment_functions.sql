-- 0011 create payment functions: what applications call inside their own transactions (docs: README, contracts).
-- why:   a payment and the search for its end begin in one transaction; repeats have one effect.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.
--
-- Errors: PR001 unknown merchant, PR002 key reused, PR003 invalid argument, PR004 unknown channel, PR005 another payment of this order,
-- PR006 move not allowed, PR007 more than is left, PR008 too large.

SET LOCAL ROLE postrider_owner;

-- What both births check. Returns the channel.
CREATE FUNCTION postrider.payment_check(merchant_id text, order_no text, channel text, reference text, amount_minor bigint, currency text,
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

-- A time that an option or argument names; must be later than now and before the year 10000.
CREATE FUNCTION postrider.expiry_of(c postrider.channel, given timestamptz, options jsonb) RETURNS timestamptz
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, MDY' AS $$
DECLARE
    at timestamptz := given;
BEGIN
    IF at IS NULL AND options ? 'expires_at' THEN
        BEGIN
            at := options ->> 'expires_at';
        EXCEPTION WHEN data_exception THEN
            at := '-infinity';
        END;
    END IF;
    IF at IS NOT NULL AND at NOT BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59+00' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'expires_at is not a time between the years 1 and 9999',
            HINT = 'Leave it out to use the channel''s.';
    END IF;
    RETURN coalesce(at, now() + postrider.scaled(c.expires_ms));
END $$;

-- The one row of a birth: inserted, or the earlier one with the same key and arguments. Waits for another transaction with this key.
CREATE FUNCTION postrider.payment_insert(c postrider.channel, merchant_id text, order_no text, reference text, request_no text, amount_minor bigint,
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

CREATE FUNCTION postrider.order_refuse(order_no text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PR005', MESSAGE = format('another payment of order %L is open or succeeded', order_no),
        HINT = 'Wait until it has failed or is cancelled (cancel_payment); order_policy many allows several at once.';
END $$;

-- Webhooks may have been faster than the application's commit.
CREATE FUNCTION postrider.payment_adopt(payment_id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    p postrider.payment;
    one bigint;
BEGIN
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = payment_id;
    FOR one IN SELECT DISTINCT o.webhook_id FROM postrider.webhook_orphan AS o
               WHERE o.channel_no = p.channel_no AND o.number = ANY (ARRAY[p.request_no, p.gateway_reference]) ORDER BY o.webhook_id LOOP
        PERFORM postrider.webhook_redrive(one);
    END LOOP;
END $$;

CREATE FUNCTION postrider.track_payment(merchant_id text, order_no text, channel text, gateway_reference text, amount_minor bigint, currency text,
                                        expires_at timestamptz DEFAULT NULL, options jsonb DEFAULT '{}') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    c CONSTANT postrider.channel := postrider.payment_check(merchant_id, order_no, channel, coalesce(gateway_reference, ''), amount_minor, currency, '{}', options);
    born record;
    p postrider.payment;
BEGIN
    born := postrider.payment_insert(c, merchant_id, order_no, gateway_reference, NULL, amount_minor, currency, '{}',
        postrider.expiry_of(c, expires_at, options), options,
        sha256(convert_to(jsonb_build_array('track', merchant_id, order_no, amount_minor, currency, extract(epoch FROM expires_at), options)::text, 'UTF8')));
    IF born.fresh THEN
        SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = born.id;
        PERFORM postrider.history_add(p, NULL, 'application', NULL, 'tracked', NULL, p.state, '{}');
        IF NOT p.manual THEN
            IF 'query' = ANY (c.operations) THEN
                PERFORM postrider.call_put(p, NULL, 'query', least(postrider.scaled(c.first_poll_ms), greatest(p.expires_at - now(), interval '0')), 'first_poll');
            ELSE
                PERFORM postrider.call_put(p, NULL, 'expire', greatest(p.expires_at - now(), interval '0'), 'webhooks_only');
            END IF;
        END IF;
        PERFORM postrider.payment_adopt(born.id);
    END IF;
    RETURN born.id;
END $$;

CREATE FUNCTION postrider.submit_payment(merchant_id text, order_no text, channel text, amount_minor bigint, currency text,
                                         request jsonb DEFAULT '{}', options jsonb DEFAULT '{}') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    c CONSTANT postrider.channel := postrider.payment_check(merchant_id, order_no, channel, NULL, amount_minor, currency, request, options);
    number CONSTANT text := postrider.intent_key(merchant_id, order_no, channel, 'PAY', coalesce(options ->> 'intent', '1'), c.number_max);
    born record;
    p postrider.payment;
BEGIN
    IF NOT 'charge' = ANY (c.operations) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('channel %L cannot charge', channel),
            HINT = 'Its profile has no operation charge: the application charges, and calls track_payment.';
    ELSIF c.order_policy = 'single' AND EXISTS (       -- one that the application tracks; submitted ones meet the unique index
            SELECT FROM postrider.payment AS x WHERE x.merchant_id = merchant_id AND x.order_no = order_no AND x.request_no IS DISTINCT FROM number
            AND x.state IN ('created', 'processing', 'succeeded')) THEN
        PERFORM postrider.order_refuse(order_no);
    END IF;
    born := postrider.payment_insert(c, merchant_id, order_no, NULL, number, amount_minor, currency, request, postrider.expiry_of(c, NULL, options), options,
        sha256(convert_to(jsonb_build_array('submit', amount_minor, currency, request, options)::text, 'UTF8')));
    IF born.fresh THEN
        SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = born.id;
        PERFORM postrider.history_add(p, NULL, 'application', NULL, 'submitted', NULL, p.state, '{}');
        IF NOT p.manual THEN
            PERFORM postrider.call_put(p, NULL, 'charge', interval '0', 'submitted');
        END IF;
        PERFORM postrider.payment_adopt(born.id);
    END IF;
    RETURN born.id;
END $$;

-- The payment's row, locked; PR009 where there is none.
CREATE FUNCTION postrider.payment_locked(id bigint) RETURNS postrider.payment
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    p postrider.payment;
BEGIN
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = $1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no payment %s', coalesce(id::text, 'without an id')),
            HINT = 'Pass the payment_id that track_payment or submit_payment returned.';
    END IF;
    RETURN p;
END $$;

-- Idempotent by (payment, refund_no). Under the payment's lock, so that no two together are more than was captured.
CREATE FUNCTION postrider.refund_payment(payment_id bigint, refund_no text, amount_minor bigint, reason text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    p CONSTANT postrider.payment := postrider.payment_locked(payment_id);
    c postrider.channel;
    known postrider.refund;
    sums record;
    new_id bigint;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.no = p.channel_no;
    SELECT r.* INTO known FROM postrider.refund AS r WHERE r.payment_id = payment_id AND r.refund_no = refund_no;
    sums := postrider.refunds_of(p.id);
    IF known.id IS NOT NULL THEN
        IF known.amount_minor <> amount_minor OR known.origin <> 'application' THEN
            RAISE EXCEPTION USING ERRCODE = 'PR002', MESSAGE = format('refund_no %L was used with another amount', refund_no),
                HINT = 'Use a new refund_no for another refund, or repeat the first call exactly.';
        END IF;
        RETURN known.id;
    ELSIF refund_no IS NULL OR length(refund_no) NOT BETWEEN 1 AND 64 OR refund_no ~ '[[:cntrl:]]' OR refund_no ~ '^gw:' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'refund_no is not 1 to 64 printable characters',
            HINT = 'Pass your own number of the refund; gw: is what the channel''s own refunds begin with.';
    ELSIF amount_minor IS NULL OR amount_minor NOT BETWEEN 1 AND 9007199254740991 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'amount_minor is missing, zero or out of range',
            HINT = 'Say how much: nothing and zero do not mean all.';
    ELSIF length(reason) > 200 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR008', MESSAGE = 'reason is longer than 200 characters', HINT = 'Shorten it.';
    ELSIF NOT 'refund' = ANY (c.operations) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('channel %L cannot refund', c.id), HINT = 'Its profile has no operation refund.';
    ELSIF p.state <> 'succeeded' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('payment %s is %s', p.id, p.state),
            HINT = 'Only what has succeeded is refunded; an open payment can be cancelled (cancel_payment).';
    ELSIF amount_minor > p.captured_minor - greatest(p.refunded_seen, sums.gone + sums.open) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR007',
            MESSAGE = format('%s is more than the %s that are left', amount_minor, greatest(p.captured_minor - greatest(p.refunded_seen, sums.gone + sums.open), 0)),
            HINT = 'Refunds that are under way count as well.';
    END IF;
    INSERT INTO postrider.refund (payment_id, refund_no, amount_minor, reason, state, gateway_no)
    VALUES (p.id, refund_no, amount_minor, reason, 'created',
            postrider.intent_key(p.merchant_id, p.order_no, p.channel, 'REFUND', p.id || ':' || refund_no, c.number_max))
    RETURNING id INTO new_id;
    PERFORM postrider.history_add(p, new_id, 'application', NULL, 'refund asked for', NULL, 'created', jsonb_build_object('amount', amount_minor));
    PERFORM postrider.call_put(p, new_id, 'refund', interval '0', 'submitted');
    UPDATE postrider.payment AS x SET version = nextval('postrider.outbox_id_seq'), updated_at = now() WHERE x.id = p.id;
    RETURN new_id;
END $$;

-- 'cancelled' (nothing was sent, or it was before), 'failed' (it had), 'closing' (the channel is told; its answer decides).
CREATE FUNCTION postrider.cancel_payment(payment_id bigint, reason text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    p CONSTANT postrider.payment := postrider.payment_locked(payment_id);
    c postrider.channel;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.no = p.channel_no;
    IF p.state IN ('cancelled', 'failed') THEN
        RETURN p.state;
    ELSIF p.state = 'succeeded' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('payment %s has succeeded', p.id), HINT = 'Refund it: refund_payment.';
    ELSIF p.state = 'created' THEN
        PERFORM postrider.payment_apply(c, p, 'application', jsonb_build_object('status', 'CANCELLED', 'reason', left(reason, 200)), NULL);
        RETURN 'cancelled';
    ELSIF NOT 'close' = ANY (c.operations) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('channel %L cannot close a payment', c.id),
            HINT = 'It ends at its expiry, or with a person.';
    END IF;
    PERFORM postrider.history_add(p, NULL, 'application', NULL, 'close asked for', p.state, p.state, jsonb_build_object('reason', left(reason, 200)));
    -- one that is handed out is closed after its outcome
    UPDATE postrider.call AS k SET close_wanted = true WHERE k.payment_id = p.id AND k.refund_id IS NULL;
    IF NOT FOUND OR EXISTS (SELECT FROM postrider.call AS k WHERE k.payment_id = p.id AND k.refund_id IS NULL AND k.lease_until IS NULL) THEN
        PERFORM postrider.call_put(p, NULL, CASE WHEN k.settle_at > now() THEN 'query' ELSE 'close' END, interval '0', 'cancel_payment')
        FROM (SELECT max(x.settle_at) AS settle_at FROM postrider.call AS x WHERE x.payment_id = p.id AND x.refund_id IS NULL) AS k;
        UPDATE postrider.call AS k SET close_wanted = true WHERE k.payment_id = p.id AND k.refund_id IS NULL;
    END IF;
    RETURN 'closing';
END $$;

-- state: pending | succeeded | failed | cancelled | refunded | partially_refunded. evidence: what the application knows, by the names of
-- lib/gateway/evidence_json.h; what it leaves out is not compared.
CREATE FUNCTION postrider.report_payment(payment_id bigint, state text, evidence jsonb, event_id text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    p CONSTANT postrider.payment := postrider.payment_locked(payment_id);
BEGIN
    IF state IS NULL OR state NOT IN ('pending', 'succeeded', 'failed', 'cancelled', 'refunded', 'partially_refunded') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'state is not one that can be reported',
            HINT = 'pending, succeeded, failed, cancelled, refunded or partially_refunded.';
    ELSIF jsonb_typeof(evidence) IS DISTINCT FROM 'object' OR octet_length(evidence::text) > 20480 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'evidence is not a JSON object of at most 20480 bytes', HINT = 'Pass {} if there is none.';
    ELSIF length(event_id) NOT BETWEEN 1 AND 128 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR008', MESSAGE = 'event_id is not 1 to 128 characters', HINT = 'Pass NULL for none.';
    END IF;
    RETURN postrider.apply_evidence(p.id, NULL, 'report',
        jsonb_build_object('final', true) || evidence || jsonb_build_object('object', 'payment', 'status', upper(state)), event_id);
END $$;

-- state: delivered | failed. A failed delivery opens a task; one delivered later ends it.
CREATE FUNCTION postrider.report_fulfilment(merchant_id text, order_no text, state text, reference text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.merchant AS m WHERE m.id = merchant_id AND length(merchant_id) <= 64) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)), HINT = 'Add it first.';
    ELSIF coalesce(length(order_no), 0) NOT BETWEEN 1 AND 64 OR state IS NULL OR state NOT IN ('delivered', 'failed') OR length(reference) > 128 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'order_no, state or reference is not one that can be reported',
            HINT = 'order_no of 1 to 64 characters, state delivered or failed, reference of at most 128.';
    END IF;
    -- what is delivered stays delivered
    INSERT INTO postrider.fulfilment AS f (merchant_id, order_no, state, reference) VALUES (merchant_id, order_no, state, reference)
    ON CONFLICT ON CONSTRAINT fulfilment_pkey DO UPDATE SET state = excluded.state, reference = excluded.reference, updated_at = now()
    WHERE f.state <> 'delivered';
    IF state = 'failed' AND FOUND THEN
        PERFORM postrider.task_open('delivery', left(merchant_id || '/' || order_no, 128), 'WAITING', 'application', merchant_id, order_no, NULL,
                                    'DELIVERY_FAILED', 'the application could not deliver', jsonb_build_object('reference', reference));
    ELSIF state = 'delivered' THEN
        PERFORM postrider.task_done('delivery', left(merchant_id || '/' || order_no, 128), 'DELIVERED', jsonb_build_object('reference', reference));
    END IF;
END $$;

-- Returns the number; with a key that is known, or while one of this kind and object is open, the earlier one's.
CREATE FUNCTION postrider.create_task(biz_type text, biz_id text, merchant_id text, order_no text, request jsonb, idempotency_key text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    args CONSTANT bytea := sha256(convert_to(jsonb_build_array(biz_type, biz_id, order_no, request)::text, 'UTF8'));
    known record;
    number text;
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.merchant AS m WHERE m.id = merchant_id AND length(merchant_id) <= 64) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)), HINT = 'Add it first.';
    ELSIF (biz_type ~ '^[a-z0-9_]{1,64}$' AND length(biz_id) BETWEEN 1 AND 128 AND coalesce(length(order_no), 1) BETWEEN 1 AND 64
           AND jsonb_typeof(request) = 'object' AND octet_length(request::text) <= 20480 AND coalesce(length(idempotency_key), 1) BETWEEN 1 AND 255) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'an argument of the task is missing or too long',
            HINT = 'biz_type of a-z, 0-9 and _ (64), biz_id (128), order_no (64), request an object (20480 bytes), idempotency_key (255).';
    END IF;
    IF idempotency_key IS NOT NULL THEN
        LOOP
            INSERT INTO postrider.task_key AS k (merchant_id, key, args_hash) VALUES (merchant_id, idempotency_key, args) ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND;
            SELECT k.args_hash, k.task_no INTO known FROM postrider.task_key AS k WHERE k.merchant_id = merchant_id AND k.key = idempotency_key;
            CONTINUE WHEN NOT FOUND;
            IF known.args_hash <> args THEN
                RAISE EXCEPTION USING ERRCODE = 'PR002', MESSAGE = format('idempotency_key %L was used with other arguments', idempotency_key),
                    HINT = 'Use a new key for another task, or repeat the first call exactly.';
            END IF;
            RETURN known.task_no;
        END LOOP;
    END IF;
    number := postrider.task_open(biz_type, biz_id, 'WAITING', 'application', merchant_id, order_no, NULL, NULL, NULL, request);
    UPDATE postrider.task_key AS k SET task_no = number WHERE k.merchant_id = merchant_id AND k.key = idempotency_key;
    RETURN number;
END $$;

RESET ROLE;
