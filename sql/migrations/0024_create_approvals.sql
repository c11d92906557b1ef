-- 0024 create approvals: what moves money or changes a payment takes two people.
-- why:   one person's mistake or bad will must not be enough. The server keeps what was asked for, word for word, and does exactly that.
-- locks: none that matter, everything is new.
-- undo:  DROP TABLE postrider.approval; DROP FUNCTION for each.
--
-- docs/people.md, docs/adr/0024-four-eyes-in-the-database.md. Payments are locked before requests, requests before tasks.

SET LOCAL ROLE postrider_owner;

INSERT INTO postrider.setting VALUES ('approval.expires_s', '86400');
INSERT INTO postrider.transition VALUES
    ('approval', '', 'open', 'asked for'),
    ('approval', 'open', 'executed', 'another person approved it, and it was done'),
    ('approval', 'open', 'rejected', 'another person refused it'),
    ('approval', 'open', 'withdrawn', 'who asked took it back'),
    ('approval', 'open', 'expired', 'nobody decided in time'),
    ('approval', 'open', 'stale', 'what it is about has changed');

CREATE TABLE postrider.approval (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action text NOT NULL CHECK (action IN ('payment.decide', 'payment.refund', 'payment.cancel', 'task.resolve')),
    object text NOT NULL,                             -- the payment's id, or the task's number
    payment_id bigint NOT NULL,                       -- whichever it is, this payment: one open request for each
    object_version text NOT NULL,                     -- as it was when it was asked for
    content jsonb NOT NULL, content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    amount_minor bigint NOT NULL, currency text NOT NULL, merchant_id text NOT NULL, order_no text NOT NULL,
    state text NOT NULL DEFAULT 'open',
    asked_by text NOT NULL REFERENCES postrider.operator, asked_at timestamptz NOT NULL DEFAULT clock_timestamp(), ask_reason text NOT NULL,
    expires_at timestamptz NOT NULL,
    decided_by text REFERENCES postrider.operator, decided_at timestamptz, decide_reason text, result jsonb,
    CHECK (decided_by <> asked_by OR state = 'withdrawn'), CHECK (state NOT IN ('executed', 'rejected') OR decided_by IS NOT NULL)
);
CREATE UNIQUE INDEX approval_open_key ON postrider.approval (payment_id) WHERE state = 'open';
CREATE INDEX approval_payment_idx ON postrider.approval (payment_id);
CREATE INDEX approval_expires_idx ON postrider.approval (expires_at) WHERE state = 'open';
CREATE INDEX approval_state_idx ON postrider.approval (state, id);

CREATE FUNCTION postrider.approval_before() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (to_jsonb(NEW) - ARRAY['state', 'decided_by', 'decided_at', 'decide_reason', 'result'])
       <> (to_jsonb(OLD) - ARRAY['state', 'decided_by', 'decided_at', 'decide_reason', 'result']) OR OLD.state <> 'open' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'a request stays what it is', HINT = 'Withdraw it and ask anew.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER approval_before BEFORE UPDATE ON postrider.approval FOR EACH ROW EXECUTE FUNCTION postrider.approval_before();
CREATE TRIGGER approval_state BEFORE INSERT OR UPDATE ON postrider.approval FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('approval');
CREATE TRIGGER approval_kept BEFORE DELETE OR TRUNCATE ON postrider.approval FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();
ALTER TABLE postrider.approval ENABLE ALWAYS TRIGGER approval_before, ENABLE ALWAYS TRIGGER approval_state, ENABLE ALWAYS TRIGGER approval_kept;

