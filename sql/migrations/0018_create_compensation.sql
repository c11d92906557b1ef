-- 0018 create compensation: who works on tasks, how one is claimed, what is looked at first, how a run ends, what a lost worker leaves.
-- why:   a task is repaired by `compensator` straight from the database, so that repair goes on when bus, broker and schedulers are what is
--        broken (docs/adr, "the compensator claims from the database").
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION, VIEW and TABLE for each.
--
-- Locks are taken in the order of 0010: webhooks and payments before the task that is about them.

SET LOCAL ROLE postrider_owner;

-- kinds ---------------------------------------------------------------------------------------------------------

-- handler: callback (the journaled webhook again), verify and repair (ask the channel), refund (late money goes back), refund_review (ask what
-- became of a refund), writeback (the hook again), http (the compensator's configuration has it), person. A kind that is not here, or whose
-- handler is person, is a person's.
CREATE TABLE postrider.task_kind (
    biz_type text PRIMARY KEY CHECK (biz_type ~ '^[a-z0-9_]{1,64}$'),
    handler text NOT NULL CHECK (handler IN ('callback', 'verify', 'repair', 'refund', 'refund_review', 'writeback', 'http', 'person')),
    retry_limit int NOT NULL CHECK (retry_limit BETWEEN 1 AND 1000),
    own_handler text, own_limit int                  -- what it is without a configuration; NULL: the configuration's own kind
);
INSERT INTO postrider.task_kind (biz_type, handler, retry_limit, own_handler, own_limit)
SELECT k.biz_type, k.handler, k.most, k.handler, k.most FROM (VALUES
    ('payment_callback', 'callback', 10), ('state_verification', 'verify', 10), ('state_repair', 'repair', 10), ('delivery', 'person', 3),
    ('settlement_writeback', 'writeback', 10), ('late_money', 'refund', 10), ('second_success', 'refund', 10), ('payment_review', 'repair', 10),
    ('refund_review', 'refund_review', 10), ('refund_unclear', 'person', 10), ('evidence_mismatch', 'person', 10), ('channel_stopped', 'person', 10)
) AS k (biz_type, handler, most);

-- What a compensator's configuration says: {"KIND": {"handler": "http" (or left out: its own), "limit": n}}. All of it: a kind that is not named
-- is as it was born, or gone. The last one that starts decides.
CREATE FUNCTION postrider.tasks_configure(kinds jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(kinds) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'kinds is not an object', HINT = '{"KIND": {"handler": "http", "limit": 10}}';
    END IF;
    PERFORM pg_advisory_xact_lock(1886548340);
    DELETE FROM postrider.task_kind AS k WHERE k.own_handler IS NULL AND NOT kinds ? k.biz_type;
    UPDATE postrider.task_kind AS k SET handler = k.own_handler, retry_limit = k.own_limit
    WHERE NOT kinds ? k.biz_type AND (k.handler, k.retry_limit) IS DISTINCT FROM (k.own_handler, k.own_limit);
    INSERT INTO postrider.task_kind AS k (biz_type, handler, retry_limit)
    SELECT n.key, coalesce(n.value ->> 'handler', 'person'), coalesce((n.value ->> 'limit')::int, 10) FROM jsonb_each(kinds) AS n
    ON CONFLICT (biz_type) DO UPDATE
    SET handler = coalesce(kinds -> k.biz_type ->> 'handler', k.own_handler, 'person'),
        retry_limit = coalesce((kinds -> k.biz_type ->> 'limit')::int, k.own_limit, 10);
EXCEPTION WHEN check_violation OR data_exception THEN
    RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'a kind has a name, handler or limit that it does not take',
        HINT = 'Names of a-z, 0-9 and _ (64), handler http, limit 1 to 1000.';
END $$;

-- sessions ------------------------------------------------------------------------------------------------------

-- A compensator's life. Its connection holds an advisory lock: who is gone is seen to be gone, without a heartbeat.
CREATE TABLE postrider.task_session (
    id uuid PRIMARY KEY, pid int NOT NULL, address text NOT NULL,
    started timestamptz NOT NULL DEFAULT now(), ended timestamptz
);
CREATE INDEX task_session_live_idx ON postrider.task_session (id) WHERE ended IS NULL;

CREATE FUNCTION postrider.task_session_end(session uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    UPDATE postrider.task_session AS s SET ended = clock_timestamp() WHERE s.id = $1 AND s.ended IS NULL;
    RETURN FOUND;
END $$;

CREATE FUNCTION postrider.task_session_open(address text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    id CONSTANT uuid := gen_random_uuid();
BEGIN
    PERFORM postrider.task_session_end(s.id) FROM postrider.task_session AS s WHERE s.pid = pg_backend_pid() AND s.ended IS NULL;
    PERFORM pg_advisory_lock(postrider.call_session_key(id));
    INSERT INTO postrider.task_session (id, pid, address) VALUES (id, pg_backend_pid(), left(coalesce(address, ''), 128));
    DELETE FROM postrider.task_session AS s WHERE s.ended < now() - interval '7 days';
    RETURN id;
END $$;

CREATE FUNCTION postrider.task_session_live(session uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT EXISTS (SELECT FROM postrider.task_session AS s WHERE s.id = $1 AND s.ended IS NULL
                   AND postrider.session_connected(postrider.call_session_key(s.id), s.pid))
$$;

-- moves ---------------------------------------------------------------------------------------------------------

-- Tasks whose worker was lost (task_after).
CREATE VIEW postrider.task_incidents AS
SELECT t.task_no, t.biz_type, t.merchant_id, t.order_no, l.at, l.reason, l.detail #>> '{incident,owner}' AS owner,
       (l.detail #>> '{incident,locked_at}')::timestamptz AS locked_at, (l.detail #>> '{incident,held_s}')::bigint AS held_s
FROM postrider.task AS t JOIN postrider.task_log AS l ON l.task_id = t.id
WHERE l.from_state = 'PROCESSING' AND l.to_state = 'WAITING';

-- A run begins with a claim and ends as the task leaves PROCESSING: by itself, or because its worker is lost. One that is going on ends NULL.
CREATE VIEW postrider.task_runs AS
SELECT t.task_no, t.biz_type, t.merchant_id, t.order_no,
       (SELECT count(*) FROM postrider.task_log AS x WHERE x.task_id = c.task_id AND x.to_state = 'PROCESSING' AND x.id <= c.id)::int AS run,
       c.at AS started_at, c.who AS worker, e.at AS ended_at, e.to_state AS ended, coalesce(e.detail ->> 'error_code', e.reason) AS code,
       e.detail ->> 'error_message' AS message
FROM postrider.task AS t
JOIN postrider.task_log AS c ON c.task_id = t.id AND c.to_state = 'PROCESSING'
LEFT JOIN LATERAL (SELECT l.at, l.to_state, l.reason, l.detail FROM postrider.task_log AS l WHERE l.task_id = c.task_id AND l.id > c.id
                   ORDER BY l.id LIMIT 1) AS e ON true;
COMMENT ON VIEW postrider.task_runs IS 'Every run of every task. Look up by task_no, or by merchant_id and order_no.';

-- For the reconciler: a task that knows its difference. The difference keeps the number that this returns; a task that was open already keeps
-- the first difference it was opened for.
CREATE FUNCTION postrider.task_for_difference(difference_id bigint, biz_type text, biz_id text, state text, merchant_id text, order_no text,
                                              payment_id bigint, code text, message text, request jsonb) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    number CONSTANT text := postrider.task_open($2, $3, $4, 'difference', $5, $6, $7, $8, $9, $10);
BEGIN
    UPDATE postrider.task AS t SET difference_id = $1 WHERE t.task_no = number AND t.difference_id IS NULL;
    RETURN number;
END $$;

-- The key of what a task does, the same on every try and for whatever task comes after it about the same object (C3). Length-prefixed.
CREATE FUNCTION postrider.task_key_of(t postrider.task) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT encode(sha256(convert_to(string_agg(octet_length(p.part) || ':' || p.part, '' ORDER BY p.at), 'UTF8')), 'hex')
    FROM unnest(ARRAY['TASK', coalesce(t.merchant_id, ''), coalesce(t.order_no, ''), t.biz_type, t.biz_id,
                      coalesce(t.request #>> '{events,-1,version}', '')]) WITH ORDINALITY AS p (part, at)
$$;

-- How a run ends. outcome: success | retry (counts as a try) | wait (does not: what it waits for has limits of its own) | person.
-- t is locked, PROCESSING, and the caller's. The last try fails, and is a person's at once. Returns the state.
CREATE FUNCTION postrider.task_end(t postrider.task, outcome text, code text, message text, result jsonb, retry_in interval) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    tries CONSTANT int := t.retry_count + (outcome = 'retry')::int;
    ended CONSTANT text := CASE WHEN outcome = 'success' THEN 'SUCCESS' WHEN outcome = 'person' THEN 'MANUAL'
                                WHEN outcome = 'retry' AND tries >= t.retry_limit THEN 'FAILED' ELSE 'RETRY' END;
BEGIN
    UPDATE postrider.task AS x
    SET state = ended, retry_count = tries, next_run_at = CASE ended WHEN 'RETRY' THEN clock_timestamp() + coalesce(retry_in, interval '1 h') END,
        last_error_code = left($3, 64), last_error_message = left($4, 500), result = x.result || coalesce($5, '{}'), lock_owner = NULL,
        lock_session = NULL, lock_token = NULL, locked_at = NULL, moved_by = coalesce(t.lock_owner, 'compensator'),
        move_reason = left(coalesce($3, ''), 500), updated_at = now()
    WHERE x.id = t.id;
    IF ended = 'FAILED' THEN
        UPDATE postrider.task AS x SET state = 'MANUAL', move_reason = 'RETRIES_EXHAUSTED', updated_at = now() WHERE x.id = t.id;
        RETURN 'MANUAL';
    END IF;
    RETURN ended;
END $$;

-- The caller's task, locked; nothing where the token is not, or no longer, the one that it was claimed with.
CREATE FUNCTION postrider.task_held(token uuid) RETURNS postrider.task
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    t postrider.task;
BEGIN
    SELECT x.* INTO t FROM postrider.task AS x WHERE x.lock_token = $1 AND x.state = 'PROCESSING' FOR NO KEY UPDATE;
    RETURN t;
END $$;

-- looking first (C3) --------------------------------------------------------------------------------------------

-- Whether a payment stands as somebody says it does: by state, or by published status.
CREATE FUNCTION postrider.payment_stands(p postrider.payment, said text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT lower($2) IN (p.state, postrider.status_of(p)) AND p.state NOT IN ('created', 'processing')
$$;

-- What the present state of the order already says about a claimed task: a state to end it with, 'WAIT' (not yet), or NULL: act.
CREATE FUNCTION postrider.task_look(t postrider.task, handler text, OUT state text, OUT code text, OUT message text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    p postrider.payment;
    w postrider.webhook;
    paid record;
BEGIN
    state := 'MANUAL';
    IF handler IS NULL OR handler = 'person' THEN
        code := CASE WHEN handler IS NULL OR t.biz_type = 'delivery' THEN 'NO_HANDLER' ELSE 'FOR_A_PERSON' END;
        message := 'no handler is configured for ' || t.biz_type;
        RETURN;
    ELSIF t.retry_count >= t.retry_limit THEN
        state := 'FAILED';
        code := 'RETRIES_EXHAUSTED';
        message := 'its workers were lost ' || t.retry_count || ' times';
        RETURN;
    ELSIF handler = 'callback' THEN
        SELECT x.* INTO w FROM postrider.webhook AS x
        WHERE x.id = CASE WHEN t.biz_id ~ '^webhook:[0-9]{1,18}$' THEN split_part(t.biz_id, ':', 2)::bigint END;
        IF w.id IS NULL OR EXISTS (SELECT FROM jsonb_array_elements(w.items) AS i (value) WHERE coalesce(i.value #>> '{evidence,object}', 'none') <> 'none'
                                   AND postrider.evidence_payment(w.channel_no, i.value -> 'evidence') IS NULL) THEN
            code := 'ORDER_NOT_FOUND';
            message := 'the webhook names no order that is known';
            RETURN;
        END IF;
        state := CASE WHEN w.state IN ('applied', 'ignored') THEN 'SUCCESS' END;
    ELSIF t.payment_id IS NOT NULL OR t.order_no IS NOT NULL THEN
        SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = t.payment_id;
        SELECT bool_or(x.state = 'succeeded' AND x.captured_minor > x.refunded_minor) AS now, bool_or(x.state IN ('created', 'processing')) AS maybe,
               bool_or(x.refunded_minor > 0) AS back, count(*) > 0 AS known
        INTO paid FROM postrider.payment AS x WHERE x.merchant_id = t.merchant_id AND x.order_no = t.order_no;
        IF p.id IS NULL AND (t.payment_id IS NOT NULL OR NOT paid.known) THEN
            code := 'ORDER_NOT_FOUND';
            message := 'there is no such order';
            RETURN;
        END IF;
        IF t.biz_type = 'delivery' AND NOT EXISTS (SELECT FROM postrider.fulfilment AS f WHERE f.merchant_id = t.merchant_id AND f.order_no = t.order_no
                                                   AND f.state = 'delivered') AND NOT coalesce(paid.now, false) THEN
            state := CASE WHEN paid.maybe THEN 'WAIT' ELSE 'MANUAL' END;
            code := CASE WHEN paid.maybe THEN 'NOT_PAID_YET' WHEN paid.back THEN 'ORDER_REFUNDED' ELSE 'ORDER_NOT_PAID' END;
            message := 'what is not paid is not delivered';
            RETURN;
        END IF;
        state := CASE
            WHEN t.biz_type = 'delivery' THEN (SELECT 'SUCCESS' FROM postrider.fulfilment AS f
                WHERE f.merchant_id = t.merchant_id AND f.order_no = t.order_no AND f.state = 'delivered')
            WHEN handler = 'repair' AND CASE WHEN t.request ? 'channel_state' THEN postrider.payment_stands(p, t.request ->> 'channel_state')
                                             ELSE p.state NOT IN ('created', 'processing') END THEN 'SUCCESS'
            WHEN handler = 'refund' AND EXISTS (SELECT FROM postrider.refund AS r WHERE r.payment_id = p.id AND r.refund_no = t.biz_type
                                                AND r.state = 'succeeded') THEN 'SUCCESS'
            WHEN handler = 'refund_review' AND EXISTS (SELECT FROM postrider.refund AS r WHERE r.id::text = t.biz_id
                                                       AND r.state NOT IN ('created', 'processing')) THEN 'SUCCESS' END;
    ELSE
        state := NULL;
    END IF;
    -- what was done once for this object is not done again: all but what asks, or follows a payment that goes on
    IF state IS NULL AND handler = 'http' AND t.biz_type NOT IN ('delivery', 'settlement_writeback')
       AND EXISTS (SELECT FROM postrider.task AS x WHERE x.biz_type = t.biz_type AND x.biz_id = t.biz_id AND x.state = 'SUCCESS'
                   AND x.merchant_id IS NOT DISTINCT FROM t.merchant_id) THEN
        state := 'SUCCESS';
    END IF;
    IF state = 'SUCCESS' THEN
        code := 'ORDER_ALREADY_FINISHED';
        message := 'nothing was left to do';
    END IF;
END $$;

-- What a handler may know of a task: its order as it stands now, not as the request remembers it.
CREATE FUNCTION postrider.task_facts(t postrider.task) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT jsonb_build_object('task_no', t.task_no, 'kind', t.biz_type, 'object', t.biz_id, 'merchant_id', t.merchant_id, 'order_no', t.order_no,
        'source', t.source, 'tries', t.retry_count, 'created_at', postrider.json_time(t.created_at), 'given', t.request,
        'payment', o.payments -> -1, 'payments', o.payments,
        'fulfilment', (SELECT f.state FROM postrider.fulfilment AS f WHERE f.merchant_id = t.merchant_id AND f.order_no = t.order_no))
    FROM (SELECT coalesce(jsonb_agg(postrider.payment_json(p) ORDER BY p.state = 'succeeded', p.id), '[]') AS payments
          FROM (SELECT * FROM postrider.payment AS x WHERE x.id = t.payment_id
                UNION SELECT * FROM postrider.payment AS x WHERE t.payment_id IS NULL AND x.merchant_id = t.merchant_id AND x.order_no = t.order_no) AS p) AS o
$$;

-- claiming ------------------------------------------------------------------------------------------------------

-- Takes at most `most` that are due, each with a token of its own, and looks at its order in the same transaction: what needs no act is ended
-- here. Rows: what the session has to act on. own: kinds whose HTTP handler this compensator has. unknown: an earlier try of it may have
-- had its effect. handler 'wait': nothing to do yet, `code` says why. events: of a write-back, as many as tasks_finish is to be told of.
CREATE FUNCTION postrider.tasks_claim(session uuid, most int, own text[])
RETURNS TABLE (task_no text, token uuid, biz_type text, handler text, code text, idempotency_key text, tries int, retry_limit int, unknown boolean,
               order_no text, reference text, amount_minor bigint, currency text, events int, facts text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    t postrider.task;
    k postrider.task_kind;
    p postrider.payment;
    seen record;
    who text;
    now_at timestamptz;
BEGIN
    SELECT 'compensator ' || s.address INTO who FROM postrider.task_session AS s WHERE s.id = $1 AND s.ended IS NULL FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'this session has ended', HINT = 'Open a new one: its tasks have gone back.';
    END IF;
    now_at := clock_timestamp();                      -- a value, or the index on the due time would not be asked for it
    FOR t IN SELECT x.* FROM postrider.task AS x
             WHERE x.state IN ('WAITING', 'RETRY') AND x.next_run_at <= now_at
               AND NOT EXISTS (SELECT FROM postrider.task_kind AS h WHERE h.biz_type = x.biz_type AND h.handler = 'http' AND NOT h.biz_type = ANY (own))
             ORDER BY x.next_run_at LIMIT most FOR NO KEY UPDATE SKIP LOCKED LOOP
        SELECT x.* INTO k FROM postrider.task_kind AS x WHERE x.biz_type = t.biz_type;
        IF t.state = 'RETRY' THEN
            UPDATE postrider.task AS x SET state = 'WAITING', moved_by = who, move_reason = 'due', updated_at = now() WHERE x.id = t.id;
        END IF;
        UPDATE postrider.task AS x
        SET state = 'PROCESSING', retry_limit = coalesce(k.retry_limit, x.retry_limit), lock_owner = who, lock_session = $1, lock_token = gen_random_uuid(),
            locked_at = clock_timestamp(), last_run_at = clock_timestamp(), moved_by = who, move_reason = 'claimed', updated_at = now()
        WHERE x.id = t.id RETURNING x.* INTO t;
        SELECT l.* INTO seen FROM postrider.task_look(t, k.handler) AS l;
        IF seen.state = 'FAILED' THEN
            t.retry_count := t.retry_count - 1;       -- task_end counts it again
            PERFORM postrider.task_end(t, 'retry', seen.code, seen.message, NULL, NULL);
        ELSIF seen.state <> 'WAIT' THEN
            PERFORM postrider.task_end(t, CASE seen.state WHEN 'SUCCESS' THEN 'success' ELSE 'person' END, seen.code, seen.message,
                                       jsonb_build_object('seen', postrider.task_facts(t) - 'given'), NULL);
        ELSE
            SELECT x.* INTO p FROM postrider.payment AS x
            WHERE x.id = coalesce(t.payment_id, (SELECT y.id FROM postrider.payment AS y WHERE y.merchant_id = t.merchant_id AND y.order_no = t.order_no
                                                 ORDER BY y.state = 'succeeded' DESC, y.id DESC LIMIT 1));
            RETURN QUERY SELECT t.task_no, t.lock_token, t.biz_type, CASE WHEN seen.state = 'WAIT' THEN 'wait' ELSE k.handler END, seen.code,
                postrider.task_key_of(t), t.retry_count, t.retry_limit, coalesce((t.result ->> 'unknown')::boolean, false), t.order_no,
                p.gateway_reference, p.amount_minor, p.currency,
                jsonb_array_length(CASE jsonb_typeof(t.request -> 'events') WHEN 'array' THEN t.request -> 'events' ELSE '[]' END),
                jsonb_build_object('task', postrider.task_facts(t))::text;
        END IF;
    END LOOP;
END $$;

-- finishing -----------------------------------------------------------------------------------------------------

-- What an HTTP handler came to. result: {"outcome": success | retry | wait | person, "code", "message", "retry_ms", "unknown": the effect may be
-- there, "reference", "evidence": {...}}. Returns the task's state, or 'stale': the token has gone to somebody else and this changes nothing.
CREATE FUNCTION postrider.tasks_finish(token uuid, result jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    t CONSTANT postrider.task := postrider.task_held($1);
    outcome text := result ->> 'outcome';
    code text := result ->> 'code';
    sent CONSTANT int := coalesce((result ->> 'events')::int, 0);
BEGIN
    IF t.id IS NULL THEN
        RETURN 'stale';
    ELSIF outcome IS NULL OR outcome NOT IN ('success', 'retry', 'wait', 'person') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'outcome is not success, retry, wait or person', HINT = 'Say what the run came to.';
    ELSIF outcome = 'success' AND t.biz_type = 'delivery' THEN
        INSERT INTO postrider.fulfilment AS f (merchant_id, order_no, state, reference)
        VALUES (t.merchant_id, t.order_no, 'delivered', left(coalesce(nullif(result ->> 'reference', ''), t.task_no), 128))
        ON CONFLICT ON CONSTRAINT fulfilment_pkey DO UPDATE SET state = excluded.state, reference = excluded.reference, updated_at = now()
        WHERE f.state <> 'delivered';
    ELSIF outcome = 'success' AND jsonb_array_length(CASE jsonb_typeof(t.request -> 'events') WHEN 'array' THEN t.request -> 'events' ELSE '[]' END) > sent THEN
        outcome := 'wait';                            -- more has come since it was claimed
        code := 'MORE_EVENTS';
    END IF;
    RETURN postrider.task_end(t, outcome, code, result ->> 'message',
        jsonb_strip_nulls(jsonb_build_object('evidence', result -> 'evidence', 'reference', nullif(result ->> 'reference', '')))
            || jsonb_build_object('unknown', coalesce((result ->> 'unknown')::boolean, false)),
        CASE code WHEN 'MORE_EVENTS' THEN interval '0' ELSE (result ->> 'retry_ms')::bigint * interval '1 ms' END);
END $$;

-- the acts of Postrider itself ----------------------------------------------------------------------------------

-- What a run comes to, as task_end takes it.
CREATE TYPE postrider.task_said AS (outcome text, code text, message text, result jsonb, retry_in interval);
CREATE FUNCTION postrider.task_say(outcome text, code text, message text DEFAULT NULL, result jsonb DEFAULT NULL, retry_in interval DEFAULT NULL)
RETURNS postrider.task_said
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT ROW($1, $2, $3, $4, $5)::postrider.task_said
$$;

-- The journaled webhook again.
CREATE FUNCTION postrider.task_callback(t postrider.task, retry_in interval) RETURNS postrider.task_said
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    ended record;
BEGIN
    SELECT w.state, w.result INTO ended FROM postrider.webhook_redrive(split_part(t.biz_id, ':', 2)::bigint) AS w;
    RETURN CASE WHEN ended.state IN ('applied', 'ignored') THEN postrider.task_say('success', 'APPLIED', NULL, jsonb_build_object('result', ended.result))
                WHEN ended.result LIKE '%orphan%' THEN postrider.task_say('person', 'ORDER_NOT_FOUND', ended.result)
                ELSE postrider.task_say('retry', 'NOT_APPLIED', ended.result, NULL, retry_in) END;
END $$;

-- Arms the question about a payment, in the queue and under the limits of its channel. NULL: asked. Else why not.
CREATE FUNCTION postrider.task_ask(p postrider.payment, r postrider.refund) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    c postrider.channel;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.no = p.channel_no;
    IF NOT (CASE WHEN r.id IS NULL THEN 'query' ELSE 'query_refund' END) = ANY (c.operations) THEN
        RETURN 'CANNOT_ASK';
    ELSIF c.state <> 'active' THEN
        RETURN 'CHANNEL_' || upper(c.state);
    ELSIF EXISTS (SELECT FROM postrider.call AS k WHERE k.payment_id = p.id AND k.refund_id IS NOT DISTINCT FROM r.id AND (k.due IS NULL OR k.class = 0)) THEN
        RETURN 'CALL_UNDER_WAY';
    END IF;
    PERFORM postrider.call_put(p, r.id, CASE WHEN r.id IS NULL THEN 'query' ELSE 'query_refund' END, interval '0', 'task');
    UPDATE postrider.call AS k SET verify = true
    WHERE r.id IS NULL AND k.payment_id = p.id AND k.refund_id IS NULL AND p.state NOT IN ('created', 'processing');
    RETURN NULL;
END $$;

-- Asked, or not: what the run comes to. The first answer is looked for soon.
CREATE FUNCTION postrider.task_asks(t postrider.task, p postrider.payment, r postrider.refund, retry_in interval) RETURNS postrider.task_said
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    no CONSTANT text := postrider.task_ask(p, r);
BEGIN
    RETURN CASE WHEN no = 'CANNOT_ASK' THEN postrider.task_say('person', no, 'the channel has no operation query')
                WHEN no IS NOT NULL THEN postrider.task_say('retry', no, 'the channel is not asked now', NULL, retry_in)
                ELSE postrider.task_say('retry', 'ASKED', 'the channel was asked again',
                         jsonb_build_object('asked_at', clock_timestamp(), 'asks', coalesce((t.result ->> 'asks')::int, 0) + 1),
                         CASE WHEN t.result ? 'asks' THEN retry_in ELSE least(retry_in, postrider.scaled(10000)) END) END;
END $$;

-- Asks the channel again; ends when an answer to that question has gone through the door. request: {"channel_state": what the channel is said to
-- have said (a state, or a published status)}. Without it, any end will do.
CREATE FUNCTION postrider.task_verify(t postrider.task, p postrider.payment, retry_in interval) RETURNS postrider.task_said
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    said CONSTANT text := t.request ->> 'channel_state';
    asked_at CONSTANT timestamptz := t.result ->> 'asked_at';
    open CONSTANT boolean := p.state IN ('created', 'processing');
    answer record;
    late text;
    found CONSTANT jsonb := jsonb_build_object('state', p.state, 'status', postrider.status_of(p), 'channel_state', said);
BEGIN
    IF (said IS NULL AND NOT open) OR postrider.payment_stands(p, said) THEN
        RETURN postrider.task_say('success', CASE WHEN p.final_at > t.created_at THEN 'REPAIRED' ELSE 'EXPLAINED' END, 'it stands as the channel says', found);
    ELSIF asked_at IS NULL THEN
        RETURN postrider.task_asks(t, p, NULL, retry_in);
    END IF;
    SELECT l.status, l.verdict, l.at INTO answer FROM postrider.call_log AS l
    WHERE l.payment_id = p.id AND l.refund_id IS NULL AND l.operation = 'query' AND l.dispatched_at >= asked_at
      AND l.status IS NOT NULL AND l.status <> 'UNKNOWN' AND l.verdict NOT LIKE 'stale token%' ORDER BY l.id DESC LIMIT 1;
    IF answer.at IS NULL THEN
        RETURN postrider.task_asks(t, p, NULL, retry_in);
    ELSIF answer.verdict LIKE 'held:%' THEN
        RETURN postrider.task_say('person', split_part(answer.verdict, ': ', 2), 'what the channel says is not about this money', found);
    ELSIF NOT open AND postrider.payment_stands(p, answer.status) THEN
        RETURN postrider.task_say('success', 'EXPLAINED', 'asked again, the channel says what is known here', found || jsonb_build_object('answer', answer.status));
    ELSIF p.state IN ('failed', 'cancelled') AND answer.status IN ('SUCCEEDED', 'REFUNDED', 'PARTIALLY_REFUNDED') THEN
        SELECT x.task_no INTO late FROM postrider.task AS x WHERE x.payment_id = p.id AND x.biz_type = 'late_money' ORDER BY x.id DESC LIMIT 1;
        IF late IS NOT NULL THEN
            RETURN postrider.task_say('success', 'EXPLAINED', 'money that came after the end: ' || late,
                       found || jsonb_build_object('answer', answer.status, 'task_no', late), NULL);
        END IF;
    ELSIF t.difference_id IS NOT NULL AND postrider.recon_verdict(t.id) IS NULL THEN
        RETURN postrider.task_say('success', 'EXPLAINED', 'asked again, nothing differs any more', found || jsonb_build_object('answer', answer.status));
    ELSIF open THEN                                   -- it is asked further by its own plan, and here
        RETURN postrider.task_asks(t, p, NULL, retry_in);
    END IF;
    RETURN postrider.task_say('person', 'STATES_DIFFER', format('here %s, the channel says %s', p.state, answer.status), found || jsonb_build_object('answer', answer.status));
END $$;

-- Late money goes back once: the refund has the task's name as its number.
CREATE FUNCTION postrider.task_refund(t postrider.task, p postrider.payment, retry_in interval) RETURNS postrider.task_said
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    c postrider.channel;
    r postrider.refund;
    sums CONSTANT record := postrider.refunds_of(p.id);
    amount CONSTANT bigint := p.captured_minor - greatest(p.refunded_seen, sums.gone + sums.open);
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.no = p.channel_no;
    SELECT x.* INTO r FROM postrider.refund AS x WHERE x.payment_id = p.id AND x.refund_no = t.biz_type;
    IF r.state = 'succeeded' THEN
        RETURN postrider.task_say('success', 'REFUNDED', NULL, jsonb_build_object('refund_id', r.id));
    ELSIF r.state IN ('failed', 'cancelled', 'reversed') THEN
        RETURN postrider.task_say('person', 'LATE_MONEY_NOT_REFUNDED', 'the refund is ' || r.state, jsonb_build_object('refund_id', r.id));
    ELSIF r.manual THEN
        RETURN postrider.task_say('person', 'REFUND_UNCLEAR', r.manual_reason, jsonb_build_object('refund_id', r.id));
    ELSIF r.id IS NOT NULL THEN                       -- under way, with limits of its own; the door ends this task with it
        IF NOT EXISTS (SELECT FROM postrider.call AS k WHERE k.refund_id = r.id) THEN
            PERFORM postrider.call_put(p, r.id, CASE WHEN r.sent_at IS NULL THEN 'refund' ELSE 'query_refund' END, interval '0', 'task');
        END IF;
        RETURN postrider.task_say('wait', 'REFUND_UNDER_WAY', NULL, jsonb_build_object('refund_id', r.id), postrider.scaled(3600000));
    ELSIF amount <= 0 THEN
        RETURN postrider.task_say('success', 'ORDER_ALREADY_FINISHED', 'nothing is left to send back');
    ELSIF c.late_money <> 'refund' OR NOT 'refund' = ANY (c.operations) THEN
        RETURN postrider.task_say('person', 'POLICY_PERSON', 'late money of this channel is a person''s');
    END IF;
    INSERT INTO postrider.refund (payment_id, refund_no, amount_minor, reason, origin, state, gateway_no)
    VALUES (p.id, t.biz_type, amount, 'late payment', 'late_money', 'created',
            postrider.intent_key(p.merchant_id, p.order_no, p.channel, 'REFUND', p.id || ':' || t.biz_type, c.number_max))
    RETURNING * INTO r;
    PERFORM postrider.call_put(p, r.id, 'refund', interval '0', t.biz_type);
    RETURN postrider.task_say('wait', 'REFUND_UNDER_WAY', NULL, jsonb_build_object('refund_id', r.id), postrider.scaled(3600000));
END $$;

-- What became of a refund: asked, until the door has ended it.
CREATE FUNCTION postrider.task_refund_review(t postrider.task, p postrider.payment, retry_in interval) RETURNS postrider.task_said
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    r postrider.refund;
BEGIN
    SELECT x.* INTO r FROM postrider.refund AS x WHERE x.payment_id = p.id AND x.id::text = t.biz_id;
    IF r.state IN ('succeeded', 'failed', 'cancelled', 'reversed') THEN
        RETURN postrider.task_say('success', 'REPAIRED', NULL, jsonb_build_object('refund_state', r.state));
    ELSIF r.id IS NULL OR r.gateway_no IS NULL THEN
        RETURN postrider.task_say('person', 'REFUND_UNCLEAR', 'it is not one that can be asked about');
    END IF;
    RETURN postrider.task_asks(t, p, r, retry_in);
END $$;

-- The hook again, for each event that it did not take, in one savepoint: all of them, or none.
CREATE FUNCTION postrider.task_writeback(t postrider.task, retry_in interval) RETURNS postrider.task_said
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    hook CONSTANT text := (SELECT s.value FROM postrider.setting AS s WHERE s.key = 'hooks.payment' AND s.value <> '');
    events CONSTANT jsonb := CASE jsonb_typeof(t.request -> 'events') WHEN 'array' THEN t.request -> 'events' ELSE jsonb_build_array(t.request) END;
    one jsonb;
    code text;
    message text;
BEGIN
    IF hook IS NULL THEN
        RETURN postrider.task_say('person', 'NO_HANDLER', 'hooks.payment is empty');
    END IF;
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_proc AS f WHERE f.oid = to_regprocedure(hook || '(jsonb)') AND f.prosecdef) THEN
            RAISE undefined_function USING MESSAGE = 'hooks.payment is no SECURITY DEFINER function of (jsonb): ' || hook;
        END IF;
        FOR one IN SELECT e.value FROM jsonb_array_elements(events) WITH ORDINALITY AS e (value, at) ORDER BY e.at LOOP
            EXECUTE format('SELECT %s($1)', split_part(to_regprocedure(hook || '(jsonb)')::text, '(', 1)) USING one;
        END LOOP;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
        RETURN postrider.task_say('retry', code, message, NULL, retry_in);
    END;
    RETURN postrider.task_say('success', 'WRITTEN_BACK', NULL, jsonb_build_object('events', jsonb_array_length(events)));
END $$;

-- Carries out what Postrider itself can do about a claimed task and ends the run, in one transaction: whatever dies, once or not at all.
-- retry_ms: when, if it comes to that. Returns the task's state, or 'stale'.
CREATE FUNCTION postrider.tasks_act(token uuid, retry_ms bigint, OUT state text, OUT code text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    about CONSTANT postrider.task := (SELECT x FROM postrider.task AS x WHERE x.lock_token = $1 AND x.state = 'PROCESSING');
    retry_in CONSTANT interval := retry_ms * interval '1 ms';
    handler text;
    t postrider.task;
    p postrider.payment;
    said postrider.task_said;
BEGIN
    handler := (SELECT CASE k.handler WHEN 'http' THEN k.own_handler ELSE k.handler END FROM postrider.task_kind AS k WHERE k.biz_type = about.biz_type);
    IF handler = 'callback' THEN
        PERFORM FROM postrider.webhook AS w WHERE w.id = split_part(about.biz_id, ':', 2)::bigint FOR NO KEY UPDATE;
        PERFORM FROM postrider.payment AS x
        WHERE x.id = ANY (ARRAY(SELECT postrider.evidence_payment(w.channel_no, i.value -> 'evidence')
                                FROM postrider.webhook AS w CROSS JOIN jsonb_array_elements(w.items) AS i (value)
                                WHERE w.id = split_part(about.biz_id, ':', 2)::bigint))
        ORDER BY x.id FOR NO KEY UPDATE;
    END IF;
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = about.payment_id FOR NO KEY UPDATE;
    t := postrider.task_held($1);
    IF t.id IS NULL THEN
        state := 'stale';
        RETURN;
    END IF;
    said := CASE handler
        WHEN 'callback' THEN postrider.task_callback(t, retry_in)
        WHEN 'verify' THEN postrider.task_verify(t, p, retry_in)
        WHEN 'repair' THEN postrider.task_verify(t, p, retry_in)
        WHEN 'refund' THEN postrider.task_refund(t, p, retry_in)
        WHEN 'refund_review' THEN postrider.task_refund_review(t, p, retry_in)
        WHEN 'writeback' THEN postrider.task_writeback(t, retry_in)
        ELSE postrider.task_say('person', 'NO_HANDLER', 'no handler is configured for ' || t.biz_type) END;
    state := postrider.task_end(t, said.outcome, said.code, said.message, said.result, said.retry_in);
    code := said.code;
END $$;

-- what a lost worker leaves, and what comes by itself -------------------------------------------------------------

-- Webhooks that are in the journal and not applied for a minute: driven once more, then tasks (C10). Also without a gateway-scheduler.
CREATE FUNCTION postrider.webhooks_overdue(most int) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    one record;
    ended record;
    moved bigint := 0;
BEGIN
    FOR one IN SELECT w.id, w.payment_id FROM postrider.webhook AS w
               WHERE w.state IN ('failed', 'orphan') AND w.received_at < now() - postrider.scaled(60000) ORDER BY w.received_at LIMIT most LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(1886548338, hashtext(one.id::text));     -- a gateway-scheduler does it
        ended := postrider.webhook_redrive(one.id);
        moved := moved + 1;
        IF ended.state IN ('failed', 'orphan') THEN
            UPDATE postrider.webhook AS w SET state = 'task', at = now() WHERE w.id = one.id;
            PERFORM postrider.task_open('payment_callback', 'webhook:' || one.id, 'WAITING', 'callback_failure', p.merchant_id, p.order_no, p.id,
                                        CASE ended.state WHEN 'orphan' THEN 'ORDER_NOT_FOUND' ELSE 'NOT_APPLIED' END, ended.result,
                                        jsonb_build_object('webhook_id', one.id))
            FROM (SELECT 1) AS always LEFT JOIN postrider.payment AS p ON p.id = one.payment_id;
        END IF;
    END LOOP;
    RETURN moved;
END $$;

-- Tasks whose worker is gone, or has held them for lock_ms of the database's time, go back (C5): an incident in task_log, one try more, their
-- token worth nothing. And overdue webhooks become tasks.
CREATE FUNCTION postrider.tasks_sweep(session uuid, lock_ms bigint, most int, OUT lost bigint, OUT webhooks bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
BEGIN
    PERFORM postrider.task_session_end(s.id) FROM postrider.task_session AS s
    WHERE s.ended IS NULL AND s.id <> session AND NOT postrider.session_connected(postrider.call_session_key(s.id), s.pid);
    WITH gone AS MATERIALIZED (
        SELECT t.id, t.locked_at < clock_timestamp() - lock_ms * interval '1 ms' AS late FROM postrider.task AS t
        WHERE t.state = 'PROCESSING' AND (t.locked_at < clock_timestamp() - lock_ms * interval '1 ms'
              OR t.lock_session IS NOT NULL AND NOT EXISTS (SELECT FROM postrider.task_session AS s WHERE s.id = t.lock_session AND s.ended IS NULL))
        ORDER BY t.id LIMIT most FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE postrider.task AS t
    SET state = 'WAITING', retry_count = t.retry_count + 1, next_run_at = clock_timestamp(), lock_owner = NULL, lock_session = NULL, lock_token = NULL,
        locked_at = NULL, last_error_code = CASE WHEN g.late THEN 'LOCK_TIMEOUT' ELSE 'WORKER_LOST' END, last_error_message = 'its run was not finished',
        result = t.result || '{"unknown": true}', moved_by = 'compensator sweep', move_reason = CASE WHEN g.late THEN 'LOCK_TIMEOUT' ELSE 'WORKER_LOST' END,
        updated_at = now()
    FROM gone AS g WHERE t.id = g.id AND t.id = ANY (ARRAY(SELECT x.id FROM gone AS x));
    GET DIAGNOSTICS lost = ROW_COUNT;
    webhooks := postrider.webhooks_overdue(most);
END $$;

-- The queue's length and age, for people and checks.
CREATE FUNCTION postrider.tasks_due(OUT due bigint, OUT oldest_s bigint, OUT manual bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT (SELECT count(*) FROM postrider.task AS t WHERE t.state IN ('WAITING', 'RETRY') AND t.next_run_at <= now()),
           (SELECT floor(extract(epoch FROM now() - min(t.next_run_at)))::bigint FROM postrider.task AS t WHERE t.state IN ('WAITING', 'RETRY') AND t.next_run_at <= now()),
           (SELECT count(*) FROM postrider.task AS t WHERE t.state = 'MANUAL')
$$;

RESET ROLE;
