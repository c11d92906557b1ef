-- 0010 create payment door: the one function through which a payment changes, and what it writes beside.
-- why:   webhooks, answers, the application and people bring evidence; one place decides what it means (docs/states.md).
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each, DROP TABLE postrider.evidence_rule.
--
-- Locks are taken in one order everywhere: webhooks, payments by id, then what belongs to them (refunds, calls, tasks).

SET LOCAL ROLE postrider_owner;

-- small words ---------------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.scaled(ms bigint) RETURNS interval
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT ms * coalesce((SELECT s.value::double precision FROM postrider.setting AS s WHERE s.key = 'time_scale'), 1) * interval '1 ms'
$$;

CREATE FUNCTION postrider.random_salt() RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog AS $$
    SELECT ('x' || left(g.id, 8) || right(g.id, 8))::bit(64)::bigint FROM (SELECT gen_random_uuid()::text AS id) AS g
$$;

CREATE FUNCTION postrider.json_time(at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

CREATE FUNCTION postrider.time_of_us(us text) RETURNS timestamptz
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT CASE WHEN us ~ '^[0-9]{1,17}$' THEN timestamptz '1970-01-01 00:00:00+00' + us::bigint * interval '1 us' END
$$;

-- The key of one intent (R6): length-prefixed, so that no two lists of parts read the same. Cut to what the channel takes, 64 at least
-- of its bits.
CREATE FUNCTION postrider.intent_key(merchant_id text, order_no text, channel text, business text, intent text, number_max int) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT left(encode(sha256(convert_to(string_agg(octet_length(p.part) || ':' || p.part, '' ORDER BY p.at), 'UTF8')), 'hex'), number_max)
    FROM unnest(ARRAY[merchant_id, order_no, channel, business, intent]) WITH ORDINALITY AS p (part, at)
$$;

-- contracts.md: the published status. refunding, disputed: there is an open refund, a dispute that is not won.
CREATE FUNCTION postrider.published_status(state text, manual boolean, amount bigint, captured bigint, refunded bigint,
                                           refunding boolean, disputed boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN state = 'processing' AND manual THEN 'unknown'
        WHEN state <> 'succeeded' THEN state
        WHEN disputed THEN 'disputed'
        WHEN refunding THEN 'refunding'
        WHEN refunded > 0 AND refunded >= captured THEN 'refunded'
        WHEN refunded > 0 THEN 'partially_refunded'
        WHEN captured < amount THEN 'partially_captured'
        ELSE state END
$$;

CREATE FUNCTION postrider.status_of(p postrider.payment) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT postrider.published_status(p.state, p.manual, p.amount_minor, p.captured_minor, p.refunded_minor,
        EXISTS (SELECT FROM postrider.refund AS r WHERE r.payment_id = p.id AND r.state IN ('created', 'processing')),
        EXISTS (SELECT FROM postrider.dispute AS d WHERE d.payment_id = p.id AND d.state <> 'won'))
$$;

-- tasks ---------------------------------------------------------------------------------------------------------

-- Opens a task, or finds the open one of this kind and object (C10). Returns its number.
CREATE FUNCTION postrider.task_open(biz_type text, biz_id text, state text, source text, merchant_id text, order_no text, payment_id bigint,
                                    code text, message text, request jsonb) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    found_no text;
    new_id bigint;
BEGIN
    LOOP
        UPDATE postrider.task AS t SET last_error_code = code, last_error_message = left(message, 500), updated_at = now(),
               result = jsonb_set(t.result, '{repeats}', to_jsonb(coalesce((t.result ->> 'repeats')::int, 0) + 1))
        WHERE t.biz_type = biz_type AND t.biz_id = biz_id AND t.state NOT IN ('SUCCESS', 'CLOSED')
        RETURNING t.task_no INTO found_no;
        EXIT WHEN FOUND;
        new_id := nextval('postrider.task_id_seq');
        INSERT INTO postrider.task AS t (id, task_no, biz_type, biz_id, merchant_id, order_no, payment_id, source, state, retry_limit,
                                         next_run_at, last_error_code, last_error_message, request, moved_by, move_reason)
        OVERRIDING SYSTEM VALUE
        VALUES (new_id, 'T' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD') || lpad(new_id::text, 10, '0'), biz_type, biz_id, merchant_id,
                order_no, payment_id, source, state, CASE biz_type WHEN 'delivery' THEN 3 ELSE 10 END,
                CASE state WHEN 'WAITING' THEN now() END, code, left(message, 500), coalesce(request, '{}'), 'postrider', left(coalesce(message, ''), 500))
        ON CONFLICT DO NOTHING
        RETURNING t.task_no INTO found_no;
        EXIT WHEN FOUND;             -- else another transaction has just opened it
    END LOOP;
    RETURN found_no;
END $$;

-- What the task is about has happened by itself, though it may wait for its next try: claimed and done, both moves logged.
CREATE FUNCTION postrider.task_done(biz_type text, biz_id text, code text, result jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    task bigint;
BEGIN
    UPDATE postrider.task AS t SET state = 'WAITING', moved_by = 'postrider', move_reason = code, updated_at = now()
    WHERE t.biz_type = biz_type AND t.biz_id = biz_id AND t.state = 'RETRY';
    UPDATE postrider.task AS t SET state = 'PROCESSING', moved_by = 'postrider', move_reason = code, updated_at = now()
    WHERE t.biz_type = biz_type AND t.biz_id = biz_id AND t.state = 'WAITING' RETURNING t.id INTO task;
    IF FOUND THEN
        UPDATE postrider.task AS t SET state = 'SUCCESS', last_error_code = code, result = t.result || result, next_run_at = NULL,
               last_run_at = now(), updated_at = now()
        WHERE t.id = task;
    END IF;
END $$;

-- telling -------------------------------------------------------------------------------------------------------

-- Writes the feed's row and the merchant's notification (the row and the bytes that enqueue_notification would write, with what only
-- Postrider knows of a payment), and runs the hook. Returns the notification's id. amount: the refund's where it is about one.
CREATE FUNCTION postrider.payment_tell(p postrider.payment, refund_id bigint, event text) RETURNS uuid
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    r postrider.refund;
    status CONSTANT text := postrider.status_of(p);
    told uuid := gen_random_uuid();
    hook text;
    fed jsonb;
BEGIN
    IF $2 IS NOT NULL THEN
        SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = $2;
    END IF;
    fed := jsonb_build_object('channel', p.channel, 'gateway_reference', p.gateway_reference, 'app_ref', p.app_ref,
        'captured', p.captured_minor, 'refunded', p.refunded_minor, 'paid_at', postrider.json_time(p.paid_at),
        'refund_no', r.refund_no, 'refund_state', r.state);
    INSERT INTO postrider.outbox (id, class, merchant_id, order_no, event, status, version, notify_id, notify_url, body)
    OVERRIDING SYSTEM VALUE
    SELECT nextval('postrider.outbox_id_seq'),
           CASE WHEN p.priority IS NOT NULL THEN p.priority
                WHEN m.tier = 'vip' OR a.amount >= l.large_minor THEN 0
                WHEN m.tier = 'small' OR a.amount < l.small_minor THEN 2
                ELSE 1 END,
           p.merchant_id, p.order_no, event, status, p.version, told, p.notify_url,
           convert_to('{"notify_id":"' || told || '","event":"' || event || '","merchant_id":"' || p.merchant_id
               || '","order_no":' || to_json(p.order_no) || ',"payment_id":' || p.id || ',"amount":' || a.amount
               || ',"currency":"' || p.currency || '","status":' || to_json(status) || ',"version":' || p.version
               || ',"occurred_at":"' || postrider.json_time(now()) || '","livemode":' || p.livemode::text
               || ',"failure":' || CASE WHEN f.code IS NULL THEN 'null'
                                        ELSE '{"code":' || to_json(f.code) || ',"message":' || coalesce(to_json(f.message)::text, 'null') || '}' END
               || ',"extra":' || p.extra::text || ',"data":' || jsonb_strip_nulls(fed)::text || '}', 'UTF8')
    FROM postrider.merchant AS m
    LEFT JOIN postrider.priority_rule AS l ON l.currency = p.currency
    CROSS JOIN LATERAL (SELECT coalesce(r.amount_minor, p.amount_minor) AS amount) AS a
    CROSS JOIN LATERAL (SELECT CASE WHEN event LIKE 'refund.%' THEN r.failure_code WHEN p.state = 'failed' THEN coalesce(p.failure_code, 'failed') END AS code,
                               CASE WHEN event LIKE 'refund.%' THEN r.failure_message ELSE p.failure_message END AS message) AS f
    WHERE m.id = p.merchant_id;
    IF NOT FOUND THEN
        told := NULL;
    END IF;
    fed := jsonb_strip_nulls(fed) || jsonb_build_object('payment_id', p.id, 'merchant_id', p.merchant_id, 'order_no', p.order_no,
        'event', event, 'state', p.state, 'status', status, 'amount', coalesce(r.amount_minor, p.amount_minor), 'currency', p.currency,
        'version', p.version, 'failure_code', p.failure_code);
    INSERT INTO postrider.payment_event (payment_id, refund_id, event, state, status, version, detail)
    VALUES (p.id, $2, event, p.state, status, p.version, fed);
    PERFORM pg_notify('postrider_payment', '');
    SELECT s.value INTO hook FROM postrider.setting AS s WHERE s.key = 'hooks.payment' AND s.value <> '';
    IF FOUND THEN
        PERFORM postrider.payment_hook(p, hook, fed);
    END IF;
    RETURN told;
END $$;

-- The application's own function, in a savepoint (P17). It is SECURITY DEFINER, so that it acts with its owner's rights, not ours.
-- Each event that it did not take is kept with its task.
CREATE FUNCTION postrider.payment_hook(p postrider.payment, hook text, fed jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    code text;
    message text;
    number text;
BEGIN
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_proc AS f WHERE f.oid = to_regprocedure(hook || '(jsonb)') AND f.prosecdef) THEN
            RAISE undefined_function USING MESSAGE = 'hooks.payment is no SECURITY DEFINER function of (jsonb): ' || hook;
        END IF;
        EXECUTE format('SELECT %s($1)', split_part(to_regprocedure(hook || '(jsonb)')::text, '(', 1)) USING fed;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
        number := postrider.task_open('settlement_writeback', p.id::text, 'WAITING', 'callback_failure', p.merchant_id, p.order_no, p.id,
                                      code, message, jsonb_build_object('events', jsonb_build_array(fed)));
        UPDATE postrider.task AS t SET request = jsonb_set(t.request, '{events}', t.request -> 'events' || fed)
        WHERE t.task_no = number AND jsonb_typeof(t.request -> 'events') = 'array' AND NOT t.request -> 'events' @> jsonb_build_array(fed);
    END;
END $$;

CREATE FUNCTION postrider.history_add(p postrider.payment, refund_id bigint, source text, event_id text, verdict text, from_state text,
                                      to_state text, evidence jsonb) RETURNS void
LANGUAGE sql SET search_path = pg_catalog AS $$
    INSERT INTO postrider.payment_history (payment_id, refund_id, source, event_id, verdict, from_state, to_state, version, evidence)
    VALUES (p.id, $2, $3, $4, $5, $6, $7, p.version, coalesce($8, '{}'))
$$;

-- To a person: a flag, not a state. Nothing is asked or sent any more until somebody says so; evidence still counts. Once.
CREATE FUNCTION postrider.payment_to_person(p postrider.payment, why text, evidence jsonb) RETURNS postrider.payment
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM postrider.call AS k WHERE k.payment_id = p.id AND k.refund_id IS NULL;
    IF p.manual THEN
        RETURN p;
    END IF;
    UPDATE postrider.payment AS x SET manual = true, manual_reason = why, updated_at = now(), version = nextval('postrider.outbox_id_seq')
    WHERE x.id = p.id RETURNING x.* INTO p;
    PERFORM postrider.task_open('payment_review', p.id::text, 'MANUAL', 'inspection', p.merchant_id, p.order_no, p.id, why,
                                'how this payment ended is not known', evidence);
    PERFORM postrider.history_add(p, NULL, 'postrider', NULL, 'manual: ' || why, p.state, p.state, evidence);
    IF p.state = 'processing' THEN
        PERFORM postrider.payment_tell(p, NULL, 'payment.unknown');
    END IF;
    RETURN p;
END $$;

CREATE FUNCTION postrider.refund_to_person(p postrider.payment, r postrider.refund, why text, evidence jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM postrider.call AS k WHERE k.refund_id = r.id;
    IF NOT r.manual THEN
        UPDATE postrider.refund AS x SET manual = true, manual_reason = why, updated_at = now() WHERE x.id = r.id;
        PERFORM postrider.history_add(p, r.id, 'postrider', NULL, 'manual: ' || why, r.state, r.state, evidence);
    END IF;
    PERFORM postrider.task_open('refund_review', r.id::text, 'MANUAL', 'inspection', p.merchant_id, p.order_no, p.id, why,
                                'what became of this refund is not known', evidence);
END $$;

-- comparing -----------------------------------------------------------------------------------------------------

-- The same rule as lib/gateway/compare.c (P10): NULL = about this payment and this money, else what does not agree. lenient: it was given
-- for this very payment (the application, a person): what it does not say is not asked. Neither is it of a refusal of our own call (402
-- and a code): that moves no money. A tracked payment's number may be the application's own at the gateway. More taken or given back than was
-- asked for is another amount, too; so is a refund that we know nothing of, of more than there is (only here: workers know theirs).
CREATE FUNCTION postrider.evidence_compare(c postrider.channel, p postrider.payment, r postrider.refund, e jsonb, lenient boolean) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
DECLARE
    asked CONSTANT boolean := coalesce((e ->> 'asked')::boolean, false);
    silent CONSTANT boolean := lenient OR coalesce(e ->> 'status', 'NONE') IN ('PENDING', 'NOT_FOUND', 'UNKNOWN', 'CANCELLED', 'NONE')
                               OR asked AND e ->> 'status' = 'FAILED';
    refund CONSTANT boolean := e ->> 'object' = 'refund';
    said CONSTANT jsonb := CASE WHEN refund THEN e -> 'refund_amount' ELSE e -> 'amount' END;
    numbers record;
BEGIN
    IF coalesce(e ->> 'flaw', '') <> '' OR said = '"flawed"' THEN
        RETURN CASE e ->> 'flaw' WHEN 'unknown_currency' THEN 'UNKNOWN_CURRENCY' ELSE 'FLAWED' END;
    ELSIF 'account' = ANY (c.match) AND (CASE WHEN coalesce(e ->> 'account', '') <> '' THEN e ->> 'account' <> c.account
                                              ELSE NOT (silent OR asked) END) THEN
        RETURN 'ACCOUNT_MISMATCH';
    END IF;
    SELECT bool_or(n.said = n.known) AS agree, bool_or(n.said <> n.known) AS differ INTO numbers
    FROM (SELECT e ->> 'request_no', coalesce(p.request_no, p.gateway_reference)
          UNION ALL SELECT e ->> 'reference', p.gateway_reference
          WHERE p.request_no IS NOT NULL OR (e ->> 'request_no') IS DISTINCT FROM p.gateway_reference
          UNION ALL SELECT e ->> 'refund_no', r.gateway_no WHERE refund
          UNION ALL SELECT e ->> 'refund_reference', r.gateway_reference WHERE refund) AS n (said, known)
    WHERE n.said <> '' AND n.known <> '';
    IF 'number' = ANY (c.match) AND (coalesce(numbers.differ, false) AND NOT (p.request_no IS NULL AND numbers.agree)
                                     OR NOT (coalesce(numbers.agree, false) OR silent))
       OR coalesce(e ->> 'reference', '') <> '' AND p.gateway_reference IS NULL AND EXISTS (
              SELECT FROM postrider.payment AS x WHERE x.channel_no = p.channel_no AND x.gateway_reference = e ->> 'reference') THEN
        RETURN 'NUMBER_MISMATCH';
    ELSIF 'amount' = ANY (c.match) AND (CASE
              WHEN said IS NULL OR said = 'null' THEN NOT silent
              WHEN jsonb_typeof(said) <> 'number' THEN true
              ELSE said::numeric <> CASE WHEN refund THEN r.amount_minor ELSE p.amount_minor END OR refund AND NOT silent AND said::numeric <= 0 END
              OR refund AND r.id IS NULL AND jsonb_typeof(said) = 'number' AND said::numeric > coalesce(p.captured_minor, p.amount_minor)
              OR EXISTS (SELECT FROM (VALUES (e -> 'captured_total'), (e -> 'refunded_total')) AS t (total)
                         WHERE jsonb_typeof(t.total) = 'number' AND t.total::numeric > p.amount_minor)) THEN
        RETURN 'AMOUNT_MISMATCH';
    ELSIF 'currency' = ANY (c.match) AND (CASE WHEN coalesce(e ->> 'currency', '') <> '' THEN e ->> 'currency' <> p.currency ELSE NOT silent END) THEN
        RETURN 'CURRENCY_MISMATCH';
    END IF;
    RETURN NULL;
END $$;

-- deciding ------------------------------------------------------------------------------------------------------

-- What evidence does, by what it is about, the state that it finds, and what it says. One row for each case: nothing is left open.
CREATE TABLE postrider.evidence_rule (
    object text NOT NULL, state text NOT NULL, says text NOT NULL, effect text NOT NULL,
    PRIMARY KEY (object, state, says)
);
-- says: money (it arrived, or went back), failure (one that cannot turn), closed, open (pending), nothing (unknown, not found ...)
-- effect: a move; open = processing, numbers and the payer's next action are taken; amounts = totals are; late = money after the end;
--         final, stale, duplicate, nothing = ignored, and why
INSERT INTO postrider.evidence_rule
SELECT o.object, s.state, s.says, s.effect FROM (VALUES
    ('payment', 'created',    'money', 'succeed'), ('payment', 'created',    'failure', 'fail'),      ('payment', 'created',    'closed', 'cancel'),    ('payment', 'created',    'open', 'open'),
    ('payment', 'processing', 'money', 'succeed'), ('payment', 'processing', 'failure', 'fail'),      ('payment', 'processing', 'closed', 'cancel'),    ('payment', 'processing', 'open', 'open'),
    ('payment', 'succeeded',  'money', 'amounts'), ('payment', 'succeeded',  'failure', 'final'),     ('payment', 'succeeded',  'closed', 'final'),     ('payment', 'succeeded',  'open', 'stale'),
    ('payment', 'failed',     'money', 'late'),    ('payment', 'failed',     'failure', 'duplicate'), ('payment', 'failed',     'closed', 'final'),     ('payment', 'failed',     'open', 'stale'),
    ('payment', 'cancelled',  'money', 'late'),    ('payment', 'cancelled',  'failure', 'final'),     ('payment', 'cancelled',  'closed', 'duplicate'), ('payment', 'cancelled',  'open', 'stale'),
    ('refund',  'created',    'money', 'succeed'), ('refund',  'created',    'failure', 'fail'),      ('refund',  'created',    'closed', 'fail'),      ('refund',  'created',    'open', 'open'),
    ('refund',  'processing', 'money', 'succeed'), ('refund',  'processing', 'failure', 'fail'),      ('refund',  'processing', 'closed', 'fail'),      ('refund',  'processing', 'open', 'open'),
    ('refund',  'succeeded',  'money', 'duplicate'), ('refund', 'succeeded', 'failure', 'reverse'),   ('refund',  'succeeded',  'closed', 'final'),     ('refund',  'succeeded',  'open', 'stale'),
    ('refund',  'failed',     'money', 'late'),    ('refund',  'failed',     'failure', 'duplicate'), ('refund',  'failed',     'closed', 'duplicate'), ('refund',  'failed',     'open', 'stale'),
    ('refund',  'cancelled',  'money', 'late'),    ('refund',  'cancelled',  'failure', 'final'),     ('refund',  'cancelled',  'closed', 'duplicate'), ('refund',  'cancelled',  'open', 'stale'),
    ('refund',  'reversed',   'money', 'final'),   ('refund',  'reversed',   'failure', 'duplicate'), ('refund',  'reversed',   'closed', 'duplicate'), ('refund',  'reversed',   'open', 'stale')
) AS s (object, state, says, effect) CROSS JOIN LATERAL (SELECT s.object) AS o
UNION ALL
SELECT o.object, o.state, 'nothing', 'nothing'
FROM (VALUES ('payment', 'created'), ('payment', 'processing'), ('payment', 'succeeded'), ('payment', 'failed'), ('payment', 'cancelled'),
             ('refund', 'created'), ('refund', 'processing'), ('refund', 'succeeded'), ('refund', 'failed'), ('refund', 'cancelled'),
             ('refund', 'reversed')) AS o (object, state);

-- A failure that may turn says nothing yet (R7); of a refund it does, unless it is to be tried again.
CREATE FUNCTION postrider.evidence_says(e jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN e ->> 'status' IN ('SUCCEEDED', 'REFUNDED', 'PARTIALLY_REFUNDED') THEN 'money'
        WHEN e ->> 'status' = 'FAILED' AND CASE WHEN e ->> 'object' = 'refund' THEN coalesce(e ->> 'action', '') <> 'retry'
                                                ELSE coalesce((e ->> 'final')::boolean, false) END THEN 'failure'
        WHEN e ->> 'status' = 'CANCELLED' THEN 'closed'
        WHEN e ->> 'status' = 'PENDING' THEN 'open'
        ELSE 'nothing' END
$$;

CREATE FUNCTION postrider.minor_of(e jsonb, name text) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT CASE WHEN jsonb_typeof(e -> name) = 'number' THEN (e ->> name)::numeric::bigint END
$$;

-- A payment's refunds as they count: those that went through; those that may.
CREATE FUNCTION postrider.refunds_of(payment_id bigint, OUT gone bigint, OUT open bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT coalesce(sum(r.amount_minor) FILTER (WHERE r.state = 'succeeded'), 0)::bigint,
           coalesce(sum(r.amount_minor) FILTER (WHERE r.state IN ('created', 'processing')), 0)::bigint
    FROM postrider.refund AS r WHERE r.payment_id = $1
$$;

-- A new call for a payment or refund, or the one that there is, re-dated.
CREATE FUNCTION postrider.call_put(p postrider.payment, refund_id bigint, operation text, delay interval, reason text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    known bigint;
BEGIN
    IF refund_id IS NULL THEN
        SELECT k.id INTO known FROM postrider.call AS k WHERE k.payment_id = p.id AND k.refund_id IS NULL;
    ELSE
        SELECT k.id INTO known FROM postrider.call AS k WHERE k.refund_id = refund_id;
    END IF;
    UPDATE postrider.call AS k
    SET operation = operation, class = CASE WHEN operation IN ('query', 'query_refund', 'expire') THEN 1 ELSE 0 END,
        due = clock_timestamp() + delay, reason = reason, lease_until = NULL, session = NULL
    WHERE k.id = known;
    IF NOT FOUND THEN
        -- made anew for what was sent before, by a person or a sweep: it may ask, it may not send again by itself
        INSERT INTO postrider.call (channel_no, class, operation, payment_id, refund_id, due, reason, salt, tries)
        SELECT p.channel_no, CASE WHEN operation IN ('query', 'query_refund', 'expire') THEN 1 ELSE 0 END, operation, p.id, refund_id,
               clock_timestamp() + delay, reason, postrider.random_salt(),
               CASE WHEN (SELECT r.sent_at FROM postrider.refund AS r WHERE r.id = refund_id) IS NOT NULL
                      OR refund_id IS NULL AND p.sent_at IS NOT NULL THEN 1000 ELSE 0 END;
    END IF;
END $$;

-- Money that arrived after the end, or a second time for one order: sent back, or a person's (R5, R6). Once per payment and kind.
CREATE FUNCTION postrider.money_too_many(c postrider.channel, p postrider.payment, kind text, amount bigint, evidence jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    back CONSTANT boolean := c.late_money = 'refund' AND 'refund' = ANY (c.operations);
    new_id bigint;
BEGIN
    IF amount <= 0 OR EXISTS (SELECT FROM postrider.task AS t WHERE t.payment_id = p.id AND t.biz_type = kind AND t.biz_id = p.id::text) THEN
        RETURN;
    END IF;
    PERFORM postrider.task_open(kind, p.id::text, CASE WHEN back THEN 'WAITING' ELSE 'MANUAL' END, 'inspection', p.merchant_id, p.order_no,
                                p.id, upper(kind), 'money that nobody waits for', evidence);
    IF back THEN
        INSERT INTO postrider.refund (payment_id, refund_no, amount_minor, reason, origin, state, gateway_no)
        VALUES (p.id, kind, amount, 'late payment', 'late_money', 'created',
                postrider.intent_key(p.merchant_id, p.order_no, p.channel, 'REFUND', p.id || ':' || kind, c.number_max))
        RETURNING id INTO new_id;
        PERFORM postrider.call_put(p, new_id, 'refund', interval '0', kind);
    END IF;
END $$;

-- Carries out what the rule says about a payment. Returns the verdict.
CREATE FUNCTION postrider.payment_apply(c postrider.channel, p postrider.payment, source text, e jsonb, event_id text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    former CONSTANT postrider.payment := p;
    effect text;
    seen bigint;
    refunds record;
    occurred CONSTANT timestamptz := postrider.time_of_us(e ->> 'occurred_at_us');
    verdict text;
    told uuid;
BEGIN
    SELECT r.effect INTO effect FROM postrider.evidence_rule AS r
    WHERE r.object = 'payment' AND r.state = p.state AND r.says = postrider.evidence_says(e);
    IF effect = 'open' AND occurred < p.occurred_at THEN
        effect := 'stale';
    ELSIF effect = 'fail' AND e ->> 'reason' = 'risk_refused' AND c.risk = 'person' AND source NOT IN ('person', 'report') THEN
        PERFORM postrider.payment_to_person(p, 'RISK_REFUSED', e);
        RETURN 'held: RISK_REFUSED';
    END IF;

    IF effect IN ('succeed', 'amounts', 'late') THEN
        p.captured_minor := greatest(p.captured_minor, coalesce(postrider.minor_of(e, 'captured_total'),
            CASE WHEN p.captured_minor > 0 THEN p.captured_minor ELSE p.amount_minor END));
        seen := coalesce(postrider.minor_of(e, 'refunded_total'),
            CASE WHEN e ->> 'status' = 'REFUNDED' AND coalesce(e ->> 'follow_up', 'none') <> 'query_refunds' THEN p.captured_minor END, 0);
        p.refunded_seen := greatest(p.refunded_seen, least(seen, p.captured_minor));
        refunds := postrider.refunds_of(p.id);
        p.refunded_minor := greatest(p.refunded_minor, p.refunded_seen, refunds.gone);
        p.paid_at := coalesce(p.paid_at, postrider.time_of_us(e ->> 'paid_at_us'), now());
        p.paid_before := true;
    END IF;
    IF effect IN ('succeed', 'fail', 'cancel', 'open', 'amounts', 'late') THEN
        p.gateway_reference := coalesce(p.gateway_reference, nullif(e ->> 'reference', ''));
        p.occurred_at := greatest(p.occurred_at, occurred);
    END IF;
    CASE effect
        WHEN 'succeed' THEN p.state := 'succeeded';
        WHEN 'fail' THEN
            p.state := 'failed';
            p.failure_code := coalesce(nullif(e ->> 'failure_code', ''), nullif(e ->> 'reason', ''), 'failed');
            p.failure_message := nullif(e ->> 'failure_message', '');
        WHEN 'cancel' THEN p.state := 'cancelled';
        WHEN 'open' THEN
            p.state := 'processing';
            p.next_action_kind := coalesce(nullif(e ->> 'next_action_kind', ''), p.next_action_kind);
            p.next_action := coalesce(nullif(e ->> 'next_action', ''), p.next_action);
        ELSE NULL;
    END CASE;
    IF source = 'webhook' AND p.webhook_ms IS NULL THEN
        p.webhook_ms := greatest(0, extract(epoch FROM clock_timestamp() - p.created_at) * 1000)::bigint;
    END IF;
    verdict := CASE
        WHEN effect IN ('final', 'stale', 'duplicate') THEN 'ignored: ' || effect
        WHEN effect = 'late' THEN 'ignored: final'
        WHEN effect = 'nothing' THEN 'ignored: no news'
        WHEN (p.state, p.captured_minor, p.refunded_minor) IS DISTINCT FROM (former.state, former.captured_minor, former.refunded_minor)
          OR (p.gateway_reference, p.next_action_kind, p.next_action)
             IS DISTINCT FROM (former.gateway_reference, former.next_action_kind, former.next_action) THEN 'applied'
        ELSE 'ignored: duplicate' END;
    PERFORM postrider.payment_write(former, p, source);
    IF verdict = 'applied' OR effect <> 'nothing' AND source <> 'query' THEN
        SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = p.id;
        PERFORM postrider.history_add(p, NULL, source, event_id, verdict, former.state, p.state, e);
    END IF;
    PERFORM postrider.payment_follow(c, former, p, effect, e);
    RETURN verdict;
END $$;

-- Writes what has changed, created to processing first where a payment ends that was never known as sent.
CREATE FUNCTION postrider.payment_write(former postrider.payment, p postrider.payment, source text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    was CONSTANT text := former.state;
    news boolean;
BEGIN
    IF p IS NOT DISTINCT FROM former THEN
        RETURN;
    END IF;
    former.webhook_ms := p.webhook_ms;
    former.occurred_at := p.occurred_at;
    news := p IS DISTINCT FROM former;
    IF was = 'created' AND p.state IN ('succeeded', 'failed') THEN
        UPDATE postrider.payment AS x SET state = 'processing' WHERE x.id = p.id;
    END IF;
    UPDATE postrider.payment AS x
    SET state = p.state, captured_minor = p.captured_minor, refunded_seen = p.refunded_seen, refunded_minor = p.refunded_minor,
        gateway_reference = p.gateway_reference, failure_code = p.failure_code, failure_message = p.failure_message,
        next_action_kind = p.next_action_kind, next_action = p.next_action, paid_before = p.paid_before, paid_at = p.paid_at,
        occurred_at = p.occurred_at, webhook_ms = p.webhook_ms, updated_at = now(),
        version = CASE WHEN news THEN nextval('postrider.outbox_id_seq') ELSE x.version END,
        final_at = CASE WHEN f.ends THEN clock_timestamp() ELSE x.final_at END, ended_by = CASE WHEN f.ends THEN source ELSE x.ended_by END,
        manual = x.manual AND NOT f.ends
    FROM (SELECT p.state IN ('succeeded', 'failed', 'cancelled') AND p.state <> was AS ends) AS f
    WHERE x.id = p.id;
END $$;

-- What follows: calls end, the merchant and the application are told, money too many is sent back.
CREATE FUNCTION postrider.payment_follow(c postrider.channel, former postrider.payment, p postrider.payment, effect text, e jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    told uuid;
    refunds record;
BEGIN
    IF effect IN ('succeed', 'fail', 'cancel') THEN
        SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = p.id;
        DELETE FROM postrider.call AS k WHERE k.payment_id = p.id AND k.refund_id IS NULL;
        told := postrider.payment_tell(p, NULL, 'payment.' || p.state);
        UPDATE postrider.payment AS x SET notify_id = told WHERE x.id = p.id RETURNING x.* INTO p;
        IF effect = 'succeed' AND c.order_policy = 'single' AND EXISTS (
               SELECT FROM postrider.payment AS o WHERE o.merchant_id = p.merchant_id AND o.order_no = p.order_no
               AND o.id <> p.id AND o.state = 'succeeded') THEN
            PERFORM postrider.money_too_many(c, p, 'second_success', p.captured_minor, e);
        END IF;
    ELSIF effect = 'late' THEN
        PERFORM postrider.money_too_many(c, p, 'late_money', p.captured_minor - p.refunded_minor, e);
    ELSIF coalesce(e ->> 'action', '') = 'person' AND p.state IN ('created', 'processing') THEN
        PERFORM postrider.payment_to_person(p, upper(coalesce(nullif(e ->> 'reason', ''), 'channel_says_so')), e);
    END IF;
    -- refunds that are not ours: told once for each change of the total
    refunds := postrider.refunds_of(p.id);
    IF effect IN ('succeed', 'amounts') AND p.refunded_seen > former.refunded_seen AND p.refunded_seen > refunds.gone + refunds.open THEN
        UPDATE postrider.payment AS x SET version = nextval('postrider.outbox_id_seq') WHERE x.id = p.id RETURNING x.* INTO p;
        PERFORM postrider.payment_tell(p, NULL, CASE WHEN p.refunded_minor >= p.captured_minor THEN 'payment.refunded' ELSE 'payment.partially_refunded' END);
    ELSIF effect IN ('succeed', 'amounts') AND e ->> 'follow_up' = 'query_refunds' AND postrider.minor_of(e, 'refunded_total') IS NULL
          AND refunds.gone + refunds.open = 0 THEN
        PERFORM postrider.task_open('refund_unclear', p.id::text, 'MANUAL', 'inspection', p.merchant_id, p.order_no, p.id, 'REFUND_AMOUNT_UNKNOWN',
                                    'the channel says that money went back, not how much', e);
    END IF;
END $$;

-- The refund that evidence is about: ours by its numbers, else (not yet written) the channel's own.
CREATE FUNCTION postrider.refund_of(p postrider.payment, e jsonb) RETURNS postrider.refund
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    r postrider.refund;
BEGIN
    SELECT x.* INTO r FROM postrider.refund AS x
    WHERE x.payment_id = p.id AND (x.gateway_no = e ->> 'refund_no' OR x.gateway_reference = e ->> 'refund_reference')
    ORDER BY x.id LIMIT 1;
    IF NOT FOUND THEN
        r.payment_id := p.id;
        r.refund_no := 'gw:' || coalesce(nullif(e ->> 'refund_reference', ''), nullif(e ->> 'refund_no', ''));
        r.amount_minor := postrider.minor_of(e, 'refund_amount');
        r.state := 'processing';
    END IF;
    RETURN r;
END $$;

-- Carries out what the rule says about a refund.
CREATE FUNCTION postrider.refund_apply(c postrider.channel, p postrider.payment, r postrider.refund, source text, e jsonb, event_id text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    former CONSTANT text := r.state;
    effect text;
    verdict text;
    refunds record;
BEGIN
    IF r.id IS NULL THEN          -- the channel tells of a refund that is not ours
        IF r.refund_no IS NULL OR coalesce(r.amount_minor, 0) <= 0 OR postrider.evidence_says(e) <> 'money' THEN
            RETURN 'ignored: no news';
        END IF;
        INSERT INTO postrider.refund (payment_id, refund_no, amount_minor, origin, state, gateway_reference)
        VALUES (p.id, left(r.refund_no, 128), r.amount_minor, 'gateway', 'processing', nullif(e ->> 'refund_reference', '')) RETURNING * INTO r;
    END IF;
    SELECT x.effect INTO effect FROM postrider.evidence_rule AS x
    WHERE x.object = 'refund' AND x.state = r.state AND x.says = postrider.evidence_says(e);
    IF r.state = 'created' AND effect IN ('succeed', 'fail', 'open') THEN
        UPDATE postrider.refund AS x SET state = 'processing' WHERE x.id = r.id;
    END IF;
    UPDATE postrider.refund AS x
    SET state = CASE effect WHEN 'succeed' THEN 'succeeded' WHEN 'fail' THEN 'failed' WHEN 'reverse' THEN 'reversed' ELSE x.state END,
        gateway_reference = coalesce(x.gateway_reference, nullif(e ->> 'refund_reference', '')),
        failure_code = CASE WHEN effect IN ('fail', 'reverse') THEN coalesce(nullif(e ->> 'failure_code', ''), nullif(e ->> 'reason', ''), 'failed') END,
        failure_message = CASE WHEN effect IN ('fail', 'reverse') THEN nullif(e ->> 'failure_message', '') END,
        final_at = CASE WHEN effect IN ('succeed', 'fail', 'reverse') THEN clock_timestamp() ELSE x.final_at END,
        manual = x.manual AND effect NOT IN ('succeed', 'fail', 'reverse'), updated_at = now()
    WHERE x.id = r.id AND effect IN ('succeed', 'fail', 'reverse', 'open');
    SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = r.id;      -- not by RETURNING, which makes it NULL where nothing was written
    verdict := CASE WHEN effect IN ('succeed', 'fail', 'reverse') THEN 'applied'
                    WHEN effect = 'open' THEN CASE WHEN former = 'created' THEN 'applied' ELSE 'ignored: duplicate' END
                    WHEN effect = 'nothing' THEN 'ignored: no news'
                    WHEN effect = 'late' THEN 'ignored: final' ELSE 'ignored: ' || effect END;
    IF effect IN ('succeed', 'fail', 'reverse') THEN
        DELETE FROM postrider.call AS k WHERE k.refund_id = r.id;
        refunds := postrider.refunds_of(p.id);
        UPDATE postrider.payment AS x
        SET refunded_seen = CASE effect WHEN 'reverse' THEN greatest(x.refunded_seen - r.amount_minor, 0) ELSE x.refunded_seen END,
            refunded_minor = greatest(refunds.gone, CASE effect WHEN 'reverse' THEN greatest(x.refunded_seen - r.amount_minor, 0) ELSE x.refunded_seen END),
            updated_at = now(), version = nextval('postrider.outbox_id_seq')
        WHERE x.id = p.id RETURNING x.* INTO p;
        PERFORM postrider.payment_tell(p, r.id, 'refund.' || r.state);
        IF r.origin = 'late_money' AND effect = 'succeed' THEN
            PERFORM postrider.task_done(r.refund_no, p.id::text, 'REFUNDED', jsonb_build_object('refund_id', r.id));
        END IF;
    END IF;
    IF verdict = 'applied' OR effect <> 'nothing' AND source <> 'query_refund' THEN
        PERFORM postrider.history_add(p, r.id, source, event_id, verdict, former, r.state, e);
    END IF;
    IF effect = 'late' OR effect IN ('fail', 'reverse') AND r.origin = 'late_money' THEN
        PERFORM postrider.refund_to_person(p, r, CASE effect WHEN 'late' THEN 'REFUND_SUCCEEDED_AFTER_END' ELSE 'LATE_MONEY_NOT_REFUNDED' END, e);
    ELSIF coalesce(e ->> 'action', '') = 'person' AND r.state IN ('created', 'processing') THEN
        PERFORM postrider.refund_to_person(p, r, upper(coalesce(nullif(e ->> 'reason', ''), 'channel_says_so')), e);
    END IF;
    RETURN verdict;
END $$;

CREATE FUNCTION postrider.dispute_apply(p postrider.payment, source text, e jsonb, event_id text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    d postrider.dispute;
    name CONSTANT text := coalesce(nullif(e ->> 'refund_reference', ''), nullif(e ->> 'reference', ''), 'dispute');
    now_state CONSTANT text := CASE postrider.evidence_says(e) WHEN 'money' THEN 'won' WHEN 'failure' THEN 'lost' WHEN 'closed' THEN 'won' ELSE 'open' END;
BEGIN
    SELECT x.* INTO d FROM postrider.dispute AS x WHERE x.payment_id = p.id AND x.reference = name;
    IF NOT FOUND THEN
        INSERT INTO postrider.dispute (payment_id, reference, state, amount_minor, reason)
        VALUES (p.id, name, 'open', coalesce(postrider.minor_of(e, 'refund_amount'), postrider.minor_of(e, 'amount')), nullif(e ->> 'reason', ''));
    ELSIF d.state <> 'open' OR now_state = 'open' THEN
        PERFORM postrider.history_add(p, NULL, source, event_id, 'ignored: ' || CASE WHEN d.state = now_state THEN 'duplicate' ELSE 'final' END, d.state, d.state, e);
        RETURN 'ignored: ' || CASE WHEN d.state = now_state THEN 'duplicate' ELSE 'final' END;
    END IF;
    IF now_state <> 'open' THEN
        UPDATE postrider.dispute AS x SET state = now_state, updated_at = now() WHERE x.payment_id = p.id AND x.reference = name;
    END IF;
    UPDATE postrider.payment AS x SET version = nextval('postrider.outbox_id_seq'), updated_at = now() WHERE x.id = p.id RETURNING x.* INTO p;
    PERFORM postrider.payment_tell(p, NULL, CASE now_state WHEN 'open' THEN 'payment.disputed' ELSE 'dispute.' || now_state END);
    PERFORM postrider.history_add(p, NULL, source, event_id, 'applied', d.state, now_state, e);
    RETURN 'applied';
END $$;

-- THE door. source: webhook | charge | capture | query | refund | query_refund | close (answers to our calls) | report (the application) |
-- person | reconciliation. evidence: as lib/gateway/evidence_json.h writes it. event_id: of the application's report, once per payment.
-- Returns 'applied' | 'ignored: final|stale|duplicate|no news|unknown payment' | 'held: ACCOUNT_MISMATCH|NUMBER_MISMATCH|AMOUNT_MISMATCH|
-- CURRENCY_MISMATCH|FLAWED|UNKNOWN_CURRENCY|RISK_REFUSED' (state unchanged, one MANUAL task).
CREATE FUNCTION postrider.apply_evidence(payment_id bigint, refund_id bigint, source text, evidence jsonb, event_id text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    object CONSTANT text := coalesce(evidence ->> 'object', 'payment');
    p postrider.payment;
    r postrider.refund;
    c postrider.channel;
    held text;
BEGIN
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = $1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN 'ignored: unknown payment';
    ELSIF event_id IS NOT NULL AND EXISTS (SELECT FROM postrider.payment_history AS h WHERE h.payment_id = $1 AND h.event_id = $5) THEN
        RETURN 'ignored: duplicate';
    END IF;
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.no = p.channel_no;
    IF object = 'refund' THEN
        IF $2 IS NULL THEN
            r := postrider.refund_of(p, evidence);
        ELSE
            SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = $2 AND x.payment_id = p.id;
        END IF;
    END IF;
    IF object <> 'none' THEN
        held := postrider.evidence_compare(c, p, r, evidence, source IN ('report', 'person'));
    END IF;
    IF held IS NOT NULL THEN
        PERFORM postrider.task_open('evidence_mismatch', p.id::text, 'MANUAL', 'inspection', p.merchant_id, p.order_no, p.id, held,
                                    'evidence does not agree with the payment', evidence);
        IF source = 'webhook' OR NOT EXISTS (SELECT FROM postrider.payment_history AS h
                WHERE h.payment_id = p.id AND h.source = $3 AND h.verdict = 'held: ' || held) THEN     -- polls say it again and again
            PERFORM postrider.history_add(p, r.id, source, event_id, 'held: ' || held, p.state, p.state, evidence);
        END IF;
        RETURN 'held: ' || held;
    END IF;
    RETURN CASE object
        WHEN 'payment' THEN postrider.payment_apply(c, p, source, evidence, event_id)
        WHEN 'refund' THEN postrider.refund_apply(c, p, r, source, evidence, event_id)
        WHEN 'dispute' THEN postrider.dispute_apply(p, source, evidence, event_id)
        ELSE 'ignored: no news' END;
END $$;

RESET ROLE;
