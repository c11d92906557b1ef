-- 0025 create webhook functions: the journal of what gateways send, and the door for HTTP.
-- why:   kept first, applied in the same transaction, answered after the commit; what cannot be applied is driven again from here.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.

SET LOCAL ROLE postrider_owner;

CREATE FUNCTION postrider.ingress_channels(known text[], versions bigint[])
RETURNS TABLE (channel text, version bigint, state text, profile text, base_url text, parameters jsonb, exponents jsonb, livemode boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.id, c.version, c.state, c.profile, c.base_url, postrider.channel_parameters(c.id), c.exponents, c.livemode
    FROM postrider.channel AS c
    WHERE NOT EXISTS (SELECT FROM unnest($1, $2) AS k (id, version) WHERE k.id = c.id AND k.version = c.version)
    ORDER BY c.id
$$;

-- The numbers that evidence names a payment by.
CREATE FUNCTION postrider.evidence_numbers(e jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT ARRAY(SELECT DISTINCT n FROM unnest(ARRAY[e ->> 'request_no', e ->> 'reference', e ->> 'refund_no', e ->> 'refund_reference']) AS n
                 WHERE n <> '' ORDER BY n)
$$;

-- The payment that evidence of a webhook is about; NULL: none that is known. A tracked payment may be known by what the gateway calls our number.
CREATE FUNCTION postrider.evidence_payment(channel_no int, e jsonb) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT f.id FROM (
        SELECT 1 AS rank, p.id FROM postrider.payment AS p WHERE p.request_no = nullif($2 ->> 'request_no', '') AND p.channel_no = $1
        UNION ALL
        SELECT 2, p.id FROM postrider.payment AS p WHERE p.channel_no = $1 AND p.gateway_reference = nullif($2 ->> 'reference', '')
        UNION ALL
        SELECT 3, p.id FROM postrider.payment AS p WHERE p.channel_no = $1 AND p.gateway_reference = nullif($2 ->> 'request_no', '')
        UNION ALL
        SELECT 4, r.payment_id FROM postrider.refund AS r WHERE r.gateway_no = nullif($2 ->> 'refund_no', '')
           AND (SELECT p.channel_no FROM postrider.payment AS p WHERE p.id = r.payment_id) = $1) AS f
    ORDER BY f.rank LIMIT 1
$$;

-- One item: its keys, its payment, the door. 'applied ...', 'ignored: ...', 'held: ...' or 'orphan'.
CREATE FUNCTION postrider.webhook_item(channel_no int, webhook_id bigint, item jsonb) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    e CONSTANT jsonb := item -> 'evidence';
    payment CONSTANT bigint := postrider.evidence_payment(channel_no, e);
    key text;
    repeats int := 0;
BEGIN
    IF coalesce(e ->> 'object', 'none') = 'none' THEN
        RETURN 'ignored: no payment';
    ELSIF payment IS NULL THEN
        INSERT INTO postrider.webhook_orphan (channel_no, number, webhook_id)
        SELECT channel_no, n.number, webhook_id FROM unnest(postrider.evidence_numbers(e)) AS n (number) ON CONFLICT DO NOTHING;
        RETURN 'orphan';
    END IF;
    -- waits for another transaction with a key; the same webhook driven again is no repeat of itself
    FOR key IN SELECT DISTINCT d.key FROM jsonb_array_elements_text(CASE jsonb_typeof(item -> 'dedupe') WHEN 'array' THEN item -> 'dedupe' ELSE '[]' END) AS d (key)
               WHERE d.key <> '' ORDER BY d.key LOOP
        INSERT INTO postrider.webhook_key AS k (channel_no, key, webhook_id) VALUES (channel_no, key, webhook_id) ON CONFLICT DO NOTHING;
        IF NOT FOUND AND (SELECT k.webhook_id FROM postrider.webhook_key AS k WHERE k.channel_no = channel_no AND k.key = key) IS DISTINCT FROM webhook_id THEN
            repeats := repeats + 1;
        END IF;
    END LOOP;
    IF repeats > 0 THEN
        RETURN 'ignored: duplicate';
    END IF;
    RETURN postrider.apply_evidence(payment, NULL, 'webhook', e, NULL);
END $$;

-- All items, in a savepoint: what cannot be applied changes nothing.
CREATE FUNCTION postrider.webhook_items(channel_no int, webhook_id bigint, items jsonb, OUT state text, OUT result text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    results text[];
    code text;
BEGIN
    BEGIN
        PERFORM FROM postrider.payment AS p                                   -- in the order in which everybody locks
        WHERE p.id = ANY (ARRAY(SELECT postrider.evidence_payment(channel_no, i.value -> 'evidence') FROM jsonb_array_elements(items) AS i (value)))
        ORDER BY p.id FOR NO KEY UPDATE;
        results := ARRAY(SELECT postrider.webhook_item(channel_no, webhook_id, i.value)
                         FROM jsonb_array_elements(items) WITH ORDINALITY AS i (value, at) ORDER BY i.at);
        state := CASE WHEN 'orphan' = ANY (results) THEN 'orphan'
                      WHEN 'applied' = ANY (results) THEN 'applied' ELSE 'ignored' END;
        result := left(array_to_string(results, '; '), 2000);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, result = MESSAGE_TEXT;
        state := 'failed';
        result := left(code || ' ' || result, 2000);
    END;
END $$;

CREATE FUNCTION postrider.webhook_receive(channel text, received_at timestamptz, method text, query text, headers jsonb, body bytea, verdict text,
                                          reason text, items jsonb, OUT reply text, OUT webhook_id bigint, OUT result text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    number int;
    ended_state text := 'refused';
    ended_result text := coalesce(left(reason, 2000), '');
BEGIN
    SELECT c.no INTO number FROM postrider.channel AS c WHERE c.id = channel;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(channel, 80)), HINT = 'postrider channel list shows those that are.';
    ELSIF verdict IS NULL OR verdict NOT IN ('verified', 'refused', 'probe') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'verdict is not verified, refused or probe', HINT = 'Journal what was judged.';
    END IF;
    webhook_id := nextval('postrider.webhook_id_seq');
    items := CASE WHEN verdict = 'verified' AND jsonb_typeof(items) = 'array' THEN items ELSE '[]' END;
    IF verdict = 'verified' THEN
        SELECT w.state, w.result INTO ended_state, ended_result FROM postrider.webhook_items(number, webhook_id, items) AS w;
    END IF;
    INSERT INTO postrider.webhook (id, channel_no, received_at, method, query, headers, body, verdict, reason, items, state, result, payment_id)
    OVERRIDING SYSTEM VALUE
    VALUES (webhook_id, number, coalesce(received_at, now()), method, coalesce(query, ''), coalesce(headers, '{}'), coalesce(body, ''), verdict,
            coalesce(reason, ''), items, ended_state, ended_result,
            postrider.evidence_payment(number, items -> 0 -> 'evidence'));
    result := ended_result;
    reply := CASE ended_state WHEN 'refused' THEN 'refused' WHEN 'orphan' THEN 'orphan' WHEN 'failed' THEN 'later' ELSE 'accepted' END;
END $$;

-- Again from the journal, as it was judged at receipt. What is applied or refused stays so.
CREATE FUNCTION postrider.webhook_redrive(webhook_id bigint, OUT state text, OUT result text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    w postrider.webhook;
    ended record;
BEGIN
    SELECT x.* INTO w FROM postrider.webhook AS x WHERE x.id = webhook_id FOR NO KEY UPDATE;
    state := w.state;
    result := w.result;
    IF w.state IS NULL OR w.state NOT IN ('orphan', 'failed', 'task') THEN
        RETURN;
    END IF;
    ended := postrider.webhook_items(w.channel_no, w.id, w.items);
    state := CASE WHEN ended.state IN ('applied', 'ignored') THEN 'applied' ELSE w.state END;
    result := ended.result;
    UPDATE postrider.webhook AS x SET state = state, result = result, tries = x.tries + 1, at = now(),
           payment_id = coalesce(x.payment_id, postrider.evidence_payment(x.channel_no, x.items -> 0 -> 'evidence'))
    WHERE x.id = w.id;
    IF state = 'applied' THEN
        DELETE FROM postrider.webhook_orphan AS o WHERE o.webhook_id = w.id;
        PERFORM postrider.task_done('payment_callback', 'webhook:' || w.id, 'APPLIED', jsonb_build_object('result', result));
    END IF;
END $$;

-- Every few seconds: what waits in the journal is driven again; after a minute it is a task (C10).
CREATE FUNCTION postrider.payments_upkeep(session uuid, most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    one record;
    ended record;
    moved int := 0;
BEGIN
    PERFORM postrider.call_fence(session);
    FOR one IN SELECT w.id, w.received_at < now() - postrider.scaled(60000) AS old, w.payment_id, w.state
               FROM postrider.webhook AS w WHERE w.state IN ('failed', 'orphan') ORDER BY w.received_at LIMIT most LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(1886548338, hashtext(one.id::text));     -- another session does it
        ended := postrider.webhook_redrive(one.id);
        IF ended.state = 'applied' THEN
            moved := moved + 1;
        ELSIF one.old AND ended.state IN ('failed', 'orphan') THEN
            UPDATE postrider.webhook AS w SET state = 'task', at = now() WHERE w.id = one.id;
            PERFORM postrider.task_open('payment_callback', 'webhook:' || one.id, 'WAITING', 'callback_failure', p.merchant_id, p.order_no, p.id,
                                        CASE ended.state WHEN 'orphan' THEN 'ORDER_NOT_FOUND' ELSE 'NOT_APPLIED' END, ended.result,
                                        jsonb_build_object('webhook_id', one.id))
            FROM (SELECT 1) AS always LEFT JOIN postrider.payment AS p ON p.id = one.payment_id;
            moved := moved + 1;
        END IF;
    END LOOP;
    RETURN moved;
END $$;

-- over HTTP -----------------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.http_key_check(hash bytea) RETURNS TABLE (key_id bigint, kind text, merchant_id text, livemode boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT k.id, k.kind, k.merchant_id, k.livemode FROM postrider.http_key AS k
    WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
$$;

CREATE FUNCTION postrider.payment_json(p postrider.payment) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT jsonb_build_object('payment_id', p.id, 'merchant_id', p.merchant_id, 'order_no', p.order_no, 'channel', p.channel,
        'gateway_reference', p.gateway_reference, 'app_ref', p.app_ref, 'state', p.state, 'status', postrider.status_of(p),
        'amount', p.amount_minor, 'currency', p.currency, 'captured', p.captured_minor, 'refunded', p.refunded_minor, 'version', p.version,
        'failure', CASE WHEN p.state = 'failed' THEN jsonb_build_object('code', p.failure_code, 'message', p.failure_message) END,
        'next_action', CASE WHEN p.state = 'processing' AND p.next_action IS NOT NULL
                            THEN jsonb_build_object('kind', p.next_action_kind, 'value', p.next_action) END,
        'manual_reason', CASE WHEN p.manual THEN p.manual_reason END, 'livemode', p.livemode, 'created_at', postrider.json_time(p.created_at),
        'updated_at', postrider.json_time(p.updated_at), 'expires_at', postrider.json_time(p.expires_at), 'final_at', postrider.json_time(p.final_at))
$$;

CREATE FUNCTION postrider.refund_json(r postrider.refund) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT jsonb_build_object('refund_id', r.id, 'payment_id', r.payment_id, 'refund_no', r.refund_no, 'amount', r.amount_minor, 'state', r.state,
        'status', CASE WHEN r.state = 'processing' AND r.manual THEN 'unknown' ELSE r.state END, 'origin', r.origin, 'reason', r.reason,
        'failure', CASE WHEN r.failure_code IS NOT NULL THEN jsonb_build_object('code', r.failure_code, 'message', r.failure_message) END,
        'created_at', postrider.json_time(r.created_at), 'updated_at', postrider.json_time(r.updated_at))
$$;

-- Whether it is told as live money; an application's own is. NULL: there is none.
CREATE FUNCTION postrider.notification_livemode(id uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog SET enable_seqscan = off AS $$
    SELECT coalesce((convert_from(x.body, 'UTF8')::jsonb ->> 'livemode')::boolean, true)
    FROM (SELECT o.body FROM postrider.outbox AS o WHERE o.notify_id = $1 AND o.kind = 0
          UNION ALL SELECT k.body FROM postrider.outbox_kept AS k WHERE k.notify_id = $1 AND k.kind = 0 LIMIT 1) AS x
$$;

-- Everything of an order, as the merchant may see it.
CREATE FUNCTION postrider.merchant_order(merchant_id text, order_no text) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT jsonb_build_object('merchant_id', $1, 'order_no', $2, 'checked_at', postrider.json_time(now()),
        'payments', coalesce((SELECT jsonb_agg(postrider.payment_json(p) ORDER BY p.id) FROM postrider.payment AS p
                              WHERE p.merchant_id = $1 AND p.order_no = $2), '[]'),
        'refunds', coalesce((SELECT jsonb_agg(postrider.refund_json(r) ORDER BY r.id) FROM postrider.payment AS p
                             JOIN postrider.refund AS r ON r.payment_id = p.id WHERE p.merchant_id = $1 AND p.order_no = $2), '[]'),
        'notifications', coalesce((SELECT jsonb_agg(jsonb_build_object('notify_id', n.notify_id, 'event', n.event, 'status', n.status, 'phase', n.phase,
                                          'attempts', n.attempts, 'next_attempt_at', postrider.json_time(n.next_attempt_at), 'last_http_code', n.last_http_code,
                                          'last_error', n.last_error, 'version', n.version, 'created_at', postrider.json_time(n.created_at),
                                          'delivered_at', postrider.json_time(n.delivered_at)) ORDER BY n.created_at, n.version)
                                   FROM postrider.notification_status AS n WHERE n.merchant_id = $1 AND n.order_no = $2), '[]'))
$$;

-- Of one kind of money: what a key for tests sees, and what one for live money does. A notification is of the kind that its body says.
CREATE FUNCTION postrider.order_of_mode(merchant_id text, order_no text, livemode boolean) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog SET enable_seqscan = off AS $$
    SELECT w.told || jsonb_build_object(
        'payments', coalesce((SELECT jsonb_agg(x.v ORDER BY x.at) FROM jsonb_array_elements(w.told -> 'payments') WITH ORDINALITY AS x (v, at)
                              WHERE (x.v ->> 'livemode')::boolean = $3), '[]'),
        'refunds', coalesce((SELECT jsonb_agg(x.v ORDER BY x.at) FROM jsonb_array_elements(w.told -> 'refunds') WITH ORDINALITY AS x (v, at)
                             WHERE (SELECT p.livemode FROM postrider.payment AS p WHERE p.id = (x.v ->> 'payment_id')::bigint) = $3), '[]'),
        'notifications', coalesce((SELECT jsonb_agg(x.v ORDER BY x.at) FROM jsonb_array_elements(w.told -> 'notifications') WITH ORDINALITY AS x (v, at)
                                   WHERE postrider.notification_livemode((x.v ->> 'notify_id')::uuid) = $3), '[]'))
    FROM (SELECT postrider.merchant_order($1, $2) AS told) AS w
$$;

CREATE FUNCTION postrider.http_read(key_id bigint, what text, arguments jsonb) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    own text;
    kind text;
    livemode boolean;
    told jsonb;
BEGIN
    SELECT k.merchant_id, k.kind, k.livemode INTO own, kind, livemode FROM postrider.http_key AS k WHERE k.id = key_id;
    IF what = 'payment' AND (arguments ->> 'payment_id') ~ '^[0-9]{1,18}$' THEN
        SELECT postrider.payment_json(p) || jsonb_build_object('checked_at', postrider.json_time(now())) INTO told FROM postrider.payment AS p
        WHERE p.id = (arguments ->> 'payment_id')::bigint AND p.livemode = livemode AND (kind = 'application' OR p.merchant_id = own);
    ELSIF what = 'order' AND (kind = 'application' OR arguments ->> 'merchant_id' = own) THEN
        told := postrider.order_of_mode(arguments ->> 'merchant_id', arguments ->> 'order_no', livemode);
        IF told -> 'payments' = '[]' AND told -> 'notifications' = '[]' THEN
            told := NULL;
        END IF;
    END IF;
    RETURN told::text;
END $$;

-- What a write does, and its first answer.
CREATE FUNCTION postrider.http_do(k postrider.http_key, operation text, a jsonb, OUT status int, OUT body jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET datestyle = 'ISO, MDY' AS $$
DECLARE
    p postrider.payment;
    new_id bigint;
    told text;
BEGIN
    status := 202;
    IF k.kind <> 'application' AND operation <> 'notification.resend' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'this key may only ask', HINT = 'Use an application''s key.';
    ELSIF operation IN ('payment.refund', 'payment.cancel') THEN
        SELECT x.* INTO p FROM postrider.payment AS x
        WHERE x.id = CASE WHEN (a ->> 'payment_id') ~ '^[0-9]{1,18}$' THEN (a ->> 'payment_id')::bigint END AND x.livemode = k.livemode;
        IF NOT FOUND THEN
            RAISE no_data_found USING MESSAGE = 'there is no such payment';
        END IF;
    ELSIF operation = 'notification' AND NOT k.livemode THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'a key for tests tells nobody of live money',
            HINT = 'Notifications of your own are told with livemode true: use a pr_live_ key.';
    ELSIF operation = 'fulfilment' AND (EXISTS (SELECT FROM postrider.payment AS x WHERE x.merchant_id = a ->> 'merchant_id' AND x.order_no = a ->> 'order_no'
                                                AND x.livemode <> k.livemode)
                                        OR NOT k.livemode AND NOT EXISTS (SELECT FROM postrider.payment AS x WHERE x.merchant_id = a ->> 'merchant_id'
                                                AND x.order_no = a ->> 'order_no')) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'the key and the order are not of the same mode', HINT = 'Use a pr_live_ key with live orders only.';
    END IF;
    SELECT t.name INTO told FROM (VALUES ('expires_at', a ->> 'expires_at'), ('occurred_at', a ->> 'occurred_at'),
                                         ('options.expires_at', a #>> '{options,expires_at}')) AS t (name, said)
    WHERE t.said !~* '^[0-9]{4}-[0-9]{2}-[0-9]{2}t[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$' LIMIT 1;
    IF FOUND THEN                          -- Postgres would read "tomorrow", too, and 12/01 as December
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = told || ' is not a time as in RFC 3339', HINT = 'Such as 2026-12-24T05:00:00Z.';
    ELSIF operation = 'payment.submit' AND a ->> 'expires_at' IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'expires_at is of payments that are at the gateway already', HINT = 'Use options.expires_at.';
    ELSIF operation = 'payment.track' AND coalesce(a -> 'request', 'null') NOT IN ('null', '{}') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'request is of payments that are charged', HINT = 'Leave it out beside gateway_reference.';
    END IF;
    CASE operation
        WHEN 'payment.submit', 'payment.track' THEN
            IF operation = 'payment.submit' THEN
                new_id := postrider.submit_payment(a ->> 'merchant_id', a ->> 'order_no', a ->> 'channel', (a ->> 'amount')::bigint, a ->> 'currency',
                                               coalesce(a -> 'request', '{}'), coalesce(a -> 'options', '{}'));
            ELSE
                new_id := postrider.track_payment(a ->> 'merchant_id', a ->> 'order_no', a ->> 'channel', a ->> 'gateway_reference', (a ->> 'amount')::bigint,
                                              a ->> 'currency', (a ->> 'expires_at')::timestamptz, coalesce(a -> 'options', '{}'));
            END IF;
            SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = new_id;
            IF p.livemode <> k.livemode THEN
                RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'the key and the channel are not of the same mode', HINT = 'Use a pr_live_ key with live channels only.';
            END IF;
            body := postrider.payment_json(p);
            status := CASE WHEN p.state IN ('created', 'processing') AND p.next_action IS NULL THEN 202 ELSE 201 END;
        WHEN 'payment.refund' THEN
            new_id := postrider.refund_payment(p.id, a ->> 'refund_no', (a ->> 'amount')::bigint, a ->> 'reason');
            SELECT postrider.refund_json(r) INTO body FROM postrider.refund AS r WHERE r.id = new_id;
        WHEN 'payment.cancel' THEN
            told := postrider.cancel_payment(p.id, a ->> 'reason');
            SELECT postrider.payment_json(x) || jsonb_build_object('cancel', told) INTO body FROM postrider.payment AS x WHERE x.id = p.id;
        WHEN 'notification' THEN
            body := jsonb_build_object('notify_id', postrider.enqueue_notification(a ->> 'merchant_id', a ->> 'order_no', a ->> 'event',
                coalesce(a -> 'payload', '{}'), (a ->> 'amount')::bigint, a ->> 'currency', (a ->> 'priority')::int, a ->> 'notify_url',
                a ->> 'idempotency_key', a ->> 'status', (a ->> 'version')::bigint, coalesce((a ->> 'occurred_at')::timestamptz, now())));
        WHEN 'notification.resend' THEN
            body := postrider.notification_resend(k, a ->> 'notify_id');
        WHEN 'fulfilment' THEN
            PERFORM postrider.report_fulfilment(a ->> 'merchant_id', a ->> 'order_no', a ->> 'state', a ->> 'reference');
            body := '{}';
        ELSE
            RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%L is no operation', left(operation, 80)), HINT = 'See docs/openapi.yaml.';
    END CASE;
EXCEPTION WHEN data_exception THEN
    RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'a value of the request is of the wrong kind: ' || SQLERRM, HINT = 'Amounts are integers, times RFC 3339.';
END $$;

-- A dead letter is driven again; of what is not dead the merchant learns how it stands.
CREATE FUNCTION postrider.notification_resend(k postrider.http_key, notify_id text) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    n record;
    driven bigint;
BEGIN
    SELECT s.merchant_id, s.status INTO n FROM postrider.notification_status AS s
    WHERE s.notify_id = CASE WHEN $2 ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN $2::uuid END
      AND (k.kind = 'application' OR s.merchant_id = k.merchant_id) AND postrider.notification_livemode(s.notify_id) = k.livemode ORDER BY s.status = 'dead' DESC LIMIT 1;
    IF NOT FOUND THEN
        RAISE no_data_found USING MESSAGE = 'there is no such notification';
    END IF;
    IF n.status = 'dead' THEN
        driven := postrider.dead_redrive('key:' || k.id, 'resend asked for over HTTP', jsonb_build_object('notify_id', $2));
    END IF;
    RETURN jsonb_build_object('notify_id', $2, 'status', n.status, 'redriven', coalesce(driven, 0));
END $$;

CREATE FUNCTION postrider.http_write(key_id bigint, idempotency_key text, request_hash bytea, operation text, arguments jsonb,
                                     OUT status int, OUT body text, OUT replayed boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    k postrider.http_key;
    known postrider.http_answer;
    done record;
BEGIN
    replayed := false;
    SELECT x.* INTO k FROM postrider.http_key AS x WHERE x.id = key_id;
    IF idempotency_key IS NOT NULL THEN
        IF length(idempotency_key) NOT BETWEEN 1 AND 255 THEN
            RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'Idempotency-Key is not 1 to 255 characters', HINT = 'Use a hash of what makes the request unique.';
        ELSIF NOT pg_try_advisory_xact_lock(hashtextextended(key_id || ':' || idempotency_key, 1886548339)) THEN
            RAISE lock_not_available USING MESSAGE = 'the first request with this Idempotency-Key is under way';
        END IF;
        SELECT x.* INTO known FROM postrider.http_answer AS x WHERE x.key_id = key_id AND x.key = idempotency_key;
        IF FOUND THEN
            IF known.request_hash <> request_hash THEN
                RAISE EXCEPTION USING ERRCODE = 'PR002', MESSAGE = 'the Idempotency-Key was used with another request', HINT = 'Use a new key for another request.';
            END IF;
            status := known.status;
            body := known.body;
            replayed := true;
            RETURN;
        END IF;
    END IF;
    done := postrider.http_do(k, operation, arguments);
    status := done.status;
    body := done.body::text;
    IF idempotency_key IS NOT NULL THEN
        INSERT INTO postrider.http_answer (key_id, key, request_hash, status, body) VALUES (key_id, idempotency_key, request_hash, status, body);
    END IF;
END $$;

CREATE FUNCTION postrider.http_purge(most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    gone bigint;
BEGIN
    DELETE FROM postrider.http_answer AS a
    WHERE a.ctid = ANY (ARRAY(SELECT x.ctid FROM postrider.http_answer AS x WHERE x.at < now() - interval '30 days' ORDER BY x.at LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END $$;

RESET ROLE;
