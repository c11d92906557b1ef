-- 0015 create http functions: the doors for applications and merchants that come by HTTP, and their keys.
-- why:   what SQL does for an application, HTTP does too, once for each key of a write. A bearer key that is overheard, in a log or at a proxy,
--        can do everything; signed requests cannot be made anew (contracts, HTTP).
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.

SET LOCAL ROLE postrider_owner;

-- keys ----------------------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.http_key_check(hash bytea) RETURNS TABLE (key_id bigint, kind text, merchant_id text, livemode boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT k.id, k.kind, k.merchant_id, k.livemode FROM postrider.http_key AS k
    WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
$$;

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

-- hash: SHA-256 of the key, which is shown once and never kept. kind: application, or merchant (with whose).
CREATE FUNCTION postrider.key_create(who text, hash bytea, kind text, merchant_id text, livemode boolean, label text, expires_at timestamptz DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    new_id bigint;
BEGIN
    IF kind = 'merchant' AND NOT EXISTS (SELECT FROM postrider.merchant AS m WHERE m.id = $4) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)), HINT = 'Add it first.';
    ELSIF (octet_length(hash) = 32 AND kind IN ('application', 'merchant') AND (kind = 'merchant') = (merchant_id IS NOT NULL)
           AND livemode IS NOT NULL AND length(coalesce(label, '')) <= 128) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'a key is of kind application, or merchant with its merchant_id', HINT = 'postrider key create --help.';
    END IF;
    INSERT INTO postrider.http_key (hash, kind, merchant_id, livemode, label, expires_at) VALUES ($2, $3, $4, $5, coalesce($6, ''), $7) RETURNING id INTO new_id;
    PERFORM postrider.audit_add(who, 'key.create', new_id::text, NULL, jsonb_build_object('kind', kind, 'merchant_id', merchant_id, 'label', label));
    RETURN new_id;
END $$;

CREATE FUNCTION postrider.key_revoke(who text, id bigint, reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE postrider.http_key AS k SET revoked_at = now() WHERE k.id = $2 AND k.revoked_at IS NULL;
    IF FOUND THEN
        PERFORM postrider.audit_add(who, 'key.revoke', id::text, reason, '{}');
        RETURN true;
    END IF;
    RETURN false;
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

-- reads and writes ----------------------------------------------------------------------------------------------

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

-- A merchant may have 30 of its dead letters driven again at once, and one more every 2 s, however many keys and ingresses it comes by: each
-- is a fresh retry list at a receiver that failed before. Errors: PR013 not now.
CREATE FUNCTION postrider.resend_take(merchant_id text, livemode boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    most CONSTANT real := 30;
    every_s CONSTANT real := 2;
BEGIN
    INSERT INTO postrider.resend_allowance AS a (merchant_id, livemode, rest, at) VALUES ($1, $2, most - 1, clock_timestamp())
    ON CONFLICT (merchant_id, livemode) DO UPDATE
    SET rest = least(most, a.rest + greatest(0, extract(epoch FROM clock_timestamp() - a.at)) / every_s) - 1, at = clock_timestamp()
    WHERE a.rest + greatest(0, extract(epoch FROM clock_timestamp() - a.at)) / every_s >= 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR013', MESSAGE = format('%s resends at once, and one more every %s s, are a merchant''s', most, every_s),
            HINT = 'Ask again later.';
    END IF;
END $$;

-- A dead letter is driven again, for a merchant only so often; of what is not dead it learns how it stands.
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
        IF k.kind = 'merchant' THEN
            PERFORM postrider.resend_take(k.merchant_id, k.livemode);
        END IF;
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

-- Answers that nobody asks for again, and nonces that no timestamp can bring back: it counts 5 minutes either way.
CREATE FUNCTION postrider.http_purge(most int) RETURNS bigint
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

RESET ROLE;