-- What a request is bound to: any of this changing makes it stale.
CREATE FUNCTION postrider.approval_version(payment_id bigint, task_no text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog SET enable_seqscan = off AS $$
    SELECT concat_ws('/', p.version, p.state, p.manual, p.captured_minor, p.refunded_minor,
        (SELECT string_agg(r.id || r.state, ',' ORDER BY r.id) FROM postrider.refund AS r WHERE r.payment_id = p.id),
        (SELECT t.state || (extract(epoch FROM t.updated_at) * 1000000)::bigint FROM postrider.task AS t WHERE t.task_no = $2))
    FROM postrider.payment AS p WHERE p.id = $1
$$;

CREATE FUNCTION postrider.approval_hash(action text, object text, content jsonb) RETURNS bytea
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT sha256(convert_to(postrider.audit_field(action) || postrider.audit_field(object) || postrider.audit_field(content::text), 'UTF8'))
$$;

CREATE FUNCTION postrider.approval_json(r postrider.approval) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT jsonb_build_object('id', r.id, 'action', r.action, 'object', r.object, 'payment_id', r.payment_id, 'content', r.content,
        'content_hash', encode(r.content_hash, 'hex'), 'amount', r.amount_minor, 'currency', r.currency, 'merchant_id', r.merchant_id, 'order_no', r.order_no,
        'state', r.state, 'overdue', r.state = 'open' AND r.expires_at <= clock_timestamp(),
        'stale', r.state = 'open' AND r.object_version IS DISTINCT FROM postrider.approval_version(r.payment_id, r.object),
        'asked_by', r.asked_by, 'asked_at', postrider.json_time(r.asked_at), 'ask_reason', r.ask_reason, 'expires_at', postrider.json_time(r.expires_at),
        'decided_by', r.decided_by, 'decided_at', postrider.json_time(r.decided_at), 'decide_reason', r.decide_reason, 'result', r.result)
$$;

-- What may be asked for, in one form: the same request is the same bytes.
CREATE FUNCTION postrider.approval_content(action text, content jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    word CONSTANT text := CASE action WHEN 'payment.decide' THEN 'state' WHEN 'task.resolve' THEN 'as' END;
BEGIN
    CASE action
    WHEN 'payment.cancel' THEN
        PERFORM postrider.args_check(content);
        RETURN '{}';
    WHEN 'payment.refund' THEN
        PERFORM postrider.args_check(content, 'refund_no', 'amount');
        RETURN jsonb_build_object('refund_no', postrider.arg_text(content, 'refund_no', 64, true), 'amount', postrider.arg_id(content, 'amount'));
    WHEN 'payment.decide', 'task.resolve' THEN
        PERFORM postrider.args_check(content, word, 'evidence');
        IF (content ->> word IN ('succeeded', 'failed', 'cancelled', 'refunded')) IS NOT TRUE
           OR jsonb_typeof(coalesce(content -> 'evidence', '{}')) <> 'object' OR octet_length((content -> 'evidence')::text) > 20480 THEN
            RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = word || ' is not succeeded, failed, cancelled or refunded, or evidence is no object of at most 20 kB',
                HINT = 'Say how the payment ended, and what shows it.';
        END IF;
        RETURN jsonb_build_object(word, content ->> word, 'evidence', coalesce(content -> 'evidence', '{}'));
    ELSE
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'action is not payment.decide, payment.refund, payment.cancel or task.resolve',
            HINT = 'Everything else takes one person: its own door does it.';
    END CASE;
END $$;

-- Does it, in the name of whoever asked. Raises what its door raises.
CREATE FUNCTION postrider.approval_effect(r postrider.approval) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said text;
BEGIN
    CASE r.action
    WHEN 'payment.decide' THEN
        said := postrider.payment_decide(r.asked_by, r.payment_id, r.content ->> 'state', r.content -> 'evidence', r.ask_reason);
        IF said NOT LIKE 'applied%' THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('the payment does not take it: %s', said), HINT = 'docs/states.md has the moves.';
        END IF;
        RETURN jsonb_build_object('verdict', said);
    WHEN 'payment.refund' THEN
        said := postrider.refund_payment(r.payment_id, r.content ->> 'refund_no', (r.content ->> 'amount')::bigint, left(r.ask_reason, 200));
        PERFORM postrider.audit_add(r.asked_by, 'payment.refund', r.payment_id::text, r.ask_reason, r.content || jsonb_build_object('refund_id', said::bigint));
        RETURN jsonb_build_object('refund_id', said::bigint);
    WHEN 'payment.cancel' THEN
        said := postrider.cancel_payment(r.payment_id, r.ask_reason);
        PERFORM postrider.audit_add(r.asked_by, 'payment.cancel', r.payment_id::text, r.ask_reason, jsonb_build_object('said', said));
        RETURN jsonb_build_object('said', said);
    WHEN 'task.resolve' THEN
        RETURN jsonb_build_object('verdict', postrider.task_resolve(r.asked_by, r.object, r.content ->> 'as', r.ask_reason, r.content -> 'evidence'));
    END CASE;
END $$;

-- {"action", "object", "content", "reason"}. It is tried and taken back first: what cannot be done is refused at once. An open request that nobody
-- can approve any more, for time or change, makes room. PR006: there is an open one for this payment.
CREATE FUNCTION postrider.approval_ask(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    p postrider.payment;
    r postrider.approval;
    former postrider.approval;
BEGIN
    PERFORM postrider.person_check(who, 'approval.ask', true);
    PERFORM postrider.args_check(a, 'action', 'object', 'content', 'reason');
    r.action := postrider.arg_text(a, 'action', 64, true);
    r.object := postrider.arg_text(a, 'object', 64, true);
    r.content := postrider.approval_content(r.action, coalesce(a -> 'content', '{}'));
    r.ask_reason := postrider.arg_text(a, 'reason', 500, true);
    r.asked_by := who;
    IF r.action = 'task.resolve' THEN
        r.payment_id := (SELECT t.payment_id FROM postrider.task AS t WHERE t.task_no = r.object);
        IF r.payment_id IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no task %L about a payment', r.object), HINT = 'What is about something else is closed: task.close.';
        END IF;
    ELSE
        r.payment_id := postrider.arg_id(a, 'object');
    END IF;
    p := postrider.payment_locked(r.payment_id);
    r.object_version := postrider.approval_version(p.id, r.object);
    SELECT x.* INTO former FROM postrider.approval AS x WHERE x.payment_id = p.id AND x.state = 'open' FOR UPDATE;
    IF FOUND AND former.expires_at > clock_timestamp() AND former.object_version = postrider.approval_version(p.id, former.object) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('request %s (%s) is open for payment %s', former.id, former.action, p.id),
            HINT = 'It is decided or withdrawn first.';
    ELSIF FOUND THEN
        PERFORM postrider.approval_end(former, CASE WHEN former.expires_at > clock_timestamp() THEN 'stale' ELSE 'expired' END);
    END IF;
    BEGIN
        PERFORM postrider.approval_effect(r);
        RAISE EXCEPTION USING ERRCODE = 'PR900', MESSAGE = 'it can be done';
    EXCEPTION WHEN SQLSTATE 'PR900' THEN NULL;
    END;
    INSERT INTO postrider.approval (action, object, payment_id, object_version, content, content_hash, amount_minor, currency, merchant_id, order_no,
                                    asked_by, ask_reason, expires_at)
    VALUES (r.action, r.object, p.id, r.object_version, r.content, postrider.approval_hash(r.action, r.object, r.content),
            coalesce((r.content ->> 'amount')::bigint, p.amount_minor), p.currency, p.merchant_id, p.order_no, who, r.ask_reason,
            clock_timestamp() + (SELECT s.value::double precision FROM postrider.setting AS s WHERE s.key = 'approval.expires_s') * interval '1 s')
    RETURNING * INTO r;
    PERFORM postrider.audit_add(who, 'approval.ask', r.id::text, r.ask_reason, jsonb_build_object('payment_id', p.id, 'action', r.action, 'object', r.object,
        'content', r.content, 'content_hash', encode(r.content_hash, 'hex')));
    RETURN postrider.approval_json(r);
END $$;

-- Ends by itself: 'expired' or 'stale'.
CREATE FUNCTION postrider.approval_end(r postrider.approval, state text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE postrider.approval AS x SET state = $2, decided_at = clock_timestamp() WHERE x.id = r.id AND x.state = 'open';
    IF FOUND THEN
        INSERT INTO postrider.audit (actor, action, subject, detail)
        VALUES ('postrider', 'approval.' || state, r.id::text, jsonb_build_object('payment_id', r.payment_id, 'asked_by', r.asked_by));
    END IF;
END $$;

-- Locks the request and what it is about, in the order of all doors.
CREATE FUNCTION postrider.approval_locked(id bigint) RETURNS postrider.approval
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    r postrider.approval;
BEGIN
    PERFORM postrider.payment_locked(x.payment_id) FROM postrider.approval AS x WHERE x.id = $1;
    SELECT x.* INTO r FROM postrider.approval AS x WHERE x.id = $1 FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no request %s', coalesce(id::text, 'without a number')), HINT = 'postrider approval list shows them.';
    ELSIF r.state <> 'open' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('request %s is %s', r.id, r.state), HINT = 'It was decided before.';
    END IF;
    RETURN r;
END $$;

-- {"id", "decision": approve | reject, "reason", "content_hash": hex, of what the approver has seen}. Approved: done, in this transaction.
CREATE FUNCTION postrider.approval_decide(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    r postrider.approval;
    verdict CONSTANT text := CASE a ->> 'decision' WHEN 'approve' THEN 'executed' WHEN 'reject' THEN 'rejected' END;
    before jsonb;
BEGIN
    PERFORM postrider.args_check(a, 'id', 'decision', 'reason', 'content_hash');
    IF verdict IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'decision is not approve or reject', HINT = 'Say which.';
    END IF;
    r := postrider.approval_locked(postrider.arg_id(a, 'id'));
    PERFORM postrider.person_check(who, 'approval.' || (a ->> 'decision'), true);
    IF r.asked_by = who THEN
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('%s asked for it: another person decides', who), HINT = 'Who asked can only withdraw it.';
    END IF;
    before := (SELECT postrider.payment_json(p) FROM postrider.payment AS p WHERE p.id = r.payment_id);
    IF verdict = 'executed' THEN
        PERFORM postrider.person_check(r.asked_by, r.action, true);
        IF r.expires_at <= clock_timestamp() THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('request %s expired at %s', r.id, postrider.json_time(r.expires_at)), HINT = 'Ask anew.';
        ELSIF r.content_hash <> postrider.approval_hash(r.action, r.object, r.content) OR a ->> 'content_hash' IS DISTINCT FROM encode(r.content_hash, 'hex') THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'content_hash is not that of the request', HINT = 'Look at the request again: approve what it says.';
        ELSIF r.object_version IS DISTINCT FROM postrider.approval_version(r.payment_id, r.object) THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('payment %s has changed since request %s', r.payment_id, r.id), HINT = 'Look at it, and ask anew.';
        END IF;
        r.result := postrider.approval_effect(r);
    END IF;
    UPDATE postrider.approval AS x SET state = verdict, decided_by = who, decided_at = clock_timestamp(), result = r.result,
           decide_reason = postrider.arg_text(a, 'reason', 500, true) WHERE x.id = r.id RETURNING x.* INTO r;
    PERFORM postrider.audit_add(who, 'approval.' || (a ->> 'decision'), r.id::text, r.decide_reason, jsonb_build_object('payment_id', r.payment_id,
        'action', r.action, 'object', r.object, 'content', r.content, 'asked_by', r.asked_by, 'result', r.result, 'before', before,
        'after', (SELECT postrider.payment_json(p) FROM postrider.payment AS p WHERE p.id = r.payment_id)));
    RETURN postrider.approval_json(r);
END $$;

-- {"id", "reason"}: by whoever asked.
CREATE FUNCTION postrider.approval_withdraw(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    r postrider.approval;
BEGIN
    PERFORM postrider.args_check(a, 'id', 'reason');
    r := postrider.approval_locked(postrider.arg_id(a, 'id'));
    IF r.asked_by IS DISTINCT FROM who THEN
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('%s asked for it', r.asked_by), HINT = 'Others reject it.';
    END IF;
    UPDATE postrider.approval AS x SET state = 'withdrawn', decided_by = who, decided_at = clock_timestamp(),
           decide_reason = postrider.arg_text(a, 'reason', 500, true) WHERE x.id = r.id RETURNING x.* INTO r;
    PERFORM postrider.audit_add(who, 'approval.withdraw', r.id::text, r.decide_reason, jsonb_build_object('payment_id', r.payment_id));
    RETURN postrider.approval_json(r);
END $$;

-- What is over: open requests of yesterday, sessions and counters. The console calls it once a minute.
CREATE FUNCTION postrider.people_purge(most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    r postrider.approval;
    gone bigint;
    total bigint := 0;
BEGIN
    FOR r IN SELECT x.* FROM postrider.approval AS x WHERE x.state = 'open' AND x.expires_at <= clock_timestamp() ORDER BY x.expires_at LIMIT most
             FOR UPDATE SKIP LOCKED LOOP
        PERFORM postrider.approval_end(r, 'expired');
        total := total + 1;
    END LOOP;
    DELETE FROM postrider.login_try AS l WHERE l.key = ANY (ARRAY(
        SELECT x.key FROM postrider.login_try AS x WHERE x.since < clock_timestamp() - interval '1 h' ORDER BY x.since LIMIT most FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS gone = ROW_COUNT;
    total := total + gone;
    DELETE FROM postrider.operator_session AS s WHERE s.hash = ANY (ARRAY(
        SELECT x.hash FROM postrider.operator_session AS x WHERE x.expires_at < now() - interval '30 days' ORDER BY x.expires_at LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN total + gone;
END $$;

-- {"state": open (default) | all | ..., "action", "asked_by", "limit", "after"}: newest first.
CREATE FUNCTION postrider.approvals_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    wanted CONSTANT text := coalesce(a ->> 'state', 'open');
    upto CONSTANT bigint := coalesce(nullif(a ->> 'after', '')::bigint, 9223372036854775807);
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'state', 'action', 'asked_by', 'limit', 'after');
    RETURN postrider.page_json(ARRAY(
        SELECT postrider.approval_json(x) || jsonb_build_object('cursor', x.id::text) FROM postrider.approval AS x
        WHERE x.id < upto AND (wanted = 'all' OR x.state = wanted) AND (a ->> 'action' IS NULL OR x.action = a ->> 'action')
          AND (a ->> 'asked_by' IS NULL OR x.asked_by = a ->> 'asked_by')
        ORDER BY x.id DESC LIMIT most + 1), most);
END $$;

-- {"id"}
CREATE FUNCTION postrider.approval_show(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    r postrider.approval;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'id');
    SELECT x.* INTO r FROM postrider.approval AS x WHERE x.id = postrider.arg_id(a, 'id');
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no request %s', a ->> 'id'), HINT = 'postrider approval list shows them.';
    END IF;
    RETURN postrider.approval_json(r) || jsonb_build_object('payment', (SELECT postrider.payment_json(p) FROM postrider.payment AS p WHERE p.id = r.payment_id));
END $$;

-- Whether anybody was ever named: until then the command line acts as the application that it is part of.
CREATE FUNCTION postrider.operator_any() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM postrider.operator)
$$;

-- doors that need no second person ------------------------------------------------------------------------------

-- Closed, and a linked new one WAITING: the move of task_resolve that changes no payment. Returns the new number.
CREATE FUNCTION postrider.task_rerun(who text, task_no text, reason text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said CONSTANT text := postrider.task_resolve(who, task_no, 'rerun', reason);
BEGIN
    PERFORM postrider.audit_add(who, 'task.rerun', task_no, reason, jsonb_build_object('next', said));
    RETURN said;
END $$;

-- An endpoint.test to the merchant's matching endpoints.
CREATE FUNCTION postrider.merchant_test(who text, merchant_id text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said CONSTANT uuid := postrider.enqueue_notification($2, 'test-' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSMS'), 'endpoint.test',
                                                         '{"test": true}', priority => 1);
BEGIN
    PERFORM postrider.audit_add(who, 'merchant.test', merchant_id, NULL, jsonb_build_object('notify_id', said));
    RETURN said;
END $$;

CREATE FUNCTION postrider.notification_cancel(who text, notify_id uuid, reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said CONSTANT boolean := postrider.cancel_notification(notify_id, reason);
BEGIN
    PERFORM postrider.audit_add(who, 'notification.cancel', notify_id::text, reason, jsonb_build_object('recorded', said));
    RETURN said;
END $$;

RESET ROLE;
