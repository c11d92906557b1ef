-- Generated from sql/migrations by tests/sql/run.sh --update-schema: do not edit.
--
-- PostgreSQL database dump
--

--
-- Name: postrider; Type: SCHEMA; Schema: -; Owner: postrider_owner
--

CREATE SCHEMA postrider;

ALTER SCHEMA postrider OWNER TO postrider_owner;

--
-- Name: exception_place; Type: TYPE; Schema: postrider; Owner: postrider_owner
--

CREATE TYPE postrider.exception_place AS (
	since timestamp with time zone,
	kind text,
	n bigint,
	m bigint
);

ALTER TYPE postrider.exception_place OWNER TO postrider_owner;

--
-- Name: task_said; Type: TYPE; Schema: postrider; Owner: postrider_owner
--

CREATE TYPE postrider.task_said AS (
	outcome text,
	code text,
	message text,
	result jsonb,
	retry_in interval
);

ALTER TYPE postrider.task_said OWNER TO postrider_owner;

--
-- Name: acquire_shards(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.acquire_shards(session uuid) RETURNS TABLE(no smallint, low bigint[])
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    wanted int;
BEGIN
    PERFORM FROM postrider.session AS s WHERE s.id = session AND s.ended IS NULL FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'this session has ended',
            HINT = 'Open a new one: another scheduler has taken the shards over.';
    END IF;
    wanted := ceil(256.0 / (SELECT count(*) FROM postrider.session AS s WHERE s.ended IS NULL))
              - (SELECT count(*) FROM postrider.shard AS h WHERE h.session = session);
    RETURN QUERY
    WITH f AS (
        SELECT h.no FROM postrider.shard AS h WHERE h.session IS NULL
        ORDER BY h.no LIMIT greatest(wanted, 0) FOR UPDATE SKIP LOCKED
    )
    UPDATE postrider.shard AS h
    SET session = acquire_shards.session, beat = (SELECT b.beat FROM postrider.heartbeat AS b WHERE b.session = acquire_shards.session)
    FROM f WHERE h.no = f.no
    RETURNING h.no, h.low;
END $$;

ALTER FUNCTION postrider.acquire_shards(session uuid) OWNER TO postrider_owner;

--
-- Name: alert_announce(text, text, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.alert_announce(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    SELECT r.id, r.fresh, r.count INTO id, fresh, count
    FROM postrider.alert_raise(kind, subject, severity, message) AS r;
    fresh := fresh OR EXISTS (SELECT FROM postrider.alert AS a WHERE a.id = alert_announce.id AND a.announced_at IS NULL);
    UPDATE postrider.alert AS a SET announced_at = clock_timestamp() WHERE a.id = alert_announce.id AND a.announced_at IS NULL;
END $$;

ALTER FUNCTION postrider.alert_announce(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) OWNER TO postrider_owner;

--
-- Name: alert_raise(text, text, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.alert_raise(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    -- Names are columns here: ON CONFLICT (kind, subject) must find the index.
    IF alert_raise.severity IS NULL OR alert_raise.severity NOT IN ('info', 'warn', 'page') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'severity is not info, warn or page', HINT = 'page wakes somebody up.';
    END IF;
    INSERT INTO postrider.alert AS a (kind, subject, severity, message)
    VALUES (left(alert_raise.kind, 64), left(alert_raise.subject, 200), alert_raise.severity, left(alert_raise.message, 500))
    ON CONFLICT (kind, subject) WHERE resolved_at IS NULL
    DO UPDATE SET count = a.count + 1, last_at = clock_timestamp(), severity = excluded.severity, message = excluded.message
    RETURNING a.id, a.count = 1, a.count INTO alert_raise.id, alert_raise.fresh, alert_raise.count;
END $$;

ALTER FUNCTION postrider.alert_raise(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) OWNER TO postrider_owner;

--
-- Name: alert_resolve(text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.alert_resolve(kind text, subject text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
BEGIN
    UPDATE postrider.alert AS a SET resolved_at = clock_timestamp()
    WHERE a.kind = kind AND a.subject = subject AND a.resolved_at IS NULL;
    RETURN FOUND;
END $$;

ALTER FUNCTION postrider.alert_resolve(kind text, subject text) OWNER TO postrider_owner;

--
-- Name: alert_take(integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.alert_take(most integer) RETURNS TABLE(id bigint, kind text, subject text, severity text, message text, count bigint)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    WITH t AS (
        SELECT x.id FROM postrider.alert AS x WHERE x.announced_at IS NULL ORDER BY x.id LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    UPDATE postrider.alert AS a SET announced_at = clock_timestamp() FROM t WHERE a.id = t.id
    RETURNING a.id, a.kind, a.subject, a.severity, a.message, a.count
$_$;

ALTER FUNCTION postrider.alert_take(most integer) OWNER TO postrider_owner;

--
-- Name: alerts_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.alerts_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    upto CONSTANT bigint := postrider.list_before(a);
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'open', 'limit', 'after');
    RETURN postrider.page_json(ARRAY(
        SELECT jsonb_build_object('alert_id', x.id, 'kind', x.kind, 'subject', x.subject, 'severity', x.severity, 'message', x.message, 'count', x.count,
            'first_at', postrider.json_time(x.first_at), 'last_at', postrider.json_time(x.last_at), 'resolved_at', postrider.json_time(x.resolved_at), 'cursor', x.id::text)
        FROM postrider.alert AS x WHERE x.id < upto AND ((a ->> 'open')::boolean IS NOT TRUE OR x.resolved_at IS NULL) ORDER BY x.id DESC LIMIT most + 1), most);
END $$;

ALTER FUNCTION postrider.alerts_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: apply_evidence(bigint, bigint, text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.apply_evidence(payment_id bigint, refund_id bigint, source text, evidence jsonb, event_id text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.apply_evidence(payment_id bigint, refund_id bigint, source text, evidence jsonb, event_id text) OWNER TO postrider_owner;

--
-- Name: approval_ask(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_ask(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.approval_ask(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: approval_before(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_before() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF (to_jsonb(NEW) - ARRAY['state', 'decided_by', 'decided_at', 'decide_reason', 'result'])
       <> (to_jsonb(OLD) - ARRAY['state', 'decided_by', 'decided_at', 'decide_reason', 'result']) OR OLD.state <> 'open' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'a request stays what it is', HINT = 'Withdraw it and ask anew.';
    END IF;
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.approval_before() OWNER TO postrider_owner;

--
-- Name: approval_content(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_content(action text, content jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION postrider.approval_content(action text, content jsonb) OWNER TO postrider_owner;

--
-- Name: approval_decide(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_decide(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.approval_decide(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: approval; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.approval (
    id bigint NOT NULL,
    action text NOT NULL,
    object text NOT NULL,
    payment_id bigint NOT NULL,
    object_version text NOT NULL,
    content jsonb NOT NULL,
    content_hash bytea NOT NULL,
    amount_minor bigint NOT NULL,
    currency text NOT NULL,
    merchant_id text NOT NULL,
    order_no text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    asked_by text NOT NULL,
    asked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ask_reason text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    decided_by text,
    decided_at timestamp with time zone,
    decide_reason text,
    result jsonb,
    CONSTRAINT approval_action_check CHECK ((action = ANY (ARRAY['payment.decide'::text, 'payment.refund'::text, 'payment.cancel'::text, 'task.resolve'::text]))),
    CONSTRAINT approval_check CHECK (((decided_by <> asked_by) OR (state = 'withdrawn'::text))),
    CONSTRAINT approval_check1 CHECK (((state <> ALL (ARRAY['executed'::text, 'rejected'::text])) OR (decided_by IS NOT NULL))),
    CONSTRAINT approval_content_hash_check CHECK ((octet_length(content_hash) = 32))
);

ALTER TABLE postrider.approval OWNER TO postrider_owner;

--
-- Name: approval_effect(postrider.approval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_effect(r postrider.approval) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION postrider.approval_effect(r postrider.approval) OWNER TO postrider_owner;

--
-- Name: approval_end(postrider.approval, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_end(r postrider.approval, state text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    UPDATE postrider.approval AS x SET state = $2, decided_at = clock_timestamp() WHERE x.id = r.id AND x.state = 'open';
    IF FOUND THEN
        INSERT INTO postrider.audit (actor, action, subject, detail)
        VALUES ('postrider', 'approval.' || state, r.id::text, jsonb_build_object('payment_id', r.payment_id, 'asked_by', r.asked_by));
    END IF;
END $_$;

ALTER FUNCTION postrider.approval_end(r postrider.approval, state text) OWNER TO postrider_owner;

--
-- Name: approval_hash(text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_hash(action text, object text, content jsonb) RETURNS bytea
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT sha256(convert_to(postrider.audit_field(action) || postrider.audit_field(object) || postrider.audit_field(content::text), 'UTF8'))
$$;

ALTER FUNCTION postrider.approval_hash(action text, object text, content jsonb) OWNER TO postrider_owner;

--
-- Name: approval_json(postrider.approval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_json(r postrider.approval) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT jsonb_build_object('id', r.id, 'action', r.action, 'object', r.object, 'payment_id', r.payment_id, 'content', r.content,
        'content_hash', encode(r.content_hash, 'hex'), 'amount', r.amount_minor, 'currency', r.currency, 'merchant_id', r.merchant_id, 'order_no', r.order_no,
        'state', r.state, 'overdue', r.state = 'open' AND r.expires_at <= clock_timestamp(),
        'stale', r.state = 'open' AND r.object_version IS DISTINCT FROM postrider.approval_version(r.payment_id, r.object),
        'asked_by', r.asked_by, 'asked_at', postrider.json_time(r.asked_at), 'ask_reason', r.ask_reason, 'expires_at', postrider.json_time(r.expires_at),
        'decided_by', r.decided_by, 'decided_at', postrider.json_time(r.decided_at), 'decide_reason', r.decide_reason, 'result', r.result)
$$;

ALTER FUNCTION postrider.approval_json(r postrider.approval) OWNER TO postrider_owner;

--
-- Name: approval_locked(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_locked(id bigint) RETURNS postrider.approval
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.approval_locked(id bigint) OWNER TO postrider_owner;

--
-- Name: approval_show(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_show(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.approval_show(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: approval_version(bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_version(payment_id bigint, task_no text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT concat_ws('/', p.version, p.state, p.manual, p.captured_minor, p.refunded_minor,
        (SELECT string_agg(r.id || r.state, ',' ORDER BY r.id) FROM postrider.refund AS r WHERE r.payment_id = p.id),
        (SELECT t.state || (extract(epoch FROM t.updated_at) * 1000000)::bigint FROM postrider.task AS t WHERE t.task_no = $2))
    FROM postrider.payment AS p WHERE p.id = $1
$_$;

ALTER FUNCTION postrider.approval_version(payment_id bigint, task_no text) OWNER TO postrider_owner;

--
-- Name: approval_withdraw(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approval_withdraw(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.approval_withdraw(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: approvals_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.approvals_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
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

ALTER FUNCTION postrider.approvals_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: arg_id(jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.arg_id(a jsonb, key text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    IF (a ->> key ~ '^-?[0-9]{1,18}$') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%s is not a number', key), HINT = 'It is needed: a whole number.';
    END IF;
    RETURN (a ->> key)::bigint;
END $_$;

ALTER FUNCTION postrider.arg_id(a jsonb, key text) OWNER TO postrider_owner;

--
-- Name: arg_limit(jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.arg_limit(a jsonb) RETURNS integer
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT CASE WHEN a ->> 'limit' ~ '^[0-9]{1,4}$' THEN least(greatest((a ->> 'limit')::int, 1), 200) ELSE 50 END
$_$;

ALTER FUNCTION postrider.arg_limit(a jsonb) OWNER TO postrider_owner;

--
-- Name: arg_text(jsonb, text, integer, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.arg_text(a jsonb, key text, most integer, needed boolean DEFAULT false) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    value CONSTANT text := nullif(btrim(a ->> key), '');
BEGIN
    IF value IS NULL AND needed THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%s is missing', key),
            HINT = CASE key WHEN 'reason' THEN 'Say why: it is written down.' ELSE 'It is needed.' END;
    ELSIF length(value) > most THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%s is longer than %s characters', key, most), HINT = 'Shorten it.';
    END IF;
    RETURN value;
END $$;

ALTER FUNCTION postrider.arg_text(a jsonb, key text, most integer, needed boolean) OWNER TO postrider_owner;

--
-- Name: args_check(jsonb, text[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.args_check(a jsonb, VARIADIC known text[] DEFAULT '{}'::text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    bad text;
BEGIN
    IF jsonb_typeof(a) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the arguments are not an object', HINT = 'docs/openapi.yaml has them.';
    END IF;
    SELECT k INTO bad FROM jsonb_object_keys(a) AS k WHERE k <> ALL (known) ORDER BY 1 LIMIT 1;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%L is no argument here', left(bad, 80)),
            HINT = 'Arguments are ' || array_to_string(known, ', ') || '.';
    END IF;
END $$;

ALTER FUNCTION postrider.args_check(a jsonb, VARIADIC known text[]) OWNER TO postrider_owner;

--
-- Name: audit_add(text, text, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_add(who text, action text, subject text, reason text, detail jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF coalesce(who, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'who is missing', HINT = 'Say who does this: every action is written down.';
    END IF;
    PERFORM postrider.person_check(who, action);
    INSERT INTO postrider.audit (actor, action, subject, reason, detail)
    VALUES (left(who, 128), action, subject, left(reason, 500), coalesce(detail, '{}'));
END $$;

ALTER FUNCTION postrider.audit_add(who text, action text, subject text, reason text, detail jsonb) OWNER TO postrider_owner;

--
-- Name: audit_after(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_after() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    entry record;
BEGIN
    UPDATE postrider.audit_head AS h SET n = h.n + 1, hash = postrider.audit_hash(h.n + 1, h.hash, NEW) WHERE h.one RETURNING h.n, h.hash INTO entry;
    INSERT INTO postrider.audit_chain (n, audit_id, hash) VALUES (entry.n, NEW.id, entry.hash);
    RETURN NULL;
END $$;

ALTER FUNCTION postrider.audit_after() OWNER TO postrider_owner;

--
-- Name: audit_before(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_before() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    payment CONSTANT bigint := CASE
        WHEN NEW.action LIKE 'payment.%' AND NEW.subject ~ '^[0-9]{1,18}$' THEN NEW.subject::bigint
        WHEN NEW.action LIKE 'webhook.%' AND NEW.subject ~ '^[0-9]{1,18}$' THEN (SELECT w.payment_id FROM postrider.webhook AS w WHERE w.id = NEW.subject::bigint)
        WHEN NEW.detail ->> 'payment_id' ~ '^[0-9]{1,18}$' THEN (NEW.detail ->> 'payment_id')::bigint END;
BEGIN
    NEW.login := session_user;
    IF payment IS NOT NULL THEN
        SELECT p.merchant_id, p.order_no INTO NEW.merchant_id, NEW.order_no FROM postrider.payment AS p WHERE p.id = payment;
    ELSIF NEW.action LIKE 'task.%' THEN
        SELECT t.merchant_id, t.order_no INTO NEW.merchant_id, NEW.order_no FROM postrider.task AS t WHERE t.task_no = NEW.subject;
    ELSIF NEW.action ~ '^(dead|notification)[.]' AND NEW.subject ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' THEN
        SELECT o.merchant_id, o.order_no INTO NEW.merchant_id, NEW.order_no FROM (
            SELECT x.merchant_id, x.order_no FROM postrider.outbox AS x WHERE x.notify_id = left(NEW.subject, 36)::uuid
            UNION ALL
            SELECT k.merchant_id, k.order_no FROM postrider.outbox_kept AS k WHERE k.notify_id = left(NEW.subject, 36)::uuid LIMIT 1) AS o;
    END IF;
    RETURN NEW;
END $_$;

ALTER FUNCTION postrider.audit_before() OWNER TO postrider_owner;

--
-- Name: audit_end(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_end() RETURNS TABLE(n bigint, hash bytea, unchained bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT h.n, h.hash, (SELECT count(*) FROM postrider.audit AS a WHERE NOT EXISTS (SELECT FROM postrider.audit_chain AS c WHERE c.audit_id = a.id))
    FROM postrider.audit_head AS h
$$;

ALTER FUNCTION postrider.audit_end() OWNER TO postrider_owner;

--
-- Name: audit_entries(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_entries(after bigint, most integer) RETURNS TABLE(n bigint, hash bytea, chained_id bigint, id bigint, at_us bigint, actor text, action text, subject text, reason text, detail text, login text, merchant_id text, order_no text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $_$
    SELECT c.n, c.hash, c.audit_id, a.id, (extract(epoch FROM a.at) * 1000000)::bigint, a.actor, a.action, a.subject, a.reason, a.detail::text, a.login,
           a.merchant_id, a.order_no
    FROM (SELECT x.* FROM postrider.audit_chain AS x WHERE x.n > $1 ORDER BY x.n LIMIT $2) AS c
    LEFT JOIN LATERAL (SELECT y.* FROM postrider.audit AS y WHERE y.id = c.audit_id LIMIT 1) AS a ON true ORDER BY c.n
$_$;

ALTER FUNCTION postrider.audit_entries(after bigint, most integer) OWNER TO postrider_owner;

--
-- Name: audit_field(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_field(value text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT coalesce(octet_length(convert_to(value, 'UTF8'))::text || ':' || value, '-')
$$;

ALTER FUNCTION postrider.audit_field(value text) OWNER TO postrider_owner;

--
-- Name: audit; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.audit (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    reason text,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    login text DEFAULT SESSION_USER NOT NULL,
    merchant_id text,
    order_no text
);

ALTER TABLE postrider.audit OWNER TO postrider_owner;

--
-- Name: audit_hash(bigint, bytea, postrider.audit); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_hash(n bigint, former bytea, a postrider.audit) RETURNS bytea
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT sha256(former || convert_to('postrider-audit-1' || string_agg(postrider.audit_field(f.value), '' ORDER BY f.no), 'UTF8'))
    FROM unnest(ARRAY[n::text, a.id::text, (extract(epoch FROM a.at) * 1000000)::bigint::text, a.actor, a.action, a.subject, a.reason, a.detail::text,
                      a.login, a.merchant_id, a.order_no]) WITH ORDINALITY AS f (value, no)
$$;

ALTER FUNCTION postrider.audit_hash(n bigint, former bytea, a postrider.audit) OWNER TO postrider_owner;

--
-- Name: audit_head_before(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_head_before() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF TG_OP <> 'UPDATE' OR pg_trigger_depth() < 2 OR NEW.n <> OLD.n + 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'the end of the audit log moves with the log', HINT = 'Every action is added by its door.';
    END IF;
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.audit_head_before() OWNER TO postrider_owner;

--
-- Name: audit_head_show(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_head_show(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN (SELECT jsonb_build_object('n', h.n, 'hash', encode(h.hash, 'hex')) FROM postrider.audit_head AS h);
END $$;

ALTER FUNCTION postrider.audit_head_show(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: audit_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.audit_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    upto CONSTANT bigint := coalesce(nullif(a ->> 'after', '')::bigint, 9223372036854775807);
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'who', 'action', 'subject', 'merchant_id', 'order_no', 'limit', 'after');
    IF (a ->> 'merchant_id' IS NULL) <> (a ->> 'order_no' IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'merchant_id and order_no are given together', HINT = 'An order number is a merchant''s.';
    END IF;
    RETURN postrider.page_json(ARRAY(
        SELECT jsonb_build_object('id', x.id, 'n', c.n, 'at', postrider.json_time(x.at), 'actor', x.actor, 'action', x.action, 'subject', x.subject,
            'reason', x.reason, 'detail', x.detail, 'login', x.login, 'merchant_id', x.merchant_id, 'order_no', x.order_no, 'hash', encode(c.hash, 'hex'),
            'cursor', x.id::text)
        FROM (SELECT y.* FROM postrider.audit AS y
              WHERE y.id < upto AND (a ->> 'who' IS NULL OR y.actor = a ->> 'who') AND (a ->> 'action' IS NULL OR y.action = a ->> 'action')
                AND (a ->> 'subject' IS NULL OR y.subject = a ->> 'subject')
                AND (a ->> 'order_no' IS NULL OR (y.merchant_id, y.order_no) = (a ->> 'merchant_id', a ->> 'order_no'))
              ORDER BY y.id DESC LIMIT most + 1) AS x
        LEFT JOIN LATERAL (SELECT z.n, z.hash FROM postrider.audit_chain AS z WHERE z.audit_id = x.id LIMIT 1) AS c ON true ORDER BY x.id DESC), most);
END $$;

ALTER FUNCTION postrider.audit_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: before_ms(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.before_ms(started_us bigint) RETURNS integer
    LANGUAGE sql STABLE
    AS $_$
    SELECT greatest(-2147483648, least(2147483647, (extract(epoch FROM now()) * 1000)::bigint - $1 / 1000))::int
$_$;

ALTER FUNCTION postrider.before_ms(started_us bigint) OWNER TO postrider_owner;

--
-- Name: breaker_force(text, bigint, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.breaker_force(who text, id bigint, forced text, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint := postrider.endpoint_locked(id);
BEGIN
    IF forced NOT IN ('open', 'closed') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'forced is not open, closed or NULL',
            HINT = 'postrider breaker force-open | force-close | reset.';
    END IF;
    IF e.forced IS NOT DISTINCT FROM forced THEN
        RETURN false;
    END IF;
    UPDATE postrider.endpoint AS x SET forced = breaker_force.forced WHERE x.id = id;
    PERFORM postrider.audit_add(who, CASE forced WHEN 'open' THEN 'breaker.force_open' WHEN 'closed' THEN 'breaker.force_close'
        ELSE 'breaker.reset' END, id::text, reason, jsonb_build_object('merchant_id', e.merchant_id, 'was', e.forced));
    RETURN true;
END $$;

ALTER FUNCTION postrider.breaker_force(who text, id bigint, forced text, reason text) OWNER TO postrider_owner;

--
-- Name: bytes_json(bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.bytes_json(bytes bytea) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RETURN to_jsonb(convert_from(bytes, 'UTF8'));
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR untranslatable_character THEN
    RETURN jsonb_build_object('base64', translate(encode(bytes, 'base64'), E'\n', ''));
END $$;

ALTER FUNCTION postrider.bytes_json(bytes bytea) OWNER TO postrider_owner;

--
-- Name: call_apply(jsonb, bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_apply(result jsonb, exchange bytea, OUT verdict text, OUT next text, OUT next_in interval, OUT channel text) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    p postrider.payment;
    c postrider.channel;
    k postrider.call;
    own boolean;
    about CONSTANT text := CASE WHEN result ->> 'operation' IN ('refund', 'query_refund') THEN 'refund' ELSE 'payment' END;
    e CONSTANT jsonb := coalesce(result -> 'evidence', '{}') || jsonb_build_object('object', about, 'asked', true);
    line bigint;
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
            e ->> 'reason', verdict, next) RETURNING id INTO line;
    -- an outcome that is said twice has one exchange
    IF exchange IS NOT NULL AND NOT EXISTS (SELECT FROM postrider.call_exchange AS x WHERE x.payment_id = p.id AND x.said = exchange) THEN
        INSERT INTO postrider.call_exchange (log_id, payment_id, said) VALUES (line, p.id, exchange);
    END IF;
END $_$;

ALTER FUNCTION postrider.call_apply(result jsonb, exchange bytea, OUT verdict text, OUT next text, OUT next_in interval, OUT channel text) OWNER TO postrider_owner;

--
-- Name: call_fence(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_fence(session uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    PERFORM FROM postrider.call_session AS s WHERE s.id = session AND s.ended IS NULL FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'this session has ended', HINT = 'Open a new one: another owner may have the channels.';
    END IF;
END $$;

ALTER FUNCTION postrider.call_fence(session uuid) OWNER TO postrider_owner;

--
-- Name: call; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.call (
    id bigint NOT NULL,
    channel_no integer NOT NULL,
    class smallint NOT NULL,
    operation text NOT NULL,
    payment_id bigint NOT NULL,
    refund_id bigint,
    due timestamp with time zone,
    reason text NOT NULL,
    salt bigint NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    session uuid,
    lease_until timestamp with time zone,
    dispatched_at timestamp with time zone,
    tries integer DEFAULT 0 NOT NULL,
    polls integer DEFAULT 0 NOT NULL,
    sooner integer DEFAULT 0 NOT NULL,
    at_expiry boolean DEFAULT false NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    closes integer DEFAULT 0 NOT NULL,
    closed_at timestamp with time zone,
    close_wanted boolean DEFAULT false NOT NULL,
    settle_at timestamp with time zone,
    born timestamp with time zone DEFAULT now() NOT NULL,
    verify boolean DEFAULT false NOT NULL,
    CONSTRAINT call_check CHECK (((due IS NULL) = (lease_until IS NOT NULL))),
    CONSTRAINT call_check1 CHECK ((class =
CASE
    WHEN (operation = ANY (ARRAY['query'::text, 'query_refund'::text, 'expire'::text])) THEN 1
    ELSE 0
END)),
    CONSTRAINT call_operation_check CHECK ((operation = ANY (ARRAY['charge'::text, 'capture'::text, 'query'::text, 'refund'::text, 'query_refund'::text, 'close'::text, 'expire'::text])))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='20000');

ALTER TABLE postrider.call OWNER TO postrider_owner;

--
-- Name: channel; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.channel (
    id text NOT NULL,
    no integer NOT NULL,
    shard smallint NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    state_reason text,
    state_at timestamp with time zone DEFAULT now() NOT NULL,
    profile text NOT NULL,
    base_url text NOT NULL,
    account text DEFAULT ''::text NOT NULL,
    livemode boolean DEFAULT true NOT NULL,
    tls_ca text,
    notify_url text,
    match text[] NOT NULL,
    failure_final boolean NOT NULL,
    unit text NOT NULL,
    exponents jsonb DEFAULT '{}'::jsonb NOT NULL,
    not_found text NOT NULL,
    not_found_grace_ms bigint NOT NULL,
    settle_ms bigint NOT NULL,
    rate_per_s double precision DEFAULT 0 NOT NULL,
    burst integer DEFAULT 1 NOT NULL,
    concurrency integer DEFAULT 8 NOT NULL,
    polls text NOT NULL,
    max_polls integer NOT NULL,
    first_poll_ms bigint DEFAULT 60000 NOT NULL,
    charge_retry text DEFAULT 'exponential-jitter:1s..6h*5'::text NOT NULL,
    charge_tries integer DEFAULT 6 NOT NULL,
    operations text[] NOT NULL,
    number_max integer DEFAULT 64 NOT NULL,
    expires_ms bigint DEFAULT 7200000 NOT NULL,
    order_policy text DEFAULT 'single'::text NOT NULL,
    late_money text DEFAULT 'refund'::text NOT NULL,
    risk text DEFAULT 'fail'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT channel_base_url_check CHECK ((octet_length(base_url) <= 512)),
    CONSTRAINT channel_burst_check CHECK ((burst > 0)),
    CONSTRAINT channel_charge_tries_check CHECK (((charge_tries >= 1) AND (charge_tries <= 100))),
    CONSTRAINT channel_concurrency_check CHECK (((concurrency >= 1) AND (concurrency <= 1000))),
    CONSTRAINT channel_expires_ms_check CHECK ((expires_ms > 0)),
    CONSTRAINT channel_first_poll_ms_check CHECK ((first_poll_ms >= 0)),
    CONSTRAINT channel_id_check CHECK ((id ~ '^[A-Za-z0-9._-]{1,56}$'::text)),
    CONSTRAINT channel_late_money_check CHECK ((late_money = ANY (ARRAY['refund'::text, 'person'::text]))),
    CONSTRAINT channel_max_polls_check CHECK ((max_polls > 0)),
    CONSTRAINT channel_not_found_check CHECK ((not_found = ANY (ARRAY['yet'::text, 'final'::text]))),
    CONSTRAINT channel_not_found_grace_ms_check CHECK ((not_found_grace_ms >= 0)),
    CONSTRAINT channel_number_max_check CHECK (((number_max >= 16) AND (number_max <= 255))),
    CONSTRAINT channel_order_policy_check CHECK ((order_policy = ANY (ARRAY['single'::text, 'many'::text]))),
    CONSTRAINT channel_rate_per_s_check CHECK ((rate_per_s >= (0)::double precision)),
    CONSTRAINT channel_risk_check CHECK ((risk = ANY (ARRAY['fail'::text, 'person'::text]))),
    CONSTRAINT channel_settle_ms_check CHECK ((settle_ms >= 0)),
    CONSTRAINT channel_unit_check CHECK ((unit = ANY (ARRAY['minor'::text, 'major'::text])))
);

ALTER TABLE postrider.channel OWNER TO postrider_owner;

--
-- Name: payment; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.payment (
    id bigint NOT NULL,
    merchant_id text NOT NULL,
    order_no text NOT NULL,
    channel text NOT NULL,
    channel_no integer NOT NULL,
    intent text DEFAULT '1'::text NOT NULL,
    state text NOT NULL,
    manual boolean DEFAULT false NOT NULL,
    manual_reason text,
    amount_minor bigint NOT NULL,
    currency text NOT NULL,
    captured_minor bigint DEFAULT 0 NOT NULL,
    refunded_minor bigint DEFAULT 0 NOT NULL,
    refunded_seen bigint DEFAULT 0 NOT NULL,
    version bigint NOT NULL,
    gateway_reference text,
    request_no text,
    request text DEFAULT '{}'::text NOT NULL,
    webhook_url text,
    app_ref text,
    notify_url text,
    priority smallint,
    extra jsonb DEFAULT '{}'::jsonb NOT NULL,
    on_expiry text DEFAULT 'close'::text NOT NULL,
    livemode boolean DEFAULT true NOT NULL,
    single boolean NOT NULL,
    failure_code text,
    failure_message text,
    next_action_kind text,
    next_action text,
    paid_before boolean DEFAULT false NOT NULL,
    occurred_at timestamp with time zone,
    paid_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    sent_at timestamp with time zone,
    final_at timestamp with time zone,
    ended_by text,
    webhook_ms bigint,
    notify_id uuid,
    args_hash bytea NOT NULL,
    number_ours boolean DEFAULT false NOT NULL,
    CONSTRAINT payment_amount_minor_check CHECK (((amount_minor >= 0) AND (amount_minor <= '9007199254740991'::bigint))),
    CONSTRAINT payment_on_expiry_check CHECK ((on_expiry = ANY (ARRAY['close'::text, 'manual'::text])))
)
WITH (fillfactor='80');

ALTER TABLE postrider.payment OWNER TO postrider_owner;

--
-- Name: call_follow(postrider.channel, postrider.payment, postrider.call, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_follow(c postrider.channel, p postrider.payment, k postrider.call, verdict text, result jsonb, OUT next text, OUT next_in interval) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    e CONSTANT jsonb := result -> 'evidence';
    explicit CONSTANT boolean := e ->> 'status' IN ('PENDING', 'NOT_FOUND', 'FAILED');
    ending CONSTANT boolean := p.expires_at <= k.dispatched_at OR k.close_wanted
                             OR k.operation = 'query' AND explicit AND jsonb_typeof(coalesce(result -> 'next_ms', 'null')) = 'null';
    said CONSTANT text := postrider.outcome_answer(c, p, k, verdict, e, ending);
    rule record;
    r postrider.refund;
    told boolean;
BEGIN
    IF k.verify AND p.state IN ('succeeded', 'failed', 'cancelled') THEN
        IF e ->> 'action' = 'stop_channel' THEN
            PERFORM postrider.channel_stop(c, e);
        END IF;
        DELETE FROM postrider.call AS x WHERE x.id = k.id;
        next := 'none: verified';
        RETURN;
    ELSIF said = 'stopped' THEN
        PERFORM postrider.channel_stop(c, e);
    END IF;
    SELECT x.step, x.why INTO rule FROM postrider.outcome_rule AS x
    WHERE x.operation = k.operation AND x.answer = said
      AND x.phase IN ('any', CASE WHEN k.closed_at IS NOT NULL THEN 'closed' WHEN ending THEN 'ending' ELSE 'open' END);
    next := postrider.outcome_step(c, p, k, said, rule.step);
    next_in := postrider.outcome_delay(c, p, k, next, e, (result ->> 'next_ms')::bigint);
    IF next = 'cancel' THEN
        PERFORM postrider.payment_apply(c, p, 'close', e || jsonb_build_object('status', 'CANCELLED', 'reason', rule.why), NULL);
        next := 'none: cancelled';
        next_in := NULL;
        RETURN;
    ELSIF next = 'person' OR next_in IS NULL THEN
        IF k.refund_id IS NULL THEN
            PERFORM postrider.payment_to_person(p, postrider.person_reason(p, k, said, verdict, rule.step), e);
        ELSE
            SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = k.refund_id;
            PERFORM postrider.refund_to_person(p, r, postrider.person_reason(p, k, said, verdict, rule.step), e);
        END IF;
        next := 'none: with a person';
        next_in := NULL;
        RETURN;
    END IF;
    told := k.operation = 'close' AND ((e ->> 'http_status')::int BETWEEN 200 AND 299 OR said IN ('missing', 'not_found', 'unsettled', 'unpaid'));
    UPDATE postrider.call AS x
    SET operation = o.operation, class = CASE WHEN o.operation IN ('query', 'query_refund', 'expire') THEN 1 ELSE 0 END,
        due = clock_timestamp() + next_in, lease_until = NULL, session = NULL,
        reason = CASE WHEN next IN ('charge', 'refund') THEN 'confirmed_not_charged' WHEN next = 'again' AND said = 'refused' THEN 'refused_untried'
                      ELSE coalesce(left(result ->> 'next_reason', 64), said) END,
        polls = x.polls + CASE WHEN k.class = 1 THEN 1 ELSE 0 END, sooner = coalesce((result ->> 'sooner')::int, x.sooner),
        at_expiry = x.at_expiry OR coalesce((result ->> 'at_expiry')::boolean, false),
        failures = CASE WHEN said IN ('refused', 'unknown', 'stopped') THEN x.failures + 1 ELSE 0 END,
        closes = x.closes + CASE WHEN k.operation = 'close' THEN 1 ELSE 0 END, closed_at = CASE WHEN told THEN clock_timestamp() ELSE x.closed_at END,
        settle_at = CASE WHEN k.operation NOT IN ('charge', 'capture', 'refund') THEN x.settle_at
                         WHEN said = 'refused' THEN clock_timestamp() ELSE clock_timestamp() + postrider.scaled(c.settle_ms) END
    FROM (SELECT CASE WHEN next IN ('poll', 'ask', 'ask_later', 'settle') THEN CASE WHEN k.refund_id IS NULL THEN 'query' ELSE 'query_refund' END
                      WHEN next = 'again' THEN k.operation
                      WHEN next = 'webhook' THEN 'query_refund' ELSE next END AS operation) AS o
    WHERE x.id = k.id RETURNING x.operation INTO next;
END $$;

ALTER FUNCTION postrider.call_follow(c postrider.channel, p postrider.payment, k postrider.call, verdict text, result jsonb, OUT next text, OUT next_in interval) OWNER TO postrider_owner;

--
-- Name: call_log; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.call_log (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    channel_no integer NOT NULL,
    payment_id bigint NOT NULL,
    refund_id bigint,
    operation text NOT NULL,
    attempt integer NOT NULL,
    dispatched_at timestamp with time zone,
    duration_ms integer,
    http_status integer,
    transport text,
    status text,
    action text,
    reason text,
    verdict text,
    next text
);

ALTER TABLE postrider.call_log OWNER TO postrider_owner;

--
-- Name: call_json(postrider.call_log); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_json(l postrider.call_log) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT jsonb_build_object('at', postrider.json_time(l.at), 'operation', l.operation, 'attempt', l.attempt, 'refund_id', l.refund_id,
        'dispatched_at', postrider.json_time(l.dispatched_at), 'duration_ms', l.duration_ms, 'http_status', l.http_status, 'transport', l.transport,
        'status', l.status, 'action', l.action, 'reason', l.reason, 'verdict', l.verdict, 'next', l.next)
$$;

ALTER FUNCTION postrider.call_json(l postrider.call_log) OWNER TO postrider_owner;

--
-- Name: call_put(postrider.payment, bigint, text, interval, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_put(p postrider.payment, refund_id bigint, operation text, delay interval, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.call_put(p postrider.payment, refund_id bigint, operation text, delay interval, reason text) OWNER TO postrider_owner;

--
-- Name: refund; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.refund (
    id bigint NOT NULL,
    payment_id bigint NOT NULL,
    refund_no text NOT NULL,
    amount_minor bigint NOT NULL,
    reason text,
    origin text DEFAULT 'application'::text NOT NULL,
    state text NOT NULL,
    manual boolean DEFAULT false NOT NULL,
    manual_reason text,
    gateway_no text,
    gateway_reference text,
    failure_code text,
    failure_message text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    sent_at timestamp with time zone,
    final_at timestamp with time zone,
    CONSTRAINT refund_amount_minor_check CHECK (((amount_minor >= 1) AND (amount_minor <= '9007199254740991'::bigint))),
    CONSTRAINT refund_origin_check CHECK ((origin = ANY (ARRAY['application'::text, 'late_money'::text, 'gateway'::text])))
)
WITH (fillfactor='80');

ALTER TABLE postrider.refund OWNER TO postrider_owner;

--
-- Name: call_refuse(postrider.channel, postrider.payment, postrider.refund, postrider.call); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_refuse(c postrider.channel, p postrider.payment, r postrider.refund, k postrider.call) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF k.verify AND k.operation = 'query' AND p.state IN ('succeeded', 'failed', 'cancelled') AND 'query' = ANY (c.operations) THEN
        RETURN CASE WHEN c.state <> 'active' THEN 'channel ' || c.state END;
    ELSIF k.refund_id IS NULL AND p.state IN ('succeeded', 'failed', 'cancelled') OR k.refund_id IS NOT NULL AND r.state NOT IN ('created', 'processing') THEN
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

ALTER FUNCTION postrider.call_refuse(c postrider.channel, p postrider.payment, r postrider.refund, k postrider.call) OWNER TO postrider_owner;

--
-- Name: call_request_before(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_request_before() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF (NEW.payment_id, NEW.refund_id, NEW.operation) <> (OLD.payment_id, OLD.refund_id, OLD.operation)
       OR OLD.sha256 IS NOT NULL AND (NEW.config, NEW.built_at, NEW.sha256) IS DISTINCT FROM (OLD.config, OLD.built_at, OLD.sha256) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'a request stays what it was', HINT = 'What is to be sent differently is a new intent.';
    END IF;
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.call_request_before() OWNER TO postrider_owner;

--
-- Name: call_session_beat(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_session_beat(session uuid, OUT alive boolean, OUT target integer, OUT owned integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    other record;
BEGIN
    UPDATE postrider.call_session AS s SET beat_at = clock_timestamp() WHERE s.id = session AND s.ended IS NULL;
    alive := FOUND;
    FOR other IN SELECT s.id, s.pid, s.beat_at FROM postrider.call_session AS s WHERE s.ended IS NULL AND s.id <> session
                 ORDER BY s.id FOR UPDATE SKIP LOCKED LOOP
        IF postrider.session_connected(postrider.call_session_key(other.id), other.pid) THEN
            PERFORM pg_terminate_backend(other.pid) WHERE other.beat_at < clock_timestamp() - interval '15 s';
        ELSE
            PERFORM postrider.call_session_end(other.id);
        END IF;
    END LOOP;
    -- a batch that holds its row keeps it out of the loop above: stopped in the middle, it goes all the same
    PERFORM pg_terminate_backend(s.pid) FROM postrider.call_session AS s
    WHERE s.ended IS NULL AND s.id <> session AND s.beat_at < clock_timestamp() - interval '15 s'
      AND postrider.session_connected(postrider.call_session_key(s.id), s.pid);
    SELECT ceil((SELECT count(DISTINCT c.shard) FROM postrider.channel AS c)::numeric
                / greatest(1, (SELECT count(*) FROM postrider.call_session AS s WHERE s.ended IS NULL))),
           (SELECT count(*) FROM postrider.call_shard AS h WHERE h.session = session)
    INTO target, owned;
END $$;

ALTER FUNCTION postrider.call_session_beat(session uuid, OUT alive boolean, OUT target integer, OUT owned integer) OWNER TO postrider_owner;

--
-- Name: call_session_end(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_session_end(session uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
BEGIN
    UPDATE postrider.call_session AS s SET ended = clock_timestamp() WHERE s.id = session AND s.ended IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM postrider.call_shards_free(session, ARRAY(SELECT h.no FROM postrider.call_shard AS h WHERE h.session = session));
    RETURN true;
END $$;

ALTER FUNCTION postrider.call_session_end(session uuid) OWNER TO postrider_owner;

--
-- Name: call_session_key(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_session_key(session uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT ('x' || left(session::text, 8) || right(session::text, 8))::bit(64)::bigint
$$;

ALTER FUNCTION postrider.call_session_key(session uuid) OWNER TO postrider_owner;

--
-- Name: call_session_open(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_session_open(address text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    id CONSTANT uuid := gen_random_uuid();
BEGIN
    PERFORM postrider.call_session_end(s.id) FROM postrider.call_session AS s WHERE s.pid = pg_backend_pid() AND s.ended IS NULL;
    PERFORM pg_advisory_lock(postrider.call_session_key(id));
    INSERT INTO postrider.call_session (id, pid, address) VALUES (id, pg_backend_pid(), coalesce(address, ''));
    RETURN id;
END $$;

ALTER FUNCTION postrider.call_session_open(address text) OWNER TO postrider_owner;

--
-- Name: call_shards(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_shards(session uuid) RETURNS SETOF smallint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT h.no FROM postrider.call_shard AS h WHERE h.session = $1
$_$;

ALTER FUNCTION postrider.call_shards(session uuid) OWNER TO postrider_owner;

--
-- Name: call_shards_free(uuid, smallint[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_shards_free(session uuid, nos smallint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    own CONSTANT boolean := EXISTS (SELECT FROM postrider.call_session AS s WHERE s.id = session AND s.pid = pg_backend_pid());
BEGIN
    nos := ARRAY(SELECT h.no FROM postrider.call_shard AS h WHERE h.session = session AND h.no = ANY (nos));
    UPDATE postrider.call_shard AS h SET session = NULL WHERE h.session = session AND h.no = ANY (nos);
    PERFORM pg_advisory_unlock(1886548336, n.no) FROM unnest(nos) AS n (no) WHERE own;
    RETURN cardinality(nos);
END $$;

ALTER FUNCTION postrider.call_shards_free(session uuid, nos smallint[]) OWNER TO postrider_owner;

--
-- Name: call_shards_release(uuid, smallint[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_shards_release(session uuid, nos smallint[]) RETURNS integer
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT postrider.call_shards_free($1, $2)
$_$;

ALTER FUNCTION postrider.call_shards_release(session uuid, nos smallint[]) OWNER TO postrider_owner;

--
-- Name: call_shards_take(uuid, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.call_shards_take(session uuid, most integer) RETURNS SETOF smallint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    one record;
    taken int := 0;
BEGIN
    PERFORM postrider.call_fence(session);
    FOR one IN SELECT h.no, h.session FROM postrider.call_shard AS h
               WHERE h.session IS DISTINCT FROM session AND h.no IN (SELECT c.shard FROM postrider.channel AS c) ORDER BY h.no LOOP
        EXIT WHEN taken >= most;
        CONTINUE WHEN NOT pg_try_advisory_lock(1886548336, one.no);
        IF one.session IS NOT NULL THEN
            UPDATE postrider.call_session AS s SET ended = clock_timestamp() WHERE s.id = one.session AND s.ended IS NULL;
        END IF;
        UPDATE postrider.call_shard AS h SET session = session WHERE h.no = one.no;
        taken := taken + 1;
        RETURN NEXT one.no;
    END LOOP;
END $$;

ALTER FUNCTION postrider.call_shards_take(session uuid, most integer) OWNER TO postrider_owner;

--
-- Name: calls_apply(uuid, jsonb, bytea[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_apply(session uuid, results jsonb, exchanges bytea[] DEFAULT '{}'::bytea[]) RETURNS TABLE(call_id bigint, verdict text, next text, next_in_ms bigint, channel text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    one jsonb;
    place bigint;
BEGIN
    PERFORM postrider.call_fence($1);
    PERFORM FROM postrider.payment AS x WHERE x.id = ANY (ARRAY(SELECT (e.value ->> 'payment_id')::bigint FROM jsonb_array_elements($2) AS e (value)))
    ORDER BY x.id FOR NO KEY UPDATE;
    FOR one, place IN SELECT e.value, e.at FROM jsonb_array_elements($2) WITH ORDINALITY AS e (value, at) ORDER BY (e.value ->> 'payment_id')::bigint, e.at LOOP
        RETURN QUERY SELECT (one ->> 'call_id')::bigint, a.verdict, a.next, (extract(epoch FROM a.next_in) * 1000)::bigint, a.channel
                     FROM postrider.call_apply(one, $3[place]) AS a;
    END LOOP;
END $_$;

ALTER FUNCTION postrider.calls_apply(session uuid, results jsonb, exchanges bytea[]) OWNER TO postrider_owner;

--
-- Name: calls_channels(uuid, text[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_channels(session uuid, known text[], versions bigint[]) RETURNS TABLE(channel text, version bigint, shard smallint, state text, profile text, base_url text, tls_ca text, parameters jsonb, exponents jsonb, rate_per_s double precision, burst integer, concurrency integer, polls text, max_polls integer, charge_retry text, query_supported boolean, paused_ms bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT c.id, c.version, c.shard, c.state, c.profile, c.base_url, c.tls_ca, postrider.channel_parameters(c.id), c.exponents, c.rate_per_s, c.burst,
           c.concurrency, c.polls, c.max_polls, c.charge_retry, 'query' = ANY (c.operations),
           (SELECT greatest(0, (extract(epoch FROM x.until - clock_timestamp()) * 1000)::bigint) FROM postrider.channel_pause AS x WHERE x.channel_no = c.no)
    FROM postrider.channel AS c JOIN postrider.call_shard AS h ON h.no = c.shard AND h.session = $1
    WHERE NOT EXISTS (SELECT FROM unnest($2, $3) AS k (id, version) WHERE k.id = c.id AND k.version = c.version)
    ORDER BY c.id
$_$;

ALTER FUNCTION postrider.calls_channels(session uuid, known text[], versions bigint[]) OWNER TO postrider_owner;

--
-- Name: calls_dispatch(uuid, bigint[], integer[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_dispatch(session uuid, call_ids bigint[], lease_ms integer[]) RETURNS TABLE(call_id bigint, dropped text, salt bigint, attempt integer, channel text, class integer, operation text, payment_id bigint, refund_id bigint, request_no text, reference text, refund_no text, refund_reference text, order_no text, currency text, description text, reason text, notify_url text, return_url text, amount_minor bigint, refund_minor bigint, expires_at_us bigint, request text, paid_before boolean, age_ms bigint, expires_ms bigint, polls integer, sooner integer, polled_at_expiry boolean, tries integer, failures integer, built_at_us bigint, request_sha256 text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.calls_dispatch(session uuid, call_ids bigint[], lease_ms integer[]) OWNER TO postrider_owner;

--
-- Name: calls_due(uuid, smallint[], integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_due(session uuid, shards smallint[], most integer) RETURNS TABLE(call_id bigint, channel text, class integer, operation text, due_in_ms bigint, priority integer)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT d.id, c.id, x.class, d.operation, (extract(epoch FROM d.due - clock_timestamp()) * 1000)::bigint, d.priority
    FROM postrider.channel AS c JOIN postrider.call_shard AS h ON h.no = c.shard AND h.session = $1
    CROSS JOIN generate_series(0, 1) AS x (class)
    CROSS JOIN LATERAL (
        (SELECT k.id, k.operation, k.due, 0 AS priority FROM postrider.call AS k
         WHERE k.channel_no = c.no AND k.class = x.class AND k.due > now() - interval '5 s' ORDER BY k.due LIMIT $3)
        UNION ALL
        (SELECT k.id, k.operation, k.due, 1 FROM postrider.call AS k
         WHERE k.channel_no = c.no AND k.class = x.class AND k.due <= now() - interval '5 s' ORDER BY k.due LIMIT $3)) AS d
    WHERE c.shard = ANY ($2) AND c.state = 'active'
    ORDER BY c.id, x.class, d.priority, d.due
$_$;

ALTER FUNCTION postrider.calls_due(session uuid, shards smallint[], most integer) OWNER TO postrider_owner;

--
-- Name: calls_expire_leases(uuid, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_expire_leases(session uuid, most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    late bigint[];
    expired int;
BEGIN
    PERFORM postrider.call_fence(session);
    late := ARRAY(
        SELECT d.id FROM postrider.channel AS c JOIN postrider.call_shard AS h ON h.no = c.shard AND h.session = session
        CROSS JOIN LATERAL (SELECT k.id, k.session, k.lease_until FROM postrider.call AS k
                            WHERE k.channel_no = c.no AND k.lease_until IS NOT NULL ORDER BY k.lease_until LIMIT greatest(most, c.concurrency * 4)) AS d
        WHERE d.lease_until < clock_timestamp()
           OR d.session <> session AND NOT EXISTS (SELECT FROM postrider.call_session AS s WHERE s.id = d.session AND s.ended IS NULL)
        LIMIT most);
    late := ARRAY(SELECT k.id FROM postrider.call AS k WHERE k.id = ANY (late) AND k.due IS NULL FOR UPDATE SKIP LOCKED);
    IF cardinality(late) = 0 THEN
        RETURN 0;
    END IF;
    UPDATE postrider.call AS k
    SET operation = CASE WHEN k.refund_id IS NULL THEN 'query' ELSE 'query_refund' END, class = 1, due = clock_timestamp(), lease_until = NULL,
        session = NULL, reason = 'worker_lost', failures = k.failures + 1
    WHERE k.id = ANY (late);
    GET DIAGNOSTICS expired = ROW_COUNT;
    RETURN expired;
END $$;

ALTER FUNCTION postrider.calls_expire_leases(session uuid, most integer) OWNER TO postrider_owner;

--
-- Name: calls_orphaned(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_orphaned(session uuid) RETURNS TABLE(call_id bigint, channel text, class integer, salt bigint, attempt integer, operation text, payment_id bigint, refund_id bigint, age_ms bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT d.id, c.id, d.class::int, d.salt, d.attempt, d.operation, d.payment_id, d.refund_id,
           (extract(epoch FROM clock_timestamp() - d.dispatched_at) * 1000)::bigint
    FROM postrider.channel AS c JOIN postrider.call_shard AS h ON h.no = c.shard AND h.session = $1
    CROSS JOIN LATERAL (SELECT k.* FROM postrider.call AS k WHERE k.channel_no = c.no AND k.lease_until IS NOT NULL
                        ORDER BY k.lease_until DESC LIMIT 1000) AS d        -- 1000: the most at a time that a channel may have
    WHERE d.session <> $1 AND NOT EXISTS (SELECT FROM postrider.call_session AS s WHERE s.id = d.session AND s.ended IS NULL)
$_$;

ALTER FUNCTION postrider.calls_orphaned(session uuid) OWNER TO postrider_owner;

--
-- Name: calls_pause(uuid, text, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_pause(session uuid, channel text, ms bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
BEGIN
    PERFORM postrider.call_fence(session);
    INSERT INTO postrider.channel_pause AS p (channel_no, until)
    SELECT c.no, clock_timestamp() + least(ms, 86400000) * interval '1 ms' FROM postrider.channel AS c WHERE c.id = channel
    ON CONFLICT (channel_no) DO UPDATE SET until = greatest(p.until, excluded.until);
END $$;

ALTER FUNCTION postrider.calls_pause(session uuid, channel text, ms bigint) OWNER TO postrider_owner;

--
-- Name: calls_turns(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_turns(session uuid) RETURNS TABLE(channel text, waiting integer, held integer, paused_ms bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT c.id, coalesce(t.waiting, 0), coalesce(t.held, 0), coalesce(s.paused_ms, 0)
    FROM (SELECT x.channel_no FROM postrider.channel_turn AS x
          UNION SELECT p.channel_no FROM postrider.channel_pause AS p WHERE p.until > clock_timestamp()) AS n
    CROSS JOIN LATERAL (SELECT x.* FROM postrider.channel AS x WHERE x.no = n.channel_no LIMIT 1) AS c
    LEFT JOIN LATERAL (SELECT count(*) FILTER (WHERE x.given_at IS NULL)::int AS waiting, count(*) FILTER (WHERE x.given_at IS NOT NULL)::int AS held
                       FROM postrider.channel_turn AS x WHERE x.channel_no = c.no AND x.until > clock_timestamp()) AS t ON true
    LEFT JOIN LATERAL (SELECT (extract(epoch FROM p.until - clock_timestamp()) * 1000)::bigint AS paused_ms
                       FROM postrider.channel_pause AS p WHERE p.channel_no = c.no AND p.until > clock_timestamp() LIMIT 1) AS s ON true
    WHERE EXISTS (SELECT FROM postrider.call_shard AS h WHERE h.no = c.shard AND h.session = $1)
    ORDER BY c.id
$_$;

ALTER FUNCTION postrider.calls_turns(session uuid) OWNER TO postrider_owner;

--
-- Name: calls_turns_give(uuid, text[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_turns_give(session uuid, channels text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    PERFORM postrider.call_fence(session);
    UPDATE postrider.channel_turn AS t SET given_at = clock_timestamp(), until = clock_timestamp() + t.hold
    WHERE t.id = ANY (ARRAY(SELECT (SELECT x.id FROM postrider.channel_turn AS x JOIN postrider.channel AS c ON c.no = x.channel_no
                                    WHERE c.id = n.id AND x.given_at IS NULL AND x.until > clock_timestamp() ORDER BY x.id LIMIT 1)
                            FROM unnest(channels) AS n (id)));
END $$;

ALTER FUNCTION postrider.calls_turns_give(session uuid, channels text[]) OWNER TO postrider_owner;

--
-- Name: calls_webhook_delays(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.calls_webhook_delays(session uuid) RETURNS TABLE(channel text, samples integer, first_permille integer, p95_ms bigint, p99_ms bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT c.id, count(l.webhook_ms)::int, coalesce(1000 * count(*) FILTER (WHERE l.ended_by = 'webhook') / nullif(count(*), 0), 0)::int,
           percentile_disc(0.95) WITHIN GROUP (ORDER BY l.webhook_ms), percentile_disc(0.99) WITHIN GROUP (ORDER BY l.webhook_ms)
    FROM postrider.channel AS c JOIN postrider.call_shard AS h ON h.no = c.shard AND h.session = $1
    CROSS JOIN LATERAL (SELECT p.webhook_ms, p.ended_by FROM postrider.payment AS p
                        WHERE p.channel_no = c.no AND p.final_at IS NOT NULL ORDER BY p.final_at DESC LIMIT 1000) AS l
    GROUP BY c.id ORDER BY c.id
$_$;

ALTER FUNCTION postrider.calls_webhook_delays(session uuid) OWNER TO postrider_owner;

--
-- Name: cancel_notification(uuid, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.cancel_notification(notify_id uuid, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.cancel_notification(notify_id uuid, reason text) OWNER TO postrider_owner;

--
-- Name: cancel_payment(bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.cancel_payment(payment_id bigint, reason text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.cancel_payment(payment_id bigint, reason text) OWNER TO postrider_owner;

--
-- Name: channel_add(text, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_add(who text, id text, settings jsonb, parameters jsonb DEFAULT '[]'::jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    c postrider.channel;
BEGIN
    IF id IS NULL OR id !~ '^[A-Za-z0-9._-]{1,56}$' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the channel''s id is not 1 to 56 of A-Z a-z 0-9 . _ -', HINT = 'It stands in the address of its webhooks.';
    ELSIF EXISTS (SELECT FROM postrider.channel AS x WHERE x.id = $2) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('channel %L is known already', id), HINT = 'Use postrider channel set.';
    END IF;
    c.account := '';
    c.livemode := true;
    c.exponents := '{}';
    c.rate_per_s := 0;
    c.burst := 1;
    c.concurrency := 8;
    c.first_poll_ms := 60000;
    c.charge_retry := 'exponential-jitter:1s..6h*5';
    c.charge_tries := 6;
    c.number_max := 64;
    c.expires_ms := 7200000;
    c.order_policy := 'single';
    c.late_money := 'refund';
    c.risk := 'fail';
    c := postrider.channel_patch(c, settings);
    INSERT INTO postrider.channel (id, shard, profile, base_url, account, livemode, tls_ca, notify_url, match, failure_final, unit, exponents, not_found,
        not_found_grace_ms, settle_ms, rate_per_s, burst, concurrency, polls, max_polls, first_poll_ms, charge_retry, charge_tries, operations, number_max,
        expires_ms, order_policy, late_money, risk)
    VALUES (id, 0, c.profile, c.base_url, c.account, c.livemode, c.tls_ca, c.notify_url, c.match, c.failure_final, c.unit, c.exponents, c.not_found,
        c.not_found_grace_ms, c.settle_ms, c.rate_per_s, c.burst, c.concurrency, c.polls, c.max_polls, c.first_poll_ms, c.charge_retry, c.charge_tries,
        c.operations, c.number_max, c.expires_ms, c.order_policy, c.late_money, c.risk);
    PERFORM postrider.channel_parameters_set(id, coalesce(parameters, '[]'));
    PERFORM postrider.audit_add(who, 'channel.add', id, NULL, settings);
END $_$;

ALTER FUNCTION postrider.channel_add(who text, id text, settings jsonb, parameters jsonb) OWNER TO postrider_owner;

--
-- Name: channel_after(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_after() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE postrider.task AS t SET state = 'CLOSED', moved_by = 'postrider', move_reason = 'the channel is active again', closed_by = 'postrider',
           conclusion = left('the channel is active again: ' || coalesce(NEW.state_reason, ''), 500), updated_at = now()
    WHERE t.biz_type = 'channel_stopped' AND t.biz_id = NEW.id AND t.state = 'MANUAL';
    RETURN NULL;
END $$;

ALTER FUNCTION postrider.channel_after() OWNER TO postrider_owner;

--
-- Name: channel_before(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_before() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    NEW.shard := get_byte(sha256(convert_to(NEW.id, 'UTF8')), 0);
    NEW.updated_at := now();
    IF TG_OP = 'UPDATE' THEN
        NEW.version := OLD.version + 1;
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'a channel keeps its id', HINT = 'Add another one.';
        END IF;
        NEW.state_at := CASE WHEN NEW.state <> OLD.state THEN now() ELSE OLD.state_at END;
    END IF;
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.channel_before() OWNER TO postrider_owner;

--
-- Name: channel_config(postrider.channel); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_config(c postrider.channel) RETURNS bytea
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT sha256(convert_to(jsonb_build_array(c.profile, c.base_url, c.account, c.exponents, postrider.channel_parameters(c.id))::text, 'UTF8'))
$$;

ALTER FUNCTION postrider.channel_config(c postrider.channel) OWNER TO postrider_owner;

--
-- Name: channel_json(postrider.channel); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_json(c postrider.channel) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    SET enable_seqscan TO 'off'
    AS $$
    SELECT (to_jsonb(x) - ARRAY['tls_ca']) || jsonb_build_object('state_at', postrider.json_time(x.state_at), 'created_at', postrider.json_time(x.created_at),
        'updated_at', postrider.json_time(x.updated_at),
        'calls_waiting', (SELECT count(*) FROM (SELECT FROM postrider.call AS k WHERE k.channel_no = c.no AND k.class IN (0, 1) AND k.due IS NOT NULL LIMIT 10001) AS k),
        'calls_under_way', (SELECT count(*) FROM (SELECT FROM postrider.call AS k WHERE k.channel_no = c.no AND k.lease_until IS NOT NULL LIMIT 10001) AS k))
    FROM postrider.channels AS x WHERE x.channel = c.id
$$;

ALTER FUNCTION postrider.channel_json(c postrider.channel) OWNER TO postrider_owner;

--
-- Name: channel_keep_account(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_keep_account() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
BEGIN
    IF EXISTS (SELECT FROM postrider.payment AS p WHERE p.channel_no = OLD.no AND p.state IN ('created', 'processing'))
       OR EXISTS (SELECT FROM postrider.refund AS r JOIN postrider.payment AS p ON p.id = r.payment_id
                  WHERE r.state IN ('created', 'processing') AND p.channel_no = OLD.no) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('payments of channel %s are open: its account, profile and livemode stay as they are', OLD.id),
            HINT = 'Add another channel for the other account; payments that are open end at this one.';
    END IF;
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.channel_keep_account() OWNER TO postrider_owner;

--
-- Name: channel_locked(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_locked(id text) RETURNS postrider.channel
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    c postrider.channel;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = $1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(id, 80)), HINT = 'postrider channel list shows those that are.';
    END IF;
    RETURN c;
END $_$;

ALTER FUNCTION postrider.channel_locked(id text) OWNER TO postrider_owner;

--
-- Name: channel_maintain(text, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_maintain(who text, id text, reason text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT postrider.channel_move(who, id, 'channel.maintain', 'maintenance', reason, NULL)
$$;

ALTER FUNCTION postrider.channel_maintain(who text, id text, reason text) OWNER TO postrider_owner;

--
-- Name: channel_move(text, text, text, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_move(who text, id text, action text, state text, reason text, detail jsonb) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    former CONSTANT postrider.channel := postrider.channel_locked(id);
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the reason is missing', HINT = 'Say why: it is written down.';
    ELSIF former.state = $4 THEN
        RETURN false;
    END IF;
    UPDATE postrider.channel AS x SET state = $4, state_reason = left(reason, 200) WHERE x.id = $2;
    PERFORM postrider.audit_add(who, action, id, reason, jsonb_build_object('was', former.state, 'was_reason', former.state_reason) || coalesce(detail, '{}'));
    RETURN true;
END $_$;

ALTER FUNCTION postrider.channel_move(who text, id text, action text, state text, reason text, detail jsonb) OWNER TO postrider_owner;

--
-- Name: channel_parameters(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_parameters(channel text) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT coalesce(jsonb_agg(jsonb_build_object('name', a.name, 'position', a.position, 'sealed', encode(a.sealed, 'hex')) ORDER BY a.name, a.position), '[]')
    FROM postrider.channel_parameter AS a WHERE a.channel = $1
$_$;

ALTER FUNCTION postrider.channel_parameters(channel text) OWNER TO postrider_owner;

--
-- Name: channel_parameters_set(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_parameters_set(channel text, parameters jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    DELETE FROM postrider.channel_parameter AS a WHERE a.channel = $1
       AND a.name IN (SELECT p.value ->> 'name' FROM jsonb_array_elements(parameters) AS p (value));
    INSERT INTO postrider.channel_parameter (channel, name, position, sealed)
    SELECT $1, p.value ->> 'name', coalesce((p.value ->> 'position')::smallint, 1), decode(p.value ->> 'sealed', 'hex')
    FROM jsonb_array_elements(parameters) AS p (value) WHERE p.value ->> 'sealed' IS NOT NULL;
    IF (SELECT count(*) FROM postrider.channel_parameter AS a WHERE a.channel = $1) > 24 THEN
        RAISE check_violation;
    END IF;
EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'parameters are not an array of {"name", "position", "sealed"}',
        HINT = 'Sealed as hex, at most 4126 bytes; one name at positions 1 to 4; 24 in all.';
END $_$;

ALTER FUNCTION postrider.channel_parameters_set(channel text, parameters jsonb) OWNER TO postrider_owner;

--
-- Name: channel_patch(postrider.channel, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_patch(c postrider.channel, settings jsonb) RETURNS postrider.channel
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    bad text;
BEGIN
    SELECT format('%L is no setting of a channel', left(s.key, 80)) INTO bad FROM jsonb_object_keys(settings) AS s (key)
    WHERE s.key NOT IN ('profile', 'base_url', 'account', 'livemode', 'tls_ca', 'notify_url', 'match', 'failure_final', 'unit', 'exponents', 'not_found',
        'not_found_grace_ms', 'settle_ms', 'rate_per_s', 'burst', 'concurrency', 'polls', 'max_polls', 'first_poll_ms', 'charge_retry', 'charge_tries',
        'operations', 'number_max', 'expires_ms', 'order_policy', 'late_money', 'risk') LIMIT 1;
    IF bad IS NULL THEN
        BEGIN
            c := jsonb_populate_record(c, settings);
        EXCEPTION WHEN data_exception OR invalid_text_representation THEN
            bad := 'a setting has a value of the wrong kind: ' || SQLERRM;
        END;
    END IF;
    bad := coalesce(bad, CASE
        WHEN c.profile !~ '^[a-z0-9-]{1,64}$' THEN 'profile is not 1 to 64 of a-z 0-9 -'
        WHEN postrider.url_origin(c.base_url) IS NULL OR c.base_url !~ '^[^:]+://[^/?#]+/?$' THEN 'base_url is not http(s)://HOST[:PORT]'
        WHEN c.notify_url IS NOT NULL AND postrider.url_origin(c.notify_url) IS NULL THEN 'notify_url is not a URL that can be called'
        WHEN length(c.account) > 127 THEN 'account is longer than 127 characters'
        WHEN octet_length(c.tls_ca) > 16384 THEN 'tls_ca is longer than 16384 bytes'
        WHEN NOT c.match <@ ARRAY['account', 'number', 'amount', 'currency'] THEN 'match is not of account, number, amount, currency'
        WHEN 'account' = ANY (c.match) AND c.account = '' THEN 'account is missing: evidence must name it'
        WHEN c.unit NOT IN ('minor', 'major') THEN 'unit is not minor or major'
        WHEN jsonb_typeof(c.exponents) <> 'object' OR EXISTS (SELECT FROM jsonb_each(c.exponents) AS x
             WHERE x.key !~ '^[A-Z]{3}$' OR x.value::text !~ '^[0-4]$') OR (SELECT count(*) FROM jsonb_object_keys(c.exponents)) > 32
             THEN 'exponents is not an object of at most 32 currencies to 0 to 4'
        WHEN c.not_found NOT IN ('yet', 'final') THEN 'not_found is not yet or final'
        WHEN least(c.not_found_grace_ms, c.settle_ms, c.first_poll_ms) < 0 OR greatest(c.not_found_grace_ms, c.settle_ms, c.first_poll_ms, c.expires_ms) > 7776000000
             THEN 'a duration is negative or longer than 90 days'
        WHEN NOT (c.rate_per_s >= 0 AND c.rate_per_s < 'infinity') OR c.burst NOT BETWEEN 1 AND 100000 THEN 'rate_per_s or burst is out of range'
        WHEN c.concurrency NOT BETWEEN 1 AND 1000 THEN 'concurrency is not 1 to 1000'
        WHEN NOT postrider.retry_ok(c.polls) OR c.polls = '' THEN 'polls is no schedule'
        WHEN NOT postrider.retry_ok(c.charge_retry) OR c.charge_retry = '' THEN 'charge_retry is no schedule'
        WHEN c.max_polls NOT BETWEEN 1 AND 1000 OR c.charge_tries NOT BETWEEN 1 AND 100 THEN 'max_polls or charge_tries is out of range'
        WHEN NOT c.operations <@ ARRAY['token', 'charge', 'capture', 'query', 'find', 'refund', 'query_refund', 'close'] THEN 'operations has an unknown one'
        WHEN c.number_max NOT BETWEEN 16 AND 255 THEN 'number_max is not 16 to 255'
        WHEN c.expires_ms < 1 THEN 'expires_ms is not positive'
        WHEN c.order_policy NOT IN ('single', 'many') THEN 'order_policy is not single or many'
        WHEN c.late_money NOT IN ('refund', 'person') THEN 'late_money is not refund or person'
        WHEN c.risk NOT IN ('fail', 'person') THEN 'risk is not fail or person'
        WHEN num_nulls(c.profile, c.base_url, c.account, c.livemode, c.match, c.failure_final, c.unit, c.exponents, c.not_found, c.not_found_grace_ms,
             c.settle_ms, c.rate_per_s, c.burst, c.concurrency, c.polls, c.max_polls, c.first_poll_ms, c.charge_retry, c.charge_tries, c.operations,
             c.number_max, c.expires_ms, c.order_policy, c.late_money, c.risk) > 0 THEN 'a setting is missing' END);
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = bad, HINT = 'postrider channel set --help lists the settings and their form.';
    END IF;
    RETURN c;
END $_$;

ALTER FUNCTION postrider.channel_patch(c postrider.channel, settings jsonb) OWNER TO postrider_owner;

--
-- Name: channel_pause(text, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_pause(who text, id text, reason text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT postrider.channel_move(who, id, 'channel.pause', 'paused', reason, NULL)
$$;

ALTER FUNCTION postrider.channel_pause(who text, id text, reason text) OWNER TO postrider_owner;

--
-- Name: channel_resume(text, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_resume(who text, id text, reason text, test jsonb DEFAULT NULL::jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    c CONSTANT postrider.channel := postrider.channel_locked(id);
BEGIN
    IF c.state = 'stopped' AND (jsonb_typeof(test) IS DISTINCT FROM 'object' OR NOT test ? 'http_status' OR test ->> 'action' = 'stop_channel') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('channel %L was stopped: it is resumed after a test call that the gateway takes', id),
            HINT = 'postrider channel resume makes one; correct the credential first: postrider channel set.';
    END IF;
    PERFORM FROM postrider.alert_resolve('channel_stopped', id);
    RETURN postrider.channel_move(who, id, 'channel.resume', 'active', reason, jsonb_build_object('test', test));
END $$;

ALTER FUNCTION postrider.channel_resume(who text, id text, reason text, test jsonb) OWNER TO postrider_owner;

--
-- Name: channel_sealed(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_sealed(id text) RETURNS TABLE(version bigint, exponents jsonb, tls_ca text, parameters jsonb)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT c.version, c.exponents, c.tls_ca, postrider.channel_parameters(c.id) FROM postrider.channel AS c WHERE c.id = $1
$_$;

ALTER FUNCTION postrider.channel_sealed(id text) OWNER TO postrider_owner;

--
-- Name: channel_set(text, text, jsonb, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_set(who text, id text, settings jsonb, parameters jsonb DEFAULT '[]'::jsonb, reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET extra_float_digits TO '1'
    AS $_$
DECLARE
    former CONSTANT postrider.channel := postrider.channel_locked(id);
    c CONSTANT postrider.channel := postrider.channel_patch(former, settings);
BEGIN
    UPDATE postrider.channel AS x
    SET (profile, base_url, account, livemode, tls_ca, notify_url, match, failure_final, unit, exponents, not_found, not_found_grace_ms, settle_ms, rate_per_s,
         burst, concurrency, polls, max_polls, first_poll_ms, charge_retry, charge_tries, operations, number_max, expires_ms, order_policy, late_money, risk)
      = (c.profile, c.base_url, c.account, c.livemode, c.tls_ca, c.notify_url, c.match, c.failure_final, c.unit, c.exponents, c.not_found,
         c.not_found_grace_ms, c.settle_ms, c.rate_per_s, c.burst, c.concurrency, c.polls, c.max_polls, c.first_poll_ms, c.charge_retry, c.charge_tries,
         c.operations, c.number_max, c.expires_ms, c.order_policy, c.late_money, c.risk)
    WHERE x.id = $2;
    PERFORM postrider.channel_parameters_set(id, coalesce(parameters, '[]'));
    PERFORM postrider.audit_add(who, 'channel.set', id, reason, jsonb_build_object('set', settings, 'before',
        (SELECT jsonb_object_agg(b.key, b.value) FROM jsonb_each(to_jsonb(former)) AS b WHERE settings ? b.key)));
END $_$;

ALTER FUNCTION postrider.channel_set(who text, id text, settings jsonb, parameters jsonb, reason text) OWNER TO postrider_owner;

--
-- Name: channel_show(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_show(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
DECLARE
    c postrider.channel;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'channel');
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = a ->> 'channel';
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(a ->> 'channel', 80)), HINT = 'channels_list shows them.';
    END IF;
    RETURN jsonb_build_object('channel', postrider.channel_json(c), 'calls', coalesce((SELECT jsonb_agg(postrider.call_json(l) ORDER BY l.at DESC)
        FROM (SELECT x.* FROM postrider.call_log AS x WHERE x.channel_no = c.no ORDER BY x.at DESC LIMIT 100) AS l), '[]'));
END $$;

ALTER FUNCTION postrider.channel_show(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: channel_stop(postrider.channel, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_stop(c postrider.channel, e jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE postrider.channel AS x SET state = 'stopped', state_reason = left(coalesce(e ->> 'reason', 'refused') || coalesce(', http ' || (e ->> 'http_status'), ''), 200)
    WHERE x.id = c.id AND x.state = 'active';
    IF FOUND THEN
        PERFORM postrider.alert_raise('channel_stopped', c.id, 'page', format('channel %s is stopped: %s', c.id, coalesce(e ->> 'reason', 'refused')));
        PERFORM postrider.task_open('channel_stopped', c.id, 'MANUAL', 'inspection', NULL, NULL, NULL, 'CHANNEL_STOPPED', coalesce(e ->> 'reason', 'refused'), e);
    END IF;
END $$;

ALTER FUNCTION postrider.channel_stop(c postrider.channel, e jsonb) OWNER TO postrider_owner;

--
-- Name: channel_turn_ask(text, text, interval, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_turn_ask(who text, channel text, patience interval, hold interval) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    c postrider.channel;
    new_id bigint;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = $2;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(channel, 80)), HINT = 'postrider channel list shows those that are.';
    ELSIF c.state <> 'active' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('channel %s is %s: %s', c.id, c.state, coalesce(nullif(c.state_reason, ''), 'no reason is given')),
            HINT = 'Nothing of it leaves; postrider channel resume, once that is over.';
    END IF;
    DELETE FROM postrider.channel_turn AS t WHERE t.channel_no = c.no AND t.until < clock_timestamp();
    INSERT INTO postrider.channel_turn AS t (channel_no, who, hold, until)
    VALUES (c.no, left(who, 128), least(hold, interval '1 hour'), clock_timestamp() + least(patience, interval '1 hour')) RETURNING t.id INTO new_id;
    RETURN new_id;
END $_$;

ALTER FUNCTION postrider.channel_turn_ask(who text, channel text, patience interval, hold interval) OWNER TO postrider_owner;

--
-- Name: channel_turn_end(bigint, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_turn_end(turn_id bigint, said jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    c postrider.channel;
BEGIN
    DELETE FROM postrider.channel_turn AS t WHERE t.id = turn_id;
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = said ->> 'channel';
    IF said ->> 'action' = 'stop_channel' THEN
        PERFORM postrider.channel_stop(c, said);
    ELSIF (said ->> 'pause_ms')::bigint > 0 THEN
        INSERT INTO postrider.channel_pause AS p (channel_no, until)
        VALUES (c.no, clock_timestamp() + least((said ->> 'pause_ms')::bigint, 86400000) * interval '1 ms')
        ON CONFLICT (channel_no) DO UPDATE SET until = greatest(p.until, excluded.until);
    END IF;
END $$;

ALTER FUNCTION postrider.channel_turn_end(turn_id bigint, said jsonb) OWNER TO postrider_owner;

--
-- Name: channel_turn_state(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channel_turn_state(turn_id bigint) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT coalesce((SELECT CASE WHEN t.until < clock_timestamp() THEN 'over' WHEN t.given_at IS NULL THEN 'waiting' ELSE 'given' END
                     FROM postrider.channel_turn AS t WHERE t.id = $1), 'over')
$_$;

ALTER FUNCTION postrider.channel_turn_state(turn_id bigint) OWNER TO postrider_owner;

--
-- Name: channels_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.channels_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN jsonb_build_object('next', NULL, 'items', coalesce((SELECT jsonb_agg(postrider.channel_json(c) ORDER BY c.id) FROM postrider.channel AS c), '[]'));
END $$;

ALTER FUNCTION postrider.channels_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: check_invariants(timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.check_invariants(since timestamp with time zone) RETURNS TABLE(name text, kind text, broken bigint, detail text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT n.* FROM postrider.check_notifications($1) AS n
    UNION ALL
    SELECT p.* FROM postrider.check_payments($1) AS p
$_$;

ALTER FUNCTION postrider.check_invariants(since timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: check_notifications(timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.check_notifications(since timestamp with time zone) RETURNS TABLE(name text, kind text, broken bigint, detail text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    WITH t AS MATERIALIZED (        -- each class' last tick
        SELECT l.* FROM generate_series(0, 2) AS c (class)
        CROSS JOIN LATERAL (SELECT k.class, k.lo, k.hi, k.more, k.dt, k.di, k.seq FROM postrider.tick AS k
                            WHERE k.class = c.class ORDER BY k.n DESC LIMIT 1) AS l
    ), o AS MATERIALIZED (
        SELECT b.id, b.at, b.kind,
               CASE WHEN t.more THEN pg_visible_in_snapshot(b.tx, t.lo)
                                     OR (pg_visible_in_snapshot(b.tx, t.hi) AND (b.tx, b.id) <= (t.dt, t.di))
                    ELSE pg_visible_in_snapshot(b.tx, t.hi) END AS moved
        FROM postrider.outbox AS b JOIN t USING (class) WHERE b.at >= $1
    )
    SELECT 'unaccounted', 'invariant', count(*), 'notifications handed over, without job, delivery, dead letter or cancellation'
    FROM o WHERE o.moved AND o.kind = 0
      AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = o.id)
      AND NOT EXISTS (SELECT FROM postrider.dead AS d WHERE d.outbox_id = o.id)
      AND NOT EXISTS (SELECT FROM postrider.cancelled AS c WHERE c.outbox_id = o.id)
      AND NOT EXISTS (SELECT FROM postrider.attempt AS a WHERE a.outbox_id = o.id AND a.outcome = 1)
    UNION ALL
    SELECT 'job_without_endpoint', 'invariant', count(*), 'jobs whose endpoint does not exist'
    FROM postrider.job AS j WHERE NOT EXISTS (SELECT FROM postrider.endpoint AS e WHERE e.id = j.endpoint)
    UNION ALL
    SELECT 'job_without_notification', 'invariant', count(*), 'jobs whose notification does not exist'
    FROM postrider.job AS j
    WHERE NOT EXISTS (SELECT FROM postrider.outbox AS b WHERE b.at = j.outbox_at AND b.id = j.outbox_id)
      AND NOT EXISTS (SELECT FROM postrider.outbox_kept AS k WHERE k.id = j.outbox_id)
    UNION ALL
    SELECT 'job_of_delivered', 'invariant', count(*), 'jobs of deliveries that were made in this very life'
    FROM postrider.job AS j
    WHERE EXISTS (SELECT FROM postrider.attempt AS a WHERE a.endpoint = j.endpoint AND a.outbox_id = j.outbox_id
                  AND a.try > j.tried_before AND a.outcome = 1)
    UNION ALL
    SELECT 'job_of_dead', 'invariant', count(*), 'jobs of deliveries that are open dead letters'
    FROM postrider.job AS j JOIN postrider.dead AS d ON d.outbox_id = j.outbox_id AND d.endpoint = j.endpoint
    WHERE d.state = 'open'
    UNION ALL
    SELECT 'job_doubled', 'invariant', count(*), 'deliveries with more than one job'
    FROM (SELECT FROM postrider.job AS j GROUP BY j.outbox_id, j.endpoint HAVING count(*) > 1) AS x
    UNION ALL
    SELECT 'job_beyond_cursor', 'invariant', count(*), 'jobs with a seq that the relay has not given out'
    FROM t JOIN postrider.job AS j ON j.seq > t.seq AND j.seq < (t.class::bigint + 1) << 56
    UNION ALL
    SELECT 'dead_without_notification', 'invariant', count(*), 'open dead letters whose bytes are gone'
    FROM postrider.dead AS d WHERE d.state = 'open'
      AND NOT EXISTS (SELECT FROM postrider.outbox AS b WHERE b.at = d.outbox_at AND b.id = d.outbox_id)
      AND NOT EXISTS (SELECT FROM postrider.outbox_kept AS k WHERE k.id = d.outbox_id)
    UNION ALL
    SELECT 'relay_lag', 'lag', count(*),
           'outbox rows not handed over for 5 s'
           || coalesce('; the oldest for ' || floor(extract(epoch FROM clock_timestamp() - min(o.at))) || ' s', '')
    FROM o WHERE NOT o.moved AND o.at < clock_timestamp() - interval '5 s'
    UNION ALL
    SELECT 'overdue', 'lag', count(*),
           'jobs due for a minute at endpoints that hold nothing'
           || coalesce('; the oldest for ' || floor(extract(epoch FROM clock_timestamp() - min(j.due))) || ' s', '')
    FROM postrider.job AS j WHERE j.due < clock_timestamp() - interval '1 min' AND NOT postrider.endpoint_holds(j.endpoint)
    UNION ALL
    SELECT 'shard_without_scheduler', 'lag', count(*), 'of 256 shards, without a living session'
    FROM postrider.shard AS h LEFT JOIN postrider.session AS s ON s.id = h.session AND s.ended IS NULL WHERE s.id IS NULL
    UNION ALL
    SELECT 'alert_not_announced', 'lag', count(*), 'alerts that dead-letter has not announced for 10 s'
    FROM postrider.alert AS a WHERE a.announced_at IS NULL AND a.first_at < clock_timestamp() - interval '10 s'
$_$;

ALTER FUNCTION postrider.check_notifications(since timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: check_payments(timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.check_payments(since timestamp with time zone) RETURNS TABLE(name text, kind text, broken bigint, detail text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT 'payment_without_next', 'invariant', count(*), 'payments that are open, without a next call or an open task'
    FROM postrider.payment AS p
    WHERE p.state IN ('created', 'processing') AND p.created_at >= $1
      AND NOT EXISTS (SELECT FROM postrider.call AS k WHERE k.payment_id = p.id AND k.refund_id IS NULL)
      AND NOT EXISTS (SELECT FROM postrider.task AS t WHERE t.payment_id = p.id AND t.state NOT IN ('SUCCESS', 'CLOSED'))
    UNION ALL
    SELECT 'refund_without_next', 'invariant', count(*), 'refunds that are open, without a next call or an open task'
    FROM postrider.refund AS r
    WHERE r.state IN ('created', 'processing') AND r.created_at >= $1
      AND NOT EXISTS (SELECT FROM postrider.call AS k WHERE k.refund_id = r.id)
      AND NOT EXISTS (SELECT FROM postrider.task AS t WHERE t.biz_type = 'refund_review' AND t.biz_id = r.id::text AND t.state NOT IN ('SUCCESS', 'CLOSED'))
    UNION ALL
    SELECT 'payment_end_untold', 'invariant', count(*), 'payments that ended without their notification'
    FROM postrider.payment AS p
    WHERE p.final_at >= $1 AND (p.notify_id IS NULL
      OR p.final_at > (SELECT coalesce(max(x.lo), '-infinity') FROM (SELECT min(q.lo) AS lo FROM postrider.partition AS q WHERE q.parent = 'outbox') AS x)
         AND NOT EXISTS (SELECT FROM postrider.outbox AS o WHERE o.notify_id = p.notify_id)
         AND NOT EXISTS (SELECT FROM postrider.outbox_kept AS o WHERE o.notify_id = p.notify_id))
    UNION ALL
    SELECT 'call_of_ended', 'invariant', count(*), 'calls for payments or refunds that have ended'
    FROM postrider.call AS k
    WHERE k.refund_id IS NULL AND NOT k.verify
          AND EXISTS (SELECT FROM postrider.payment AS p WHERE p.id = k.payment_id AND p.state NOT IN ('created', 'processing'))
       OR EXISTS (SELECT FROM postrider.refund AS r WHERE r.id = k.refund_id AND r.state NOT IN ('created', 'processing'))
    UNION ALL
    SELECT 'refunded_above_captured', 'invariant', count(*), 'payments with more sent back than was captured'
    FROM postrider.payment AS p
    WHERE p.created_at >= $1 AND (p.refunded_minor > p.captured_minor
      OR (SELECT sum(r.amount_minor) FROM postrider.refund AS r WHERE r.payment_id = p.id AND r.origin <> 'gateway'
          AND r.state IN ('created', 'processing', 'succeeded')) > p.captured_minor)
    UNION ALL
    SELECT 'call_without_owner', 'lag', count(*), 'calls under way past their lease for a minute, or due for a minute at active channels without an owner'
    FROM postrider.call AS k JOIN postrider.channel AS c ON c.no = k.channel_no
    WHERE k.lease_until < clock_timestamp() - interval '1 min'
       OR k.due < clock_timestamp() - interval '1 min' AND c.state = 'active'
          AND NOT EXISTS (SELECT FROM postrider.call_shard AS h JOIN postrider.call_session AS s ON s.id = h.session AND s.ended IS NULL WHERE h.no = c.shard)
    UNION ALL
    SELECT 'webhook_waits', 'lag', count(*), 'webhooks kept for two minutes, neither applied nor a task'
    FROM postrider.webhook AS w WHERE w.state IN ('failed', 'orphan') AND w.received_at < clock_timestamp() - interval '2 min'
    UNION ALL
    SELECT 'task_stuck', 'lag', count(*), 'tasks with one worker for longer than the lock''s ten minutes and a sweep'
    FROM postrider.task AS t WHERE t.state = 'PROCESSING' AND t.locked_at < clock_timestamp() - interval '11 min'
    UNION ALL
    SELECT 'task_waits', 'lag', count(*), 'tasks that have been due for ten minutes and nobody has claimed'
    FROM postrider.task AS t WHERE t.state IN ('WAITING', 'RETRY') AND t.next_run_at < clock_timestamp() - interval '10 min'
$_$;

ALTER FUNCTION postrider.check_payments(since timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: configure(jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.configure(priority jsonb, retry_notification text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.configure(priority jsonb, retry_notification text) OWNER TO postrider_owner;

--
-- Name: configure_payments(double precision, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.configure_payments(time_scale double precision, hook text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET extra_float_digits TO '1'
    AS $_$
BEGIN
    IF (time_scale BETWEEN 0.0001 AND 1 AND hook ~ '^([a-z_][a-z0-9_]*[.][a-z_][a-z0-9_]*)?$') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'time_scale is not 0.0001 to 1, or hooks.payment is not schema.function',
            HINT = 'See time_scale and hooks.payment in docs/configuration.md.';
    END IF;
    UPDATE postrider.setting AS s SET value = v.value FROM (VALUES ('time_scale', time_scale::text), ('hooks.payment', hook)) AS v (key, value)
    WHERE s.key = v.key AND s.value <> v.value;
END $_$;

ALTER FUNCTION postrider.configure_payments(time_scale double precision, hook text) OWNER TO postrider_owner;

--
-- Name: create_task(text, text, text, text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.create_task(biz_type text, biz_id text, merchant_id text, order_no text, request jsonb, idempotency_key text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.create_task(biz_type text, biz_id text, merchant_id text, order_no text, request jsonb, idempotency_key text) OWNER TO postrider_owner;

--
-- Name: currency_exponent(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.currency_exponent(currency text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT CASE
        WHEN $1 !~ '^[A-Z]{3}$' THEN NULL
        WHEN $1 = ANY (regexp_split_to_array('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF', ' ')) THEN 0
        WHEN $1 = ANY (regexp_split_to_array(
            'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP '
            'COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IRR '
            'JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK '
            'NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT '
            'TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG ZWL', ' ')) THEN 2
        WHEN $1 = ANY (regexp_split_to_array('BHD IQD JOD KWD LYD OMR TND', ' ')) THEN 3
        WHEN $1 = ANY (regexp_split_to_array('CLF UYW', ' ')) THEN 4 END
$_$;

ALTER FUNCTION postrider.currency_exponent(currency text) OWNER TO postrider_owner;

--
-- Name: dead_close(text, text, jsonb, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.dead_close(who text, reason text, filter jsonb, most integer DEFAULT 1000000) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    n bigint;
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'a reason is needed', HINT = 'Say why nobody will be told.';
    END IF;
    WITH m AS MATERIALIZED (
        SELECT d.outbox_id, d.endpoint FROM postrider.dead_matching(filter, 'infinity', most) AS d ORDER BY 1, 2
    ), l AS MATERIALIZED (
        SELECT m.outbox_id, m.endpoint FROM m
        CROSS JOIN LATERAL (SELECT FROM postrider.dead AS x WHERE x.outbox_id = m.outbox_id
                            AND CASE WHEN x.endpoint = m.endpoint AND x.state = 'open' THEN true END FOR UPDATE) AS d
    )
    UPDATE postrider.dead AS d
    SET state = 'closed', closed_by = left(who, 128), closed_reason = left(dead_close.reason, 500), closed_at = now()
    WHERE d.outbox_id = ANY (ARRAY(SELECT l.outbox_id FROM l))
      AND CASE WHEN (d.outbox_id, d.endpoint) IN (SELECT l.outbox_id, l.endpoint FROM l) THEN true END;
    GET DIAGNOSTICS n = ROW_COUNT;
    PERFORM postrider.audit_add(who, 'dead.close', coalesce(filter ->> 'notify_id', filter::text), reason,
        jsonb_build_object('filter', filter, 'count', n));
    RETURN n;
END $$;

ALTER FUNCTION postrider.dead_close(who text, reason text, filter jsonb, most integer) OWNER TO postrider_owner;

--
-- Name: dead; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.dead (
    outbox_id bigint NOT NULL,
    endpoint bigint NOT NULL,
    outbox_at timestamp with time zone NOT NULL,
    class smallint NOT NULL,
    reason text NOT NULL,
    tries integer NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    closed_by text,
    closed_reason text,
    closed_at timestamp with time zone,
    CONSTRAINT dead_state_check CHECK ((state = ANY (ARRAY['open'::text, 'redriven'::text, 'closed'::text])))
);

ALTER TABLE postrider.dead OWNER TO postrider_owner;

--
-- Name: dead_json(postrider.dead); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.dead_json(d postrider.dead) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
BEGIN
    RETURN (SELECT jsonb_build_object('id', o.notify_id || '/' || d.endpoint, 'notify_id', o.notify_id, 'endpoint_id', d.endpoint, 'merchant_id', o.merchant_id,
        'order_no', o.order_no, 'event', o.event, 'priority', d.class, 'reason', d.reason, 'attempts', d.tries, 'dead_at', postrider.json_time(d.at), 'state', d.state,
        'closed_by', d.closed_by, 'closed_reason', d.closed_reason, 'closed_at', postrider.json_time(d.closed_at), 'notify_url', coalesce(o.notify_url, e.url),
        'last_http_code', nullif(l.code, 0), 'last_error', l.error, 'last_response', postrider.response_text(l.outcome, l.response), 'created_at', postrider.json_time(o.at))
    FROM (SELECT x.notify_id, x.merchant_id, x.order_no, x.event, x.notify_url, x.at FROM postrider.outbox AS x WHERE x.at = d.outbox_at AND x.id = d.outbox_id
          UNION ALL SELECT x.notify_id, x.merchant_id, x.order_no, x.event, x.notify_url, x.at FROM postrider.outbox_kept AS x WHERE x.id = d.outbox_id LIMIT 1) AS o
    LEFT JOIN LATERAL (SELECT x.url FROM postrider.endpoint AS x WHERE x.id = d.endpoint) AS e ON true
    LEFT JOIN LATERAL (SELECT x.outcome, x.code, x.error, x.response FROM postrider.attempt AS x WHERE x.outbox_id = d.outbox_id AND x.endpoint = d.endpoint
                       ORDER BY x.try DESC LIMIT 1) AS l ON true);
END $$;

ALTER FUNCTION postrider.dead_json(d postrider.dead) OWNER TO postrider_owner;

--
-- Name: dead_letters_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.dead_letters_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $_$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    wanted CONSTANT text := coalesce(a ->> 'state', 'open');
    filtered CONSTANT boolean := a ?| ARRAY['merchant_id', 'order_no', 'reason', 'event'];
    looks CONSTANT int := CASE WHEN filtered OR wanted <> 'open' THEN 5000 ELSE most END;
    parts CONSTANT text[] := string_to_array(nullif(a ->> 'after', ''), '.');
    at_us bigint := -9223372036854775807;
    n bigint := 0;
    e bigint := 0;
    c refcursor;
    o record;
    d postrider.dead;
    items jsonb[] := ARRAY[]::jsonb[];
    seen int := 0;
    next text;
    since timestamptz;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'state', 'merchant_id', 'order_no', 'endpoint_id', 'reason', 'event', 'limit', 'after');
    IF wanted NOT IN ('open', 'redriven', 'closed') OR (parts IS NOT NULL AND (cardinality(parts) <> 3 OR array_to_string(parts, '') !~ '^[0-9-]+$')) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'state is not open, redriven or closed, or after is no cursor of this list', HINT = 'Pass what next was.';
    END IF;
    IF parts IS NOT NULL THEN
        at_us := parts[1]::bigint;
        n := parts[2]::bigint;
        e := parts[3]::bigint;
    ELSIF wanted <> 'open' THEN
        n := 9223372036854775807;
    END IF;
    since := CASE WHEN at_us < 0 THEN '-infinity' ELSE timestamptz 'epoch' + at_us * interval '1 us' END;
    IF a ->> 'endpoint_id' IS NOT NULL THEN
        OPEN c FOR SELECT x AS d, b.merchant_id, b.order_no, b.event FROM (
            SELECT y.* FROM postrider.dead AS y WHERE y.endpoint = postrider.arg_id(a, 'endpoint_id') AND (y.at, y.outbox_id) > (since, n) AND y.state = wanted
            ORDER BY y.at, y.outbox_id LIMIT looks + 1) AS x
        CROSS JOIN LATERAL (
                SELECT y.merchant_id, y.order_no, y.event FROM postrider.outbox AS y WHERE y.at = x.outbox_at AND y.id = x.outbox_id
                UNION ALL SELECT y.merchant_id, y.order_no, y.event FROM postrider.outbox_kept AS y WHERE y.id = x.outbox_id LIMIT 1) AS b
        ORDER BY x.at, x.outbox_id;
    ELSIF wanted = 'open' THEN
        OPEN c FOR SELECT x AS d, b.merchant_id, b.order_no, b.event FROM (
            SELECT y.* FROM postrider.dead AS y WHERE y.state = 'open' AND (y.at, y.outbox_id, y.endpoint) > (since, n, e)
            ORDER BY y.at, y.outbox_id, y.endpoint LIMIT looks + 1) AS x
        CROSS JOIN LATERAL (
                SELECT y.merchant_id, y.order_no, y.event FROM postrider.outbox AS y WHERE y.at = x.outbox_at AND y.id = x.outbox_id
                UNION ALL SELECT y.merchant_id, y.order_no, y.event FROM postrider.outbox_kept AS y WHERE y.id = x.outbox_id LIMIT 1) AS b
        ORDER BY x.at, x.outbox_id, x.endpoint;
    ELSE
        OPEN c FOR SELECT x AS d, b.merchant_id, b.order_no, b.event FROM (
            SELECT y.* FROM postrider.dead AS y WHERE (y.outbox_id, y.endpoint) < (n, e) ORDER BY y.outbox_id DESC, y.endpoint DESC LIMIT looks + 1) AS x
        CROSS JOIN LATERAL (
                SELECT y.merchant_id, y.order_no, y.event FROM postrider.outbox AS y WHERE y.at = x.outbox_at AND y.id = x.outbox_id
                UNION ALL SELECT y.merchant_id, y.order_no, y.event FROM postrider.outbox_kept AS y WHERE y.id = x.outbox_id LIMIT 1) AS b
        ORDER BY x.outbox_id DESC, x.endpoint DESC;
    END IF;
    LOOP
        FETCH c INTO o;
        EXIT WHEN NOT FOUND;
        d := o.d;
        IF seen >= looks OR cardinality(items) >= most THEN
            next := concat_ws('.', at_us, n, e);
            EXIT;
        END IF;
        seen := seen + 1;
        at_us := (extract(epoch FROM d.at) * 1000000)::bigint;
        n := d.outbox_id;
        e := d.endpoint;
        IF d.state = wanted AND (a ->> 'reason' IS NULL OR d.reason = a ->> 'reason') AND (a ->> 'merchant_id' IS NULL OR o.merchant_id = a ->> 'merchant_id')
           AND (a ->> 'order_no' IS NULL OR o.order_no = a ->> 'order_no') AND (a ->> 'event' IS NULL OR o.event = a ->> 'event') THEN
            items := items || postrider.dead_json(d);
        END IF;
    END LOOP;
    CLOSE c;
    RETURN postrider.list_json(items, next);
END $_$;

ALTER FUNCTION postrider.dead_letters_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: dead_matching(jsonb, timestamp with time zone, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.dead_matching(filter jsonb, before timestamp with time zone, most integer) RETURNS TABLE(outbox_id bigint, endpoint bigint)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_column
DECLARE
    f record;
    ids bigint[];
BEGIN
    IF jsonb_typeof(filter) IS DISTINCT FROM 'object' OR EXISTS (SELECT FROM jsonb_object_keys(filter) AS k WHERE k NOT IN
        ('notify_id', 'endpoint_id', 'merchant_id', 'order_no', 'event', 'reason', 'since', 'until')) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the filter has an unknown key', HINT =
            'Keys are notify_id, endpoint_id, merchant_id, order_no, event, reason, since and until; {} means all.';
    END IF;
    BEGIN
        SELECT * INTO f FROM jsonb_to_record(filter) AS x (notify_id uuid, endpoint_id bigint, merchant_id text, order_no text,
            event text, reason text, since timestamptz, until timestamptz);
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the filter has a value of the wrong kind: ' || SQLERRM,
            HINT = 'notify_id is a UUID, endpoint_id a number, since and until are RFC 3339 times.';
    END;
    IF f.notify_id IS NOT NULL OR (f.merchant_id IS NOT NULL AND f.order_no IS NOT NULL) THEN      -- few rows: begin with them
        ids := ARRAY(
            SELECT o.id FROM postrider.outbox AS o WHERE o.notify_id = f.notify_id AND f.notify_id IS NOT NULL AND o.kind = 0
            UNION ALL SELECT o.id FROM postrider.outbox_kept AS o WHERE o.notify_id = f.notify_id AND f.notify_id IS NOT NULL
            UNION ALL SELECT o.id FROM postrider.outbox AS o
            WHERE f.notify_id IS NULL AND o.merchant_id = f.merchant_id AND o.order_no = f.order_no AND o.kind = 0
            UNION ALL SELECT o.id FROM postrider.outbox_kept AS o
            WHERE f.notify_id IS NULL AND o.merchant_id = f.merchant_id AND o.order_no = f.order_no);
    END IF;
    RETURN QUERY
    SELECT d.outbox_id, d.endpoint
    FROM postrider.dead AS d
    CROSS JOIN LATERAL (
        SELECT o.merchant_id, o.order_no, o.event FROM postrider.outbox AS o WHERE o.at = d.outbox_at AND o.id = d.outbox_id
        UNION ALL
        SELECT o.merchant_id, o.order_no, o.event FROM postrider.outbox_kept AS o WHERE o.id = d.outbox_id
        LIMIT 1) AS b
    WHERE d.state = 'open' AND d.at <= before AND (ids IS NULL OR d.outbox_id = ANY (ids))
      AND (f.endpoint_id IS NULL OR d.endpoint = f.endpoint_id) AND (f.reason IS NULL OR d.reason = f.reason)
      AND (f.since IS NULL OR d.at >= f.since) AND (f.until IS NULL OR d.at < f.until)
      AND (f.merchant_id IS NULL OR b.merchant_id = f.merchant_id) AND (f.order_no IS NULL OR b.order_no = f.order_no)
      AND (f.event IS NULL OR b.event = f.event)
    ORDER BY d.at, d.outbox_id LIMIT most;      -- as the index of the open ones has them: nothing to sort
END $$;

ALTER FUNCTION postrider.dead_matching(filter jsonb, before timestamp with time zone, most integer) OWNER TO postrider_owner;

--
-- Name: dead_redrive(text, text, jsonb, integer, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.dead_redrive(who text, reason text, filter jsonb, most integer DEFAULT 1000000, dry_run boolean DEFAULT false) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    n bigint;
BEGIN
    IF dry_run THEN
        RETURN (SELECT count(*) FROM postrider.dead_matching(filter, 'infinity', most));
    END IF;
    n := postrider.redrive_letters(who, reason, filter, 'infinity', most);
    PERFORM postrider.audit_add(who, 'dead.redrive', coalesce(filter ->> 'notify_id', filter::text), reason,
        jsonb_build_object('filter', filter, 'count', n));
    RETURN n;
END $$;

ALTER FUNCTION postrider.dead_redrive(who text, reason text, filter jsonb, most integer, dry_run boolean) OWNER TO postrider_owner;

--
-- Name: dead_scan(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.dead_scan(threshold bigint, OUT open_letters bigint) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    WITH c AS MATERIALIZED (
        SELECT e.merchant_id, count(*) AS n, max(d.at) AS last_at
        FROM postrider.dead AS d JOIN postrider.endpoint AS e ON e.id = d.endpoint WHERE d.state = 'open' GROUP BY e.merchant_id
    ), t AS MATERIALIZED (
        SELECT coalesce(sum(c.n), 0)::bigint AS n, max(c.last_at) AS last_at FROM c
    ), w AS MATERIALIZED (          -- what should stand
        SELECT 'dead_letter' AS kind, c.merchant_id AS subject, 'warn' AS severity, c.n, c.last_at,
               format('%s dead letter(s) of merchant %s wait for a person: `postrider dead list --merchant %s`',
                      c.n, c.merchant_id, c.merchant_id) AS message
        FROM c
        UNION ALL
        SELECT 'dead_letters', 'all', 'page', t.n, t.last_at,
               format('%s dead letters are open, more than %s: `postrider dead list`', t.n, $1)
        FROM t WHERE t.n > $1
    ), u AS (
        INSERT INTO postrider.alert AS a (kind, subject, severity, message, count, last_at)
        SELECT w.kind, w.subject, w.severity, w.message, w.n, w.last_at FROM w
        ON CONFLICT (kind, subject) WHERE resolved_at IS NULL
        DO UPDATE SET count = excluded.count, message = excluded.message, last_at = excluded.last_at
        WHERE (a.count, a.last_at) IS DISTINCT FROM (excluded.count, excluded.last_at)
    ), o AS (
        UPDATE postrider.alert AS a SET resolved_at = clock_timestamp()
        WHERE a.kind IN ('dead_letter', 'dead_letters') AND a.resolved_at IS NULL
          AND NOT EXISTS (SELECT FROM w WHERE w.kind = a.kind AND w.subject = a.subject)
    )
    SELECT t.n FROM t
$_$;

ALTER FUNCTION postrider.dead_scan(threshold bigint, OUT open_letters bigint) OWNER TO postrider_owner;

--
-- Name: dispute_apply(postrider.payment, text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.dispute_apply(p postrider.payment, source text, e jsonb, event_id text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.dispute_apply(p postrider.payment, source text, e jsonb, event_id text) OWNER TO postrider_owner;

--
-- Name: duration_ms(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.duration_ms(text text) RETURNS numeric
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT CASE
        WHEN text ~ '^0+$' THEN 0
        WHEN text ~ '^[0-9]{1,99}(ms|s|m|h|d)$' THEN substring(text FROM '^[0-9]+')::numeric
            * CASE substring(text FROM '[a-z]+$') WHEN 'ms' THEN 1 WHEN 's' THEN 1000 WHEN 'm' THEN 60000 WHEN 'h' THEN 3600000
                                                  ELSE 86400000 END
        END
$_$;

ALTER FUNCTION postrider.duration_ms(text text) OWNER TO postrider_owner;

--
-- Name: egress_ok(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.egress_ok(egress text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT CASE
        WHEN egress IS NULL OR egress = '' THEN true
        WHEN octet_length(egress) > 512 THEN false
        WHEN egress ~ '^(https?|socks5h?)://' THEN rest !~ '[/?#]' AND postrider.url_origin('http://' || rest) IS NOT NULL
        WHEN egress ~ '^address:' THEN substr(egress, 9) ~ '^[0-9]+[.][0-9.]+$' AND postrider.host_ok(substr(egress, 9))
                                       OR substr(egress, 9) ~ '^[0-9A-Fa-f:.]+$' AND postrider.ipv6_ok(substr(egress, 9))
        ELSE egress ~ '^interface:[A-Za-z0-9._-]{1,15}$' END
    FROM regexp_replace(regexp_replace(egress, '^[a-z0-9]+://([A-Za-z0-9._~!$&''()*+,;=:%-]+@)?', ''), '/$', '') AS r (rest)
$_$;

ALTER FUNCTION postrider.egress_ok(egress text) OWNER TO postrider_owner;

--
-- Name: email_ok(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.email_ok(email text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT email IS NULL OR email = '' OR octet_length(email) <= 254 AND email ~ '^.+@[^@]+$' AND email !~ E'[\\x01-\\x20\\x7f]'
$_$;

ALTER FUNCTION postrider.email_ok(email text) OWNER TO postrider_owner;

--
-- Name: end_dead_sessions(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.end_dead_sessions(self uuid) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    s record;
BEGIN
    FOR s IN SELECT x.id FROM postrider.session AS x
             WHERE x.ended IS NULL AND x.id IS DISTINCT FROM self AND NOT postrider.session_connected(x.lock_key, x.pid)
             ORDER BY x.id LOOP
        IF postrider.end_session(s.id) THEN
            RETURN NEXT s.id;
        END IF;
    END LOOP;
END $$;

ALTER FUNCTION postrider.end_dead_sessions(self uuid) OWNER TO postrider_owner;

--
-- Name: end_session(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.end_session(session uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    s record;
    former text := current_setting('lock_timeout');
    done boolean;
BEGIN
    SELECT x.pid, x.lock_key INTO s FROM postrider.session AS x WHERE x.id = session AND x.ended IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    BEGIN
        PERFORM set_config('lock_timeout', '1s', true);
        UPDATE postrider.session AS x SET ended = clock_timestamp() WHERE x.id = session AND x.ended IS NULL;
        done := FOUND;
    EXCEPTION WHEN lock_not_available THEN
        done := NULL;
    END;
    PERFORM set_config('lock_timeout', former, true);
    IF s.pid <> pg_backend_pid() AND postrider.session_connected(s.lock_key, s.pid) THEN
        BEGIN
            PERFORM pg_terminate_backend(s.pid, 5000);
        EXCEPTION WHEN insufficient_privilege THEN      -- it connected as a superuser, which no actor should
            RAISE WARNING 'backend % of the ended session % cannot be terminated: it is a superuser''s', s.pid, session;
        END;
    END IF;
    IF done IS NULL THEN
        UPDATE postrider.session AS x SET ended = clock_timestamp() WHERE x.id = session AND x.ended IS NULL;
        done := FOUND;
    END IF;
    UPDATE postrider.shard AS h SET session = NULL, low = CASE
        WHEN b.beat > h.beat + 1
        THEN ARRAY[greatest(b.low[1], h.low[1]), greatest(b.low[2], h.low[2]), greatest(b.low[3], h.low[3])]
        ELSE h.low END
    FROM postrider.heartbeat AS b WHERE h.session = session AND b.session = session;
    IF s.pid = pg_backend_pid() THEN
        PERFORM pg_advisory_unlock(s.lock_key);
    END IF;
    RETURN done;
END $$;

ALTER FUNCTION postrider.end_session(session uuid) OWNER TO postrider_owner;

--
-- Name: endpoint_add(text, text, text, text, bytea, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_add(who text, merchant_id text, name text, url text, secret bytea, settings jsonb DEFAULT '{}'::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint;
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.merchant AS m WHERE m.id = merchant_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)),
            HINT = 'Add it first: postrider merchant add ID --url URL.';
    ELSIF name IS NULL OR name !~ '^[A-Za-z0-9._-]{1,64}$' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the endpoint''s name is not 1 to 64 of A-Z a-z 0-9 . _ -',
            HINT = 'Use default for the merchant''s main address.';
    ELSIF EXISTS (SELECT FROM postrider.endpoint AS x WHERE x.merchant_id = merchant_id AND x.name = name) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('merchant %L has an endpoint %L already', merchant_id, name),
            HINT = 'Change it with postrider merchant set, or choose another name.';
    ELSIF secret IS NULL OR length(secret) = 0 OR url IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'url or secret is missing', HINT = 'Both are needed.';
    END IF;
    e.id := nextval('postrider.endpoint_id_seq');
    e.merchant_id := merchant_id;
    e.name := name;
    e.url := url;
    e.secret := secret;
    e.events := '{*}';
    e.scheme := 'postrider';
    e.success_rule := 'default';
    e.retry := '';
    e.headers := '{}';
    e.http2 := true;
    e.supersede := false;
    e.state := 'active';
    e.created_at := now();
    e := postrider.endpoint_patch(e, coalesce(settings, '{}'));
    INSERT INTO postrider.endpoint SELECT e.*;
    PERFORM postrider.audit_add(who, 'endpoint.add', e.id::text, NULL,
        jsonb_build_object('merchant_id', merchant_id, 'name', name, 'url', url) || coalesce(settings, '{}'));
    RETURN e.id;
END $_$;

ALTER FUNCTION postrider.endpoint_add(who text, merchant_id text, name text, url text, secret bytea, settings jsonb) OWNER TO postrider_owner;

--
-- Name: endpoint_before(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_before() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    NEW.shard := (SELECT m.shard FROM postrider.merchant AS m WHERE m.id = NEW.merchant_id);
    NEW.tx := pg_current_xact_id();
    NEW.updated_at := now();
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.endpoint_before() OWNER TO postrider_owner;

--
-- Name: endpoint_check(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_check() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
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

ALTER FUNCTION postrider.endpoint_check() OWNER TO postrider_owner;

--
-- Name: endpoint_disable(text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_disable(who text, id bigint, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint := postrider.endpoint_locked(id);
BEGIN
    IF e.state = 'disabled' THEN
        RETURN false;
    END IF;
    UPDATE postrider.endpoint AS x SET state = 'disabled', state_reason = left(reason, 500), state_at = now() WHERE x.id = id;
    PERFORM postrider.audit_add(who, 'endpoint.disable', id::text, reason, jsonb_build_object('merchant_id', e.merchant_id));
    RETURN true;
END $$;

ALTER FUNCTION postrider.endpoint_disable(who text, id bigint, reason text) OWNER TO postrider_owner;

--
-- Name: endpoint_enable(text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_enable(who text, id bigint, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint := postrider.endpoint_locked(id);
BEGIN
    IF e.state = 'active' THEN
        RETURN false;
    END IF;
    UPDATE postrider.endpoint AS x SET state = 'active', state_reason = left(reason, 500), state_at = now() WHERE x.id = id;
    UPDATE postrider.alert AS a SET resolved_at = now()
    WHERE a.kind = 'endpoint_gone' AND a.subject = id::text AND a.resolved_at IS NULL;
    PERFORM postrider.audit_add(who, 'endpoint.enable', id::text, reason,
        jsonb_build_object('merchant_id', e.merchant_id, 'was', e.state_reason));
    RETURN true;
END $$;

ALTER FUNCTION postrider.endpoint_enable(who text, id bigint, reason text) OWNER TO postrider_owner;

--
-- Name: endpoint_holds(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_holds(id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT e.state <> 'active' OR coalesce(e.forced = 'open', false) OR coalesce(e.paused_until > now(), false)
        OR e.forced IS NULL AND EXISTS (SELECT FROM postrider.breaker_open AS b WHERE b.endpoint = e.id AND b.until > now())
    FROM postrider.endpoint AS e WHERE e.id = $1
$_$;

ALTER FUNCTION postrider.endpoint_holds(id bigint) OWNER TO postrider_owner;

--
-- Name: endpoint; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.endpoint (
    id bigint NOT NULL,
    merchant_id text NOT NULL,
    shard smallint NOT NULL,
    name text NOT NULL,
    url text NOT NULL,
    events text[] DEFAULT '{*}'::text[] NOT NULL,
    scheme text DEFAULT 'postrider'::text NOT NULL,
    secret bytea NOT NULL,
    secret_next bytea,
    rotate_until timestamp with time zone,
    success_rule text DEFAULT 'default'::text NOT NULL,
    retry text DEFAULT ''::text NOT NULL,
    max_age_ms bigint,
    concurrency integer,
    rate_per_s double precision,
    headers jsonb DEFAULT '{}'::jsonb NOT NULL,
    tls_ca text,
    egress text,
    http2 boolean DEFAULT true NOT NULL,
    supersede boolean DEFAULT false NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    state_reason text,
    state_at timestamp with time zone,
    forced text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    paused_until timestamp with time zone,
    CONSTRAINT endpoint_concurrency_check CHECK (((concurrency >= 1) AND (concurrency <= 1000))),
    CONSTRAINT endpoint_forced_check CHECK ((forced = ANY (ARRAY['open'::text, 'closed'::text]))),
    CONSTRAINT endpoint_max_age_ms_check CHECK ((max_age_ms > 0)),
    CONSTRAINT endpoint_rate_per_s_check CHECK ((rate_per_s > (0)::double precision)),
    CONSTRAINT endpoint_scheme_check CHECK ((scheme = ANY (ARRAY['postrider'::text, 'ed25519'::text, 'form-md5'::text, 'form-hmac'::text]))),
    CONSTRAINT endpoint_state_check CHECK ((state = ANY (ARRAY['active'::text, 'disabled'::text]))),
    CONSTRAINT endpoint_url_check CHECK ((octet_length(url) <= 512))
);

ALTER TABLE postrider.endpoint OWNER TO postrider_owner;

--
-- Name: endpoint_json(postrider.endpoint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_json(e postrider.endpoint) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT to_jsonb(x) || jsonb_build_object('state_at', postrider.json_time(x.state_at), 'rotate_until', postrider.json_time(x.rotate_until),
        'created_at', postrider.json_time(x.created_at), 'updated_at', postrider.json_time(x.updated_at),
        'breaker_open_until', (SELECT postrider.json_time(b.until) FROM postrider.breaker_open AS b WHERE b.endpoint = e.id AND b.until > now()))
    FROM postrider.endpoints AS x WHERE x.endpoint_id = e.id
$$;

ALTER FUNCTION postrider.endpoint_json(e postrider.endpoint) OWNER TO postrider_owner;

--
-- Name: endpoint_listed(postrider.endpoint, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_listed(e postrider.endpoint, a jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN a ->> 'state' IS NULL OR e.state = a ->> 'state' THEN postrider.endpoint_json(e) END
$$;

ALTER FUNCTION postrider.endpoint_listed(e postrider.endpoint, a jsonb) OWNER TO postrider_owner;

--
-- Name: endpoint_locked(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_locked(id bigint) RETURNS postrider.endpoint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    e postrider.endpoint;
BEGIN
    SELECT x.* INTO e FROM postrider.endpoint AS x WHERE x.id = endpoint_locked.id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no endpoint %s', id),
            HINT = 'postrider endpoint list shows those that are.';
    END IF;
    RETURN e;
END $$;

ALTER FUNCTION postrider.endpoint_locked(id bigint) OWNER TO postrider_owner;

--
-- Name: endpoint_mark_failing(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_mark_failing(id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO postrider.endpoint_failing (endpoint)
    SELECT e.id FROM postrider.endpoint AS e WHERE e.id = endpoint_mark_failing.id ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

ALTER FUNCTION postrider.endpoint_mark_failing(id bigint) OWNER TO postrider_owner;

--
-- Name: endpoint_mark_open(bigint, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_mark_open(id bigint, open_ms bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    INSERT INTO postrider.breaker_open AS b (endpoint, until)
    SELECT e.id, clock_timestamp() + 2 * open_ms * interval '1 ms' + interval '1 min'
    FROM postrider.endpoint AS e WHERE e.id = endpoint_mark_open.id
    ON CONFLICT (endpoint) DO UPDATE SET until = excluded.until;
    RETURN FOUND;
END $$;

ALTER FUNCTION postrider.endpoint_mark_open(id bigint, open_ms bigint) OWNER TO postrider_owner;

--
-- Name: endpoint_patch(postrider.endpoint, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_patch(e postrider.endpoint, settings jsonb) RETURNS postrider.endpoint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.endpoint_patch(e postrider.endpoint, settings jsonb) OWNER TO postrider_owner;

--
-- Name: endpoint_pause(bigint, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_pause(id bigint, ms bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    until CONSTANT timestamptz := clock_timestamp() + least(ms, 604800000) * interval '1 ms';
BEGIN
    UPDATE postrider.endpoint AS e SET paused_until = until
    WHERE e.id = endpoint_pause.id AND (e.paused_until IS NULL OR e.paused_until < until);
    RETURN FOUND;
END $$;

ALTER FUNCTION postrider.endpoint_pause(id bigint, ms bigint) OWNER TO postrider_owner;

--
-- Name: endpoint_recovered(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_recovered(id bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    marked boolean;
BEGIN
    DELETE FROM postrider.breaker_open AS b WHERE b.endpoint = endpoint_recovered.id;
    DELETE FROM postrider.endpoint_failing AS f WHERE f.endpoint = endpoint_recovered.id;
    marked := FOUND;
    PERFORM FROM postrider.endpoint AS e
    WHERE e.id = endpoint_recovered.id AND e.state = 'disabled' AND e.state_reason = 'failing';
    IF FOUND THEN
        PERFORM postrider.endpoint_enable('circuit-breaker', endpoint_recovered.id, 'recovered');
    END IF;
    UPDATE postrider.alert AS a SET resolved_at = clock_timestamp()
    WHERE a.kind IN ('breaker_open', 'merchant_failing', 'endpoint_failing')
      AND a.subject = endpoint_recovered.id::text AND a.resolved_at IS NULL;
    RETURN marked;
END $$;

ALTER FUNCTION postrider.endpoint_recovered(id bigint) OWNER TO postrider_owner;

--
-- Name: endpoint_rotate_secret(text, bigint, bytea, interval, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_rotate_secret(who text, id bigint, secret bytea, overlap interval, reason text DEFAULT NULL::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    e postrider.endpoint := postrider.endpoint_locked(id);
    until timestamptz := now() + overlap;
BEGIN
    IF secret IS NULL OR length(secret) = 0 OR overlap IS NULL OR overlap NOT BETWEEN interval '0' AND interval '90 days' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'secret is missing, or overlap is not 0 to 90 days',
            HINT = 'An overlap of 24h gives the merchant a day to change over.';
    ELSIF e.id < 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'an address from notify_url has no secret of its own',
            HINT = 'Rotate the secret of the merchant''s default endpoint.';
    END IF;
    UPDATE postrider.endpoint AS x
    SET secret = CASE WHEN overlap > interval '0' THEN e.secret ELSE endpoint_rotate_secret.secret END,
        secret_next = CASE WHEN overlap > interval '0' THEN endpoint_rotate_secret.secret END,
        rotate_until = CASE WHEN overlap > interval '0' THEN until END
    WHERE x.id = id OR (e.name = 'default' AND x.merchant_id = e.merchant_id AND x.id < 0);
    PERFORM postrider.audit_add(who, 'endpoint.rotate_secret', id::text, reason,
        jsonb_build_object('merchant_id', e.merchant_id, 'overlap_s', extract(epoch FROM overlap)));
    RETURN until;
END $$;

ALTER FUNCTION postrider.endpoint_rotate_secret(who text, id bigint, secret bytea, overlap interval, reason text) OWNER TO postrider_owner;

--
-- Name: endpoint_set(text, bigint, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_set(who text, id bigint, settings jsonb, reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET extra_float_digits TO '1'
    AS $$
#variable_conflict use_variable
DECLARE
    former postrider.endpoint := postrider.endpoint_locked(id);
    e postrider.endpoint := postrider.endpoint_patch(former, settings);
BEGIN
    UPDATE postrider.endpoint AS x
    SET (url, events, scheme, success_rule, retry, max_age_ms, concurrency, rate_per_s, headers, tls_ca, egress, http2, supersede)
      = (e.url, e.events, e.scheme, e.success_rule, e.retry, e.max_age_ms, e.concurrency, e.rate_per_s, e.headers, e.tls_ca,
         e.egress, e.http2, e.supersede)
    WHERE x.id = id;
    -- The addresses of notify_url are signed and judged as the default endpoint is.
    IF e.name = 'default' AND e.id > 0 THEN
        UPDATE postrider.endpoint AS x
        SET (scheme, success_rule, retry, max_age_ms, concurrency, rate_per_s, headers, tls_ca, egress, http2, supersede)
          = (e.scheme, e.success_rule, e.retry, e.max_age_ms, e.concurrency, e.rate_per_s, e.headers, e.tls_ca, e.egress, e.http2, e.supersede)
        WHERE x.merchant_id = e.merchant_id AND x.id < 0;
    END IF;
    PERFORM postrider.audit_add(who, 'endpoint.set', id::text, reason, jsonb_build_object('set', settings, 'before',
        (SELECT jsonb_object_agg(b.key, b.value) FROM jsonb_each(to_jsonb(former)) AS b WHERE settings ? b.key)));
END $$;

ALTER FUNCTION postrider.endpoint_set(who text, id bigint, settings jsonb, reason text) OWNER TO postrider_owner;

--
-- Name: endpoint_switch_off(bigint, text, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoint_switch_off(id bigint, why text, off_after_ms bigint DEFAULT NULL::bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    merchant text;
    failing_since timestamptz;
BEGIN
    SELECT e.merchant_id INTO merchant FROM postrider.endpoint AS e WHERE e.id = endpoint_switch_off.id AND e.state = 'active';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF why = 'failing' THEN
        SELECT f.since INTO failing_since FROM postrider.endpoint_failing AS f
        WHERE f.endpoint = endpoint_switch_off.id AND f.since <= clock_timestamp() - off_after_ms * interval '1 ms';
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
        IF EXISTS (SELECT FROM (SELECT x.id FROM postrider.outbox AS x WHERE x.merchant_id = merchant OFFSET 0) AS o
                   CROSS JOIN LATERAL (SELECT FROM postrider.attempt AS x
                                       WHERE x.outbox_id = o.id AND x.endpoint = endpoint_switch_off.id
                                         AND x.outcome = 1 AND x.at >= failing_since LIMIT 1) AS a) THEN    -- 1: delivered (Outcome.Result)
            DELETE FROM postrider.endpoint_failing AS f WHERE f.endpoint = endpoint_switch_off.id;
            RETURN NULL;
        END IF;
    END IF;
    IF NOT postrider.endpoint_disable('circuit-breaker', id, why) THEN
        RETURN NULL;
    END IF;
    PERFORM postrider.alert_raise(
        CASE why WHEN '410' THEN 'endpoint_gone' ELSE 'endpoint_failing' END, id::text, 'warn',
        format(CASE why
            WHEN '410' THEN 'endpoint %s of merchant %s answered 410 Gone: it is switched off, its jobs are held; '
            ELSE 'endpoint %s of merchant %s took nothing for too long: it is switched off, its jobs are held; ' END
            || '`postrider endpoint enable %s` lets them go', id, merchant, id));
    RETURN merchant;
END $$;

ALTER FUNCTION postrider.endpoint_switch_off(id bigint, why text, off_after_ms bigint) OWNER TO postrider_owner;

--
-- Name: endpoints_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.endpoints_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    after CONSTANT bigint := coalesce(nullif(postrider.list_before(a), 9223372036854775807), -9223372036854775808);
    looks CONSTANT int := 10000;
    c refcursor;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'merchant_id', 'state', 'limit', 'after');
    IF a ->> 'merchant_id' IS NOT NULL THEN
        OPEN c FOR SELECT x.id, postrider.endpoint_listed(x, a) AS item FROM postrider.endpoint AS x
        WHERE x.merchant_id = a ->> 'merchant_id' AND x.id > after ORDER BY x.id LIMIT looks + 1;
    ELSE
        OPEN c FOR SELECT x.id, postrider.endpoint_listed(x, a) AS item FROM postrider.endpoint AS x WHERE x.id > after ORDER BY x.id LIMIT looks + 1;
    END IF;
    RETURN postrider.list_scan(c, after, looks, most);
END $$;

ALTER FUNCTION postrider.endpoints_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: enqueue_notification(text, text, text, jsonb, bigint, text, integer, text, text, text, bigint, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.enqueue_notification(merchant_id text, order_no text, event text, payload jsonb, amount_minor bigint DEFAULT NULL::bigint, currency text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, notify_url text DEFAULT NULL::text, idempotency_key text DEFAULT NULL::text, status text DEFAULT NULL::text, version bigint DEFAULT NULL::bigint, occurred_at timestamp with time zone DEFAULT now()) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.enqueue_notification(merchant_id text, order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: FUNCTION enqueue_notification(merchant_id text, order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone); Type: COMMENT; Schema: postrider; Owner: postrider_owner
--

COMMENT ON FUNCTION postrider.enqueue_notification(merchant_id text, order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone) IS 'Notify a merchant when this transaction commits. Errors: PR001 merchant, PR002 key reused, PR003 argument, PR008 too large.';

--
-- Name: enqueue_refuse(text, text, jsonb, bigint, text, integer, text, text, text, bigint, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.enqueue_refuse(order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.enqueue_refuse(order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: ensure_partitions(integer, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.ensure_partitions(ahead integer, retention interval) RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    SET "DateStyle" TO 'ISO, MDY'
    AS $_$
DECLARE
    span CONSTANT interval := make_interval(hours => greatest(1, ceil(extract(epoch FROM retention) / 3600 / 5)::int));
    kind text;
    lo timestamptz;
    part text;
    busy boolean;
BEGIN
    IF ahead NOT BETWEEN 1 AND 4 OR retention < interval '1 hour' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'ahead must be 1 to 4 and retention at least an hour',
            HINT = 'Look at retention in the configuration.';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('postrider.partition'));    -- two actors at once make each only once
    FOREACH kind IN ARRAY ARRAY['outbox', 'attempt'] LOOP
        LOOP
            SELECT max(p.hi) INTO lo FROM postrider.partition AS p WHERE p.parent = kind;
            IF lo IS NULL OR lo < clock_timestamp() - span THEN
                lo := date_bin(span, clock_timestamp(), '2000-01-03 00:00:00+00');
            END IF;
            EXIT WHEN lo > clock_timestamp() + span * ahead;
            -- Rows in the default partition bar a partition over their time: begin after the time that is running.
            EXECUTE format('SELECT EXISTS (SELECT FROM postrider.%I WHERE at >= $1)', kind || '_default') INTO busy USING lo;
            IF busy THEN
                lo := date_bin(span, clock_timestamp(), '2000-01-03 00:00:00+00') + span;
            END IF;
            part := kind || '_' || to_char(lo AT TIME ZONE 'UTC', 'YYYYMMDD_HH24');
            -- The constraint spares ATTACH the scan.
            EXECUTE format('CREATE TABLE postrider.%I (LIKE postrider.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE,'
                           ' CONSTRAINT bounds CHECK (at >= %L AND at < %L))', part, kind, lo, lo + span);
            EXECUTE format('ALTER TABLE postrider.%I ATTACH PARTITION postrider.%I FOR VALUES FROM (%L) TO (%L)',
                           kind, part, lo, lo + span);
            EXECUTE format('ALTER TABLE postrider.%I DROP CONSTRAINT bounds', part);
            INSERT INTO postrider.partition (parent, name, lo, hi) VALUES (kind, part, lo, lo + span);
            RETURN NEXT part;
        END LOOP;
    END LOOP;
END $_$;

ALTER FUNCTION postrider.ensure_partitions(ahead integer, retention interval) OWNER TO postrider_owner;

--
-- Name: evidence_compare(postrider.channel, postrider.payment, postrider.refund, jsonb, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.evidence_compare(c postrider.channel, p postrider.payment, r postrider.refund, e jsonb, lenient boolean) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
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

ALTER FUNCTION postrider.evidence_compare(c postrider.channel, p postrider.payment, r postrider.refund, e jsonb, lenient boolean) OWNER TO postrider_owner;

--
-- Name: evidence_numbers(jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.evidence_numbers(e jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT ARRAY(SELECT DISTINCT n FROM unnest(ARRAY[e ->> 'request_no', e ->> 'reference', e ->> 'refund_no', e ->> 'refund_reference']) AS n
                 WHERE n <> '' ORDER BY n)
$$;

ALTER FUNCTION postrider.evidence_numbers(e jsonb) OWNER TO postrider_owner;

--
-- Name: evidence_payment(integer, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.evidence_payment(channel_no integer, e jsonb) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
$_$;

ALTER FUNCTION postrider.evidence_payment(channel_no integer, e jsonb) OWNER TO postrider_owner;

--
-- Name: evidence_says(jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.evidence_says(e jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT CASE
        WHEN e ->> 'status' IN ('SUCCEEDED', 'REFUNDED', 'PARTIALLY_REFUNDED') THEN 'money'
        WHEN e ->> 'status' = 'FAILED' AND CASE WHEN e ->> 'object' = 'refund' THEN coalesce(e ->> 'action', '') <> 'retry'
                                                ELSE coalesce((e ->> 'final')::boolean, false) END THEN 'failure'
        WHEN e ->> 'status' = 'CANCELLED' THEN 'closed'
        WHEN e ->> 'status' = 'PENDING' THEN 'open'
        ELSE 'nothing' END
$$;

ALTER FUNCTION postrider.evidence_says(e jsonb) OWNER TO postrider_owner;

--
-- Name: exception_actions(text, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.exception_actions(kind text, payment_id bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT coalesce(jsonb_agg(jsonb_build_object('action', r.action, 'role', p.role, 'four_eyes', p.four_eyes, 'says', r.says) ORDER BY p.four_eyes, r.action), '[]')
    FROM postrider.resolution AS r JOIN postrider.permission AS p ON p.action = r.permission
    WHERE r.kind = $1 AND ($2 IS NOT NULL OR r.permission NOT IN ('payment.poll', 'task.resolve'))
$_$;

ALTER FUNCTION postrider.exception_actions(kind text, payment_id bigint) OWNER TO postrider_owner;

--
-- Name: exception_json(postrider.exception_place); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.exception_json(place postrider.exception_place) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    o jsonb;
    payment bigint;
    sla CONSTANT interval := (SELECT k.sla FROM postrider.exception_kind AS k WHERE k.kind = place.kind);
BEGIN
    CASE place.kind
    WHEN 'dead' THEN
        SELECT jsonb_build_object('id', b.notify_id || '/' || place.m, 'title', b.event, 'reason', d.reason, 'merchant_id', b.merchant_id, 'order_no', b.order_no,
                                  'state', d.state, 'attempts', d.tries, 'endpoint_id', d.endpoint, 'notify_id', b.notify_id)
        INTO o FROM postrider.dead AS d CROSS JOIN LATERAL (
            SELECT y.notify_id, y.event, y.merchant_id, y.order_no FROM postrider.outbox AS y WHERE y.at = d.outbox_at AND y.id = d.outbox_id
            UNION ALL SELECT y.notify_id, y.event, y.merchant_id, y.order_no FROM postrider.outbox_kept AS y WHERE y.id = d.outbox_id LIMIT 1) AS b
        WHERE d.outbox_id = place.n AND d.endpoint = place.m;
    WHEN 'quarantine' THEN
        SELECT jsonb_build_object('id', b.id::text, 'title', f.name || ' line ' || b.line, 'reason', b.reason, 'channel', f.channel, 'state', 'open',
                                  'file_id', b.file_id, 'raw', left(b.raw, 500), 'detail', b.detail)
        INTO o FROM postrider.recon_bad_row AS b JOIN postrider.recon_file AS f ON f.id = b.file_id WHERE b.id = place.n;
    WHEN 'channel' THEN
        SELECT jsonb_build_object('id', c.id, 'title', c.id, 'reason', c.state_reason, 'channel', c.id, 'state', c.state)
        INTO o FROM postrider.channel AS c WHERE c.no = place.n;
    WHEN 'endpoint' THEN
        SELECT jsonb_build_object('id', e.id::text, 'title', e.url, 'reason', e.state_reason, 'merchant_id', e.merchant_id, 'state', e.state, 'endpoint_id', e.id)
        INTO o FROM postrider.endpoint AS e WHERE e.id = place.n;
    ELSE
        SELECT jsonb_build_object('id', t.task_no, 'title', t.biz_type || ' ' || t.biz_id, 'reason', coalesce(t.last_error_code, t.biz_type), 'says', t.last_error_message,
                   'merchant_id', t.merchant_id, 'order_no', t.order_no, 'payment_id', t.payment_id, 'difference_id', t.difference_id, 'state', t.state,
                   'channel', p.channel, 'amount', p.amount_minor, 'currency', p.currency, 'payment_state', p.state), t.payment_id
        INTO o, payment FROM postrider.task AS t LEFT JOIN LATERAL (SELECT x.* FROM postrider.payment AS x WHERE x.id = t.payment_id LIMIT 1) AS p ON true
        WHERE t.id = place.n;
    END CASE;
    RETURN jsonb_build_object('merchant_id', NULL, 'order_no', NULL, 'payment_id', NULL, 'channel', NULL, 'amount', NULL, 'currency', NULL) || o
        || jsonb_build_object('kind', place.kind, 'since', postrider.json_time(place.since),
            'age_s', floor(extract(epoch FROM clock_timestamp() - place.since))::bigint, 'sla_at', postrider.json_time(place.since + sla),
            'overdue', place.since + sla < clock_timestamp(), 'actions', postrider.exception_actions(place.kind, payment),
            'approval', (SELECT jsonb_build_object('id', r.id, 'action', r.action, 'asked_by', r.asked_by, 'expires_at', postrider.json_time(r.expires_at))
                         FROM postrider.approval AS r WHERE r.payment_id = payment AND r.state = 'open' LIMIT 1));
END $$;

ALTER FUNCTION postrider.exception_json(place postrider.exception_place) OWNER TO postrider_owner;

--
-- Name: task; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.task (
    id bigint NOT NULL,
    task_no text NOT NULL,
    biz_type text NOT NULL,
    biz_id text NOT NULL,
    merchant_id text,
    order_no text,
    payment_id bigint,
    source text NOT NULL,
    difference_id bigint,
    state text NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    retry_limit integer DEFAULT 10 NOT NULL,
    next_run_at timestamp with time zone,
    last_run_at timestamp with time zone,
    last_error_code text,
    last_error_message text,
    request jsonb DEFAULT '{}'::jsonb NOT NULL,
    result jsonb DEFAULT '{}'::jsonb NOT NULL,
    lock_owner text,
    lock_token uuid,
    locked_at timestamp with time zone,
    moved_by text NOT NULL,
    move_reason text DEFAULT ''::text NOT NULL,
    closed_by text,
    conclusion text,
    before jsonb,
    after jsonb,
    follows text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    lock_session uuid,
    CONSTRAINT task_biz_id_check CHECK (((length(biz_id) >= 1) AND (length(biz_id) <= 128))),
    CONSTRAINT task_biz_type_check CHECK ((biz_type ~ '^[a-z0-9_]{1,64}$'::text)),
    CONSTRAINT task_source_check CHECK ((source = ANY (ARRAY['callback_failure'::text, 'difference'::text, 'person'::text, 'inspection'::text, 'application'::text])))
);

ALTER TABLE postrider.task OWNER TO postrider_owner;

--
-- Name: exception_kind_of(postrider.task); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.exception_kind_of(t postrider.task) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN (t).difference_id IS NOT NULL OR (t).source = 'difference' THEN 'difference' WHEN (t).biz_type IN ('payment_review', 'evidence_mismatch') THEN 'payment'
                WHEN (t).biz_type IN ('refund_review', 'refund_unclear') THEN 'refund' WHEN (t).biz_type = 'channel_stopped' THEN 'channel' ELSE 'task' END
$$;

ALTER FUNCTION postrider.exception_kind_of(t postrider.task) OWNER TO postrider_owner;

--
-- Name: exception_resolve(text, text, text, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.exception_resolve(who text, kind text, id text, action text, reason text, detail jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
#variable_conflict use_variable
DECLARE
    t postrider.task;
    letter jsonb;
    said text;
    door CONSTANT text := (SELECT r.permission FROM postrider.resolution AS r WHERE r.kind = kind AND r.action = action);
BEGIN
    IF door IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('%L does not end what is of kind %L', left(coalesce(action, ''), 40), left(coalesce(kind, ''), 40)),
            HINT = 'exceptions_list shows the actions of each.';
    END IF;
    CASE kind
    WHEN 'dead' THEN
        IF (id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/-?[0-9]{1,18}$') IS NOT TRUE THEN
            RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'id is not NOTIFY_ID/ENDPOINT_ID', HINT = 'As exceptions_list has it.';
        END IF;
        letter := jsonb_build_object('notify_id', left(id, 36), 'endpoint_id', substr(id, 38)::bigint);
        said := CASE action WHEN 'redrive' THEN postrider.dead_redrive(who, reason, letter) ELSE postrider.dead_close(who, reason, letter) END;
        IF said = '0' THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('there is no open dead letter %s', id), HINT = 'It was driven again or closed before.';
        END IF;
        said := CASE action WHEN 'redrive' THEN 'driven again' ELSE 'closed' END;
    WHEN 'quarantine' THEN
        IF NOT postrider.recon_row_close(who, postrider.arg_id(jsonb_build_object('id', id), 'id'), reason) THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('row %s is closed already', id), HINT = 'Nothing is to be done.';
        END IF;
        said := 'closed';
    WHEN 'endpoint' THEN
        IF NOT postrider.endpoint_enable(who, postrider.arg_id(jsonb_build_object('id', id), 'id'), reason) THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('endpoint %s is active', id), HINT = 'Nothing is to be done.';
        END IF;
        said := 'switched on';
    WHEN 'channel' THEN
        IF NOT postrider.channel_resume(who, id, reason, detail -> 'test') THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('channel %s is active', id), HINT = 'Nothing is to be done.';
        END IF;
        said := 'active';
    ELSE
        SELECT x.* INTO t FROM postrider.task AS x WHERE x.task_no = id;
        IF NOT FOUND OR postrider.exception_kind_of(t) <> kind THEN
            RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no task %L of kind %s', left(id, 80), kind), HINT = 'exceptions_list shows them.';
        ELSIF t.state <> 'MANUAL' THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('task %s is %s', id, t.state), HINT = 'Only what is with a person is ended by one.';
        ELSIF t.payment_id IS NULL AND door IN ('payment.poll', 'task.resolve') THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('task %s is about no payment', id), HINT = 'It is closed, or runs again.';
        END IF;
        CASE door
        WHEN 'task.close' THEN
            PERFORM postrider.task_close(who, id, reason, coalesce(detail, '{}') - 'before');
            said := 'closed';
        WHEN 'task.rerun' THEN
            said := 'runs again as ' || postrider.task_rerun(who, id, reason);
        WHEN 'payment.poll' THEN
            said := CASE WHEN postrider.payment_poll(who, t.payment_id, reason) THEN 'asked' ELSE 'a call is under way' END;
        ELSE
            letter := postrider.approval_ask(who, jsonb_build_object('action', 'task.resolve', 'object', id, 'reason', reason,
                'content', jsonb_build_object('as', action, 'evidence', coalesce(detail, '{}'))));
            RETURN jsonb_build_object('says', 'waits for another person', 'approval_id', letter -> 'id');
        END CASE;
    END CASE;
    RETURN jsonb_build_object('says', said);
END $_$;

ALTER FUNCTION postrider.exception_resolve(who text, kind text, id text, action text, reason text, detail jsonb) OWNER TO postrider_owner;

--
-- Name: exception_scan(text, jsonb, postrider.exception_place, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.exception_scan(kind text, f jsonb, after postrider.exception_place, most integer, OUT kept postrider.exception_place[], OUT last postrider.exception_place) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_variable
DECLARE
    -- rows of other kinds at the same instant come before or after by the kind's name
    lo CONSTANT timestamptz := CASE WHEN kind > after.kind THEN after.since - interval '1 us' ELSE after.since END;
    lo_n CONSTANT bigint := CASE WHEN kind = after.kind THEN after.n ELSE 9223372036854775807 END;
    lo_m CONSTANT bigint := CASE WHEN kind = after.kind THEN after.m ELSE 9223372036854775807 END;
    upto CONSTANT timestamptz := CASE WHEN f ? 'older_than_s' THEN clock_timestamp() - (f ->> 'older_than_s')::double precision * interval '1 s' ELSE 'infinity' END;
    place postrider.exception_place;
    good boolean;
    seen int := 0;
    c refcursor;
BEGIN
    kept := ARRAY[]::postrider.exception_place[];
    CASE kind
    WHEN 'dead' THEN
        IF f ?| ARRAY['merchant_id', 'order_no'] THEN
            OPEN c FOR SELECT d.at, kind, d.outbox_id, d.endpoint, (NOT f ? 'reason' OR d.reason = f ->> 'reason')
                AND (NOT f ? 'merchant_id' OR o.merchant_id = f ->> 'merchant_id') AND (NOT f ? 'order_no' OR o.order_no = f ->> 'order_no')
            FROM (SELECT x.* FROM postrider.dead AS x WHERE x.state = 'open' AND (x.at, x.outbox_id, x.endpoint) > (lo, lo_n, lo_m) AND x.at <= upto
                  ORDER BY x.at, x.outbox_id, x.endpoint LIMIT most) AS d
            CROSS JOIN LATERAL (SELECT y.merchant_id, y.order_no FROM postrider.outbox AS y WHERE y.at = d.outbox_at AND y.id = d.outbox_id
                UNION ALL SELECT y.merchant_id, y.order_no FROM postrider.outbox_kept AS y WHERE y.id = d.outbox_id LIMIT 1) AS o
            ORDER BY d.at, d.outbox_id, d.endpoint;
        ELSE
            OPEN c FOR SELECT x.at, kind, x.outbox_id, x.endpoint, NOT f ? 'reason' OR x.reason = f ->> 'reason' FROM postrider.dead AS x
            WHERE x.state = 'open' AND (x.at, x.outbox_id, x.endpoint) > (lo, lo_n, lo_m) AND x.at <= upto ORDER BY x.at, x.outbox_id, x.endpoint LIMIT most;
        END IF;
    WHEN 'quarantine' THEN
        -- a file's rows are as old as the file; of more than 10,000 open ones the later are seen once earlier ones are closed
        OPEN c FOR SELECT b.created_at, kind, b.id, 0::bigint, (NOT f ? 'channel' OR b.channel = f ->> 'channel') AND (NOT f ? 'reason' OR b.reason = f ->> 'reason')
        FROM (SELECT q.id, q.reason, x.created_at, x.channel
              FROM (SELECT z.id, z.reason, z.file_id FROM postrider.recon_bad_row AS z WHERE z.closed_at IS NULL ORDER BY z.id LIMIT 10000) AS q
              CROSS JOIN LATERAL (SELECT y.created_at, y.channel FROM postrider.recon_file AS y WHERE y.id = q.file_id LIMIT 1) AS x) AS b
        WHERE (b.created_at, b.id) > (lo, lo_n) AND b.created_at <= upto ORDER BY b.created_at, b.id LIMIT most;
    WHEN 'channel' THEN
        OPEN c FOR SELECT x.state_at, kind, x.no::bigint, 0::bigint, (NOT f ? 'channel' OR x.id = f ->> 'channel') AND NOT f ? 'reason' FROM postrider.channel AS x
        WHERE x.state = 'stopped' AND (x.state_at, x.no) > (lo, lo_n) AND x.state_at <= upto ORDER BY x.state_at, x.no LIMIT most;
    WHEN 'endpoint' THEN
        OPEN c FOR SELECT x.state_at, kind, x.id, 0::bigint, (NOT f ? 'merchant_id' OR x.merchant_id = f ->> 'merchant_id') AND (NOT f ? 'reason' OR x.state_reason = f ->> 'reason')
        FROM postrider.endpoint AS x WHERE x.state = 'disabled' AND (x.state_at, x.id) > (lo, lo_n) AND x.state_at <= upto ORDER BY x.state_at, x.id LIMIT most;
    ELSE
        OPEN c FOR SELECT x.updated_at, kind, x.id, 0::bigint, postrider.exception_kind_of(x) = kind AND (NOT f ? 'merchant_id' OR x.merchant_id = f ->> 'merchant_id')
            AND (NOT f ? 'order_no' OR x.order_no = f ->> 'order_no') AND (NOT f ? 'reason' OR coalesce(x.last_error_code, x.biz_type) = f ->> 'reason')
            AND (NOT f ? 'channel' OR f ->> 'channel' = (SELECT p.channel FROM postrider.payment AS p WHERE p.id = x.payment_id))
        FROM postrider.task AS x WHERE x.state = 'MANUAL' AND (x.updated_at, x.id) > (lo, lo_n) AND x.updated_at <= upto ORDER BY x.updated_at, x.id LIMIT most;
    END CASE;
    LOOP
        FETCH c INTO place.since, place.kind, place.n, place.m, good;
        EXIT WHEN NOT FOUND;
        seen := seen + 1;
        IF good THEN
            kept := kept || place;
        END IF;
    END LOOP;
    CLOSE c;
    last := CASE WHEN seen = most THEN place END;
END $$;

ALTER FUNCTION postrider.exception_scan(kind text, f jsonb, after postrider.exception_place, most integer, OUT kept postrider.exception_place[], OUT last postrider.exception_place) OWNER TO postrider_owner;

--
-- Name: exceptions_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.exceptions_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    asked CONSTANT jsonb := CASE jsonb_typeof(a -> 'kind') WHEN 'string' THEN jsonb_build_array(a -> 'kind') WHEN 'array' THEN a -> 'kind' END;
    f CONSTANT jsonb := jsonb_strip_nulls(a - ARRAY['kind', 'limit', 'after', 'overdue']);
    parts CONSTANT text[] := string_to_array(nullif(a ->> 'after', ''), '.');
    after postrider.exception_place := ('-infinity', '', 0, 0);
    k record;
    one record;
    all_kept postrider.exception_place[] := ARRAY[]::postrider.exception_place[];
    upto postrider.exception_place;
    given postrider.exception_place[];
    next postrider.exception_place;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'kind', 'merchant_id', 'channel', 'order_no', 'reason', 'overdue', 'older_than_s', 'limit', 'after');
    IF parts IS NOT NULL THEN
        IF cardinality(parts) <> 4 OR (parts[1] || parts[3] || parts[4]) !~ '^[0-9-]+$' THEN
            RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'after is no cursor of this list', HINT = 'Pass what next was.';
        END IF;
        after := (timestamptz 'epoch' + parts[1]::bigint * interval '1 us', parts[2], parts[3]::bigint, parts[4]::bigint);
    END IF;
    FOR k IN SELECT x.kind, x.sla FROM postrider.exception_kind AS x WHERE asked IS NULL OR asked ? x.kind ORDER BY x.kind LOOP
        -- what cannot have such a thing is not looked at
        CONTINUE WHEN (k.kind IN ('dead', 'endpoint') AND f ? 'channel') OR (k.kind IN ('channel', 'quarantine') AND f ?| ARRAY['merchant_id', 'order_no'])
                   OR (k.kind = 'endpoint' AND f ? 'order_no');
        SELECT * INTO one FROM postrider.exception_scan(k.kind, CASE WHEN (a ->> 'overdue')::boolean THEN f || jsonb_build_object('older_than_s',
            greatest(extract(epoch FROM k.sla), coalesce((f ->> 'older_than_s')::double precision, 0))) ELSE f END, after,
            CASE WHEN f ?| ARRAY['merchant_id', 'channel', 'order_no', 'reason'] OR k.kind IN ('payment', 'refund', 'task', 'difference') THEN 5000 ELSE most + 1 END);
        all_kept := all_kept || one.kept;
        upto := CASE WHEN upto IS NULL OR one.last < upto THEN coalesce(one.last, upto) ELSE upto END;
    END LOOP;
    -- behind the place where one kind's look ended nothing is known of it yet
    given := ARRAY(SELECT x FROM unnest(all_kept) AS x WHERE upto IS NULL OR x <= upto ORDER BY x LIMIT most + 1);
    next := CASE WHEN cardinality(given) > most THEN given[most] ELSE upto END;
    RETURN jsonb_build_object('items', coalesce((SELECT jsonb_agg(postrider.exception_json(y.x) ORDER BY g.no) FROM unnest(given[1:most]) WITH ORDINALITY AS g (since, kind, n, m, no),
            LATERAL (SELECT ROW(g.since, g.kind, g.n, g.m)::postrider.exception_place AS x) AS y), '[]'),
        'next', CASE WHEN next IS NOT NULL THEN concat_ws('.', (extract(epoch FROM next.since) * 1000000)::bigint, next.kind, next.n, next.m) END,
        'scanned_to', postrider.json_time(next.since));
END $_$;

ALTER FUNCTION postrider.exceptions_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: exceptions_resolve(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.exceptions_resolve(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    dry CONSTANT boolean := coalesce((a ->> 'dry_run')::boolean, false);
    reason CONSTANT text := postrider.arg_text(a, 'reason', 500, true);
    one text;
    said jsonb;
    results jsonb[] := '{}';
    done int := 0;
    state text;
    message text;
BEGIN
    PERFORM postrider.args_check(a, 'kind', 'ids', 'action', 'reason', 'detail', 'dry_run');
    PERFORM postrider.person_check(who, 'task.close');
    IF jsonb_typeof(a -> 'ids') IS DISTINCT FROM 'array' OR jsonb_array_length(a -> 'ids') NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'ids is not an array of 1 to 1000', HINT = 'Take fewer at a time.';
    END IF;
    -- in one order for all, so that no two wait for each other
    FOR one IN SELECT DISTINCT i #>> '{}' FROM jsonb_array_elements(a -> 'ids') AS i ORDER BY 1 LOOP
        BEGIN
            said := postrider.exception_resolve(who, a ->> 'kind', one, a ->> 'action', reason, a -> 'detail');
            IF dry THEN
                RAISE EXCEPTION USING ERRCODE = 'PR900', MESSAGE = 'it can be done';
            END IF;
            results := results || (jsonb_build_object('id', one, 'ok', true) || said);
            done := done + 1;
        EXCEPTION
            WHEN SQLSTATE 'PR900' THEN
                results := results || jsonb_build_object('id', one, 'ok', true, 'says', said ->> 'says');
                done := done + 1;
            WHEN SQLSTATE 'PR001' OR SQLSTATE 'PR002' OR SQLSTATE 'PR003' OR SQLSTATE 'PR004' OR SQLSTATE 'PR005' OR SQLSTATE 'PR006' OR SQLSTATE 'PR007'
                OR SQLSTATE 'PR008' OR SQLSTATE 'PR009' OR SQLSTATE 'PR010' THEN
                GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
                results := results || jsonb_build_object('id', one, 'ok', false, 'code', state, 'error', message);
        END;
    END LOOP;
    RETURN jsonb_build_object('dry_run', dry, 'count', cardinality(results), 'done', done, 'refused', cardinality(results) - done, 'results', to_jsonb(results));
END $$;

ALTER FUNCTION postrider.exceptions_resolve(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: exceptions_summary(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.exceptions_summary(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
DECLARE
    kinds jsonb;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    SELECT jsonb_agg(jsonb_build_object('kind', k.kind, 'says', k.says, 'sla_s', extract(epoch FROM k.sla)::bigint, 'count', coalesce(c.n, 0), 'more', coalesce(c.n, 0) > 10000,
               'overdue', coalesce(c.late, 0), 'overdue_more', coalesce(c.late, 0) > 10000, 'oldest_at', postrider.json_time(c.oldest),
               'ages', jsonb_build_object('1h', coalesce(c.h1, 0), '4h', coalesce(c.h4, 0), '24h', coalesce(c.h24, 0), '72h', coalesce(c.h72, 0), 'older', coalesce(c.older, 0)))
           ORDER BY k.kind) INTO kinds
    FROM postrider.exception_kind AS k
    LEFT JOIN (SELECT s.kind, count(*) AS n, min(s.since) AS oldest, count(*) FILTER (WHERE s.since + r.sla < now()) AS late,
                      count(*) FILTER (WHERE s.since > now() - interval '1 h') AS h1,
                      count(*) FILTER (WHERE s.since <= now() - interval '1 h' AND s.since > now() - interval '4 h') AS h4,
                      count(*) FILTER (WHERE s.since <= now() - interval '4 h' AND s.since > now() - interval '24 h') AS h24,
                      count(*) FILTER (WHERE s.since <= now() - interval '24 h' AND s.since > now() - interval '72 h') AS h72,
                      count(*) FILTER (WHERE s.since <= now() - interval '72 h') AS older
               FROM (SELECT postrider.exception_kind_of(t) AS kind, t.updated_at AS since
                     FROM (SELECT x.* FROM postrider.task AS x WHERE x.state = 'MANUAL' ORDER BY x.updated_at, x.id LIMIT 10001) AS t WHERE postrider.exception_kind_of(t) <> 'channel'
                     UNION ALL SELECT 'dead', d.at FROM (SELECT x.at FROM postrider.dead AS x WHERE x.state = 'open' ORDER BY x.at, x.outbox_id, x.endpoint LIMIT 10001) AS d
                     UNION ALL SELECT 'endpoint', e.state_at FROM (SELECT x.state_at FROM postrider.endpoint AS x WHERE x.state = 'disabled' ORDER BY x.state_at, x.id LIMIT 10001) AS e
                     UNION ALL SELECT 'channel', c.state_at FROM postrider.channel AS c WHERE c.state = 'stopped'
                     UNION ALL SELECT 'quarantine', f.created_at FROM (SELECT x.file_id FROM postrider.recon_bad_row AS x WHERE x.closed_at IS NULL ORDER BY x.id LIMIT 10001) AS q
                               CROSS JOIN LATERAL (SELECT y.created_at FROM postrider.recon_file AS y WHERE y.id = q.file_id LIMIT 1) AS f) AS s
               JOIN postrider.exception_kind AS r ON r.kind = s.kind GROUP BY s.kind) AS c ON c.kind = k.kind;
    RETURN jsonb_build_object('at', postrider.json_time(now()), 'kinds', kinds, 'total', (SELECT sum((k.value ->> 'count')::bigint) FROM jsonb_array_elements(kinds) AS k));
END $$;

ALTER FUNCTION postrider.exceptions_summary(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: exchange_json(bigint, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.exchange_json(payment_id bigint, log_id bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    said CONSTANT bytea := (SELECT x.said FROM postrider.call_exchange AS x WHERE x.payment_id = $1 AND x.log_id = $2 LIMIT 1);
BEGIN
    RETURN convert_from(said, 'UTF8')::jsonb;
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR untranslatable_character THEN
    RETURN jsonb_build_object('request', jsonb_build_object('body', postrider.bytes_json(said)));
END $_$;

ALTER FUNCTION postrider.exchange_json(payment_id bigint, log_id bigint) OWNER TO postrider_owner;

--
-- Name: expiry_of(postrider.channel, timestamp with time zone, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.expiry_of(c postrider.channel, given timestamp with time zone, options jsonb) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "DateStyle" TO 'ISO, MDY'
    AS $$
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

ALTER FUNCTION postrider.expiry_of(c postrider.channel, given timestamp with time zone, options jsonb) OWNER TO postrider_owner;

--
-- Name: finish_rotations(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.finish_rotations() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    n int;
BEGIN
    UPDATE postrider.endpoint AS e SET secret = e.secret_next, secret_next = NULL, rotate_until = NULL
    WHERE e.rotate_until <= now() AND e.secret_next IS NOT NULL;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;

ALTER FUNCTION postrider.finish_rotations() OWNER TO postrider_owner;

--
-- Name: follow_timeline(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.follow_timeline() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    here text := (SELECT s.system_identifier FROM pg_control_system() AS s)
                 || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8); -- known at once, unlike the control file's
    known text;
BEGIN
    INSERT INTO postrider.setting (key, value) VALUES ('timeline', here) ON CONFLICT (key) DO NOTHING;
    SELECT s.value INTO known FROM postrider.setting AS s WHERE s.key = 'timeline' FOR UPDATE;
    IF known = here THEN
        RETURN false;
    END IF;
    UPDATE postrider.setting AS s SET value = here WHERE s.key = 'timeline';
    IF split_part(known, '/', 1) <> split_part(here, '/', 1) THEN
        RETURN false;
    END IF;
    PERFORM setval('postrider.outbox_id_seq', nextval('postrider.outbox_id_seq') + 1000000);
    PERFORM postrider.end_session(s.id) FROM (SELECT x.id FROM postrider.session AS x WHERE x.ended IS NULL ORDER BY x.id) AS s;
    RETURN true;
END $$;

ALTER FUNCTION postrider.follow_timeline() OWNER TO postrider_owner;

--
-- Name: fulfilment_set(text, text, interval, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.fulfilment_set(who text, merchant_id text, grace interval, reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.merchant AS m WHERE m.id = merchant_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(merchant_id, 80)), HINT = 'postrider merchant list shows those that are.';
    ELSIF grace NOT BETWEEN interval '0' AND interval '90 days' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the grace is not 0 to 90 days', HINT = 'How long after the payment the goods are out at the latest.';
    END IF;
    IF grace IS NULL THEN
        DELETE FROM postrider.fulfilment_rule AS r WHERE r.merchant_id = merchant_id;
    ELSE
        INSERT INTO postrider.fulfilment_rule AS r (merchant_id, grace) VALUES (merchant_id, grace)
        ON CONFLICT ON CONSTRAINT fulfilment_rule_pkey DO UPDATE SET grace = excluded.grace;
    END IF;
    PERFORM postrider.audit_add(who, 'recon.delivery', merchant_id, reason, jsonb_build_object('grace', grace));
END $$;

ALTER FUNCTION postrider.fulfilment_set(who text, merchant_id text, grace interval, reason text) OWNER TO postrider_owner;

--
-- Name: guard_history(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.guard_history() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('rows of %s are neither changed nor deleted', TG_TABLE_NAME),
        HINT = 'Add what corrects them: everything is kept.';
END $$;

ALTER FUNCTION postrider.guard_history() OWNER TO postrider_owner;

--
-- Name: guard_state(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.guard_state() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    former text := '';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.state = OLD.state THEN
            RETURN NEW;
        END IF;
        former := OLD.state;
    END IF;
    IF NOT EXISTS (SELECT FROM postrider.transition AS t
                   WHERE t.object = TG_ARGV[0] AND t.from_state = former AND t.to_state = NEW.state) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006',
            MESSAGE = format('a %s does not go from %s to %s', TG_ARGV[0], coalesce(nullif(former, ''), 'birth'), coalesce(NEW.state, 'nothing')),
            HINT = 'docs/states.md has the moves; what is final stays.';
    END IF;
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.guard_state() OWNER TO postrider_owner;

--
-- Name: header_ok(text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.header_ok(name text, value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT name ~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,64}$' AND octet_length(value) <= 512 AND value !~ E'[\\x01-\\x08\\x0a-\\x1f\\x7f]'
       AND name !~* '^(host|transfer-encoding|connection|te|trailer|upgrade|expect|keep-alive|user-agent|accept-encoding|x-timestamp|http2-settings)$'
       AND name !~* '^(content-|proxy-|x-sign|x-notify|webhook-)'
$_$;

ALTER FUNCTION postrider.header_ok(name text, value text) OWNER TO postrider_owner;

--
-- Name: heartbeat(uuid, bigint, bigint[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.heartbeat(session uuid, beat bigint, low bigint[], OUT alive boolean, OUT target integer, OUT owned integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
BEGIN
    UPDATE postrider.heartbeat AS h SET beat = beat, low = low WHERE h.session = session;
    SELECT EXISTS (SELECT FROM postrider.session AS s WHERE s.id = session AND s.ended IS NULL),
           ceil(256.0 / greatest(1, (SELECT count(*) FROM postrider.session AS s WHERE s.ended IS NULL))),
           (SELECT count(*) FROM postrider.shard AS h WHERE h.session = session)
    INTO alive, target, owned;
END $$;

ALTER FUNCTION postrider.heartbeat(session uuid, beat bigint, low bigint[], OUT alive boolean, OUT target integer, OUT owned integer) OWNER TO postrider_owner;

--
-- Name: history_add(postrider.payment, bigint, text, text, text, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.history_add(p postrider.payment, refund_id bigint, source text, event_id text, verdict text, from_state text, to_state text, evidence jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog'
    AS $_$
    INSERT INTO postrider.payment_history (payment_id, refund_id, source, event_id, verdict, from_state, to_state, version, evidence)
    VALUES (p.id, $2, $3, $4, $5, $6, $7, p.version, coalesce($8, '{}'))
$_$;

ALTER FUNCTION postrider.history_add(p postrider.payment, refund_id bigint, source text, event_id text, verdict text, from_state text, to_state text, evidence jsonb) OWNER TO postrider_owner;

--
-- Name: host_ok(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.host_ok(host text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT host ~ '^[A-Za-z0-9._-]+$' AND length(host) <= 253
       AND host !~ '(^|[.])([.]|-|$)|-([.]|$)'
       AND NOT EXISTS (SELECT FROM string_to_table(host, '.') AS label WHERE length(label) > 63)
       AND (host !~ '(^|[.])([0-9]+|0[xX][0-9A-Fa-f]*)$'
            OR host ~ '^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])([.]|$)){4}$' AND host !~ '[.]$')
$_$;

ALTER FUNCTION postrider.host_ok(host text) OWNER TO postrider_owner;

--
-- Name: http_key; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.http_key (
    id bigint NOT NULL,
    hash bytea NOT NULL,
    kind text NOT NULL,
    merchant_id text,
    livemode boolean NOT NULL,
    label text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    signing bytea,
    CONSTRAINT http_key_check CHECK (((kind = 'merchant'::text) = (merchant_id IS NOT NULL))),
    CONSTRAINT http_key_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT http_key_kind_check CHECK ((kind = ANY (ARRAY['application'::text, 'merchant'::text]))),
    CONSTRAINT http_key_signing_check CHECK ((octet_length(signing) <= 4096))
);

ALTER TABLE postrider.http_key OWNER TO postrider_owner;

--
-- Name: http_do(postrider.http_key, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.http_do(k postrider.http_key, operation text, a jsonb, OUT status integer, OUT body jsonb) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET "DateStyle" TO 'ISO, MDY'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.http_do(k postrider.http_key, operation text, a jsonb, OUT status integer, OUT body jsonb) OWNER TO postrider_owner;

--
-- Name: http_key_check(bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.http_key_check(hash bytea) RETURNS TABLE(key_id bigint, kind text, merchant_id text, livemode boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT k.id, k.kind, k.merchant_id, k.livemode FROM postrider.http_key AS k
    WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
$_$;

ALTER FUNCTION postrider.http_key_check(hash bytea) OWNER TO postrider_owner;

--
-- Name: http_key_signing(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.http_key_signing(key_id bigint) RETURNS bytea
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT k.signing FROM postrider.http_key AS k WHERE k.id = $1
$_$;

ALTER FUNCTION postrider.http_key_signing(key_id bigint) OWNER TO postrider_owner;

--
-- Name: http_nonce_take(bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.http_nonce_take(key_id bigint, nonce text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    INSERT INTO postrider.http_nonce (key_id, nonce) VALUES ($1, $2) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $_$;

ALTER FUNCTION postrider.http_nonce_take(key_id bigint, nonce text) OWNER TO postrider_owner;

--
-- Name: http_purge(integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.http_purge(most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.http_purge(most integer) OWNER TO postrider_owner;

--
-- Name: http_read(bigint, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.http_read(key_id bigint, what text, arguments jsonb) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.http_read(key_id bigint, what text, arguments jsonb) OWNER TO postrider_owner;

--
-- Name: http_write(bigint, text, bytea, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.http_write(key_id bigint, idempotency_key text, request_hash bytea, operation text, arguments jsonb, OUT status integer, OUT body text, OUT replayed boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.http_write(key_id bigint, idempotency_key text, request_hash bytea, operation text, arguments jsonb, OUT status integer, OUT body text, OUT replayed boolean) OWNER TO postrider_owner;

--
-- Name: ingress_channels(text[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.ingress_channels(known text[], versions bigint[]) RETURNS TABLE(channel text, version bigint, state text, profile text, base_url text, parameters jsonb, exponents jsonb, livemode boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT c.id, c.version, c.state, c.profile, c.base_url, postrider.channel_parameters(c.id), c.exponents, c.livemode
    FROM postrider.channel AS c
    WHERE NOT EXISTS (SELECT FROM unnest($1, $2) AS k (id, version) WHERE k.id = c.id AND k.version = c.version)
    ORDER BY c.id
$_$;

ALTER FUNCTION postrider.ingress_channels(known text[], versions bigint[]) OWNER TO postrider_owner;

--
-- Name: intent_key(text, text, text, text, text, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.intent_key(merchant_id text, order_no text, channel text, business text, intent text, number_max integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT left(encode(sha256(convert_to(string_agg(octet_length(p.part) || ':' || p.part, '' ORDER BY p.at), 'UTF8')), 'hex'), number_max)
    FROM unnest(ARRAY[merchant_id, order_no, channel, business, intent]) WITH ORDINALITY AS p (part, at)
$$;

ALTER FUNCTION postrider.intent_key(merchant_id text, order_no text, channel text, business text, intent text, number_max integer) OWNER TO postrider_owner;

--
-- Name: ipv6_ok(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.ipv6_ok(address text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT CASE
        WHEN a.x ~ '[.]' THEN false                                 -- not a dotted quad at its end, or one that is none
        WHEN a.x ~ '::' THEN a.x ~ '^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?$'
                             AND (SELECT count(*) FROM regexp_matches(a.x, '[0-9A-Fa-f]+', 'g')) <= 7
        ELSE a.x ~ '^([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}$' END
    FROM regexp_replace(address, ':((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$',
                        ':0:0') AS a (x)
$_$;

ALTER FUNCTION postrider.ipv6_ok(address text) OWNER TO postrider_owner;

--
-- Name: is_moved(smallint, xid8, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.is_moved(class smallint, tx xid8, id bigint) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $_$
    SELECT CASE WHEN t.more
                THEN pg_visible_in_snapshot($2, t.lo) OR (pg_visible_in_snapshot($2, t.hi) AND ($2, $3) <= (t.dt, t.di))
                ELSE pg_visible_in_snapshot($2, t.hi) END
    FROM postrider.tick AS t WHERE t.class = $1 ORDER BY t.n DESC LIMIT 1
$_$;

ALTER FUNCTION postrider.is_moved(class smallint, tx xid8, id bigint) OWNER TO postrider_owner;

--
-- Name: json_time(timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.json_time(at timestamp with time zone) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

ALTER FUNCTION postrider.json_time(at timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: key_create(text, bytea, text, text, boolean, text, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.key_create(who text, hash bytea, kind text, merchant_id text, livemode boolean, label text, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.key_create(who text, hash bytea, kind text, merchant_id text, livemode boolean, label text, expires_at timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: key_revoke(text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.key_revoke(who text, id bigint, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    UPDATE postrider.http_key AS k SET revoked_at = now() WHERE k.id = $2 AND k.revoked_at IS NULL;
    IF FOUND THEN
        PERFORM postrider.audit_add(who, 'key.revoke', id::text, reason, '{}');
        RETURN true;
    END IF;
    RETURN false;
END $_$;

ALTER FUNCTION postrider.key_revoke(who text, id bigint, reason text) OWNER TO postrider_owner;

--
-- Name: key_sign(text, bigint, bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.key_sign(who text, id bigint, signing bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    UPDATE postrider.http_key AS k SET signing = $3 WHERE k.id = $2 AND k.revoked_at IS NULL;
    IF FOUND THEN
        PERFORM postrider.audit_add(who, 'key.sign', id::text, NULL, jsonb_build_object('signed', signing IS NOT NULL));
        RETURN true;
    END IF;
    RETURN false;
END $_$;

ALTER FUNCTION postrider.key_sign(who text, id bigint, signing bytea) OWNER TO postrider_owner;

--
-- Name: list_before(jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.list_before(a jsonb) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    IF nullif(a ->> 'after', '') !~ '^-?[0-9]{1,18}$' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'after is no cursor of this list', HINT = 'Pass what next was.';
    END IF;
    RETURN coalesce(nullif(a ->> 'after', '')::bigint, 9223372036854775807);
END $_$;

ALTER FUNCTION postrider.list_before(a jsonb) OWNER TO postrider_owner;

--
-- Name: list_json(jsonb[], text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.list_json(items jsonb[], next text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT jsonb_build_object('items', coalesce(to_jsonb(items), '[]'), 'next', next)
$$;

ALTER FUNCTION postrider.list_json(items jsonb[], next text) OWNER TO postrider_owner;

--
-- Name: list_scan(refcursor, bigint, integer, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.list_scan(c refcursor, key bigint, looks integer, most integer) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    o record;
    items jsonb[] := ARRAY[]::jsonb[];
    seen int := 0;
    next bigint;
BEGIN
    LOOP
        FETCH c INTO o;
        EXIT WHEN NOT FOUND;
        IF seen >= looks OR cardinality(items) >= most THEN
            next := key;
            EXIT;
        END IF;
        seen := seen + 1;
        key := o.id;
        IF o.item IS NOT NULL THEN
            items := items || o.item;
        END IF;
    END LOOP;
    CLOSE c;
    RETURN postrider.list_json(items, next::text);
END $$;

ALTER FUNCTION postrider.list_scan(c refcursor, key bigint, looks integer, most integer) OWNER TO postrider_owner;

--
-- Name: login_count(text, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.login_count(key text, most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    t record;
BEGIN
    INSERT INTO postrider.login_try AS l (key, since, tries) VALUES (left($1, 200), clock_timestamp(), 1)
    ON CONFLICT ON CONSTRAINT login_try_pkey DO UPDATE
    SET since = CASE WHEN l.since < clock_timestamp() - interval '15 min' THEN excluded.since ELSE l.since END,
        tries = CASE WHEN l.since < clock_timestamp() - interval '15 min' THEN 1 ELSE least(l.tries, 1000000) + 1 END
    RETURNING l.since, l.tries INTO t;
    RETURN CASE WHEN t.tries > most THEN greatest(1, ceil(extract(epoch FROM t.since + interval '15 min' - clock_timestamp())))::int END;
END $_$;

ALTER FUNCTION postrider.login_count(key text, most integer) OWNER TO postrider_owner;

--
-- Name: merchant_add(text, text, text, text, text, bytea, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.merchant_add(who text, id text, tier text, email text, url text, secret bytea, settings jsonb DEFAULT '{}'::jsonb, endpoint_name text DEFAULT 'default'::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
#variable_conflict use_variable
BEGIN
    IF id IS NULL OR id !~ '^[A-Za-z0-9._:-]{1,64}$' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the merchant''s id is not 1 to 64 of A-Z a-z 0-9 . _ : -',
            HINT = 'Use the id that the application passes to enqueue_notification.';
    ELSIF coalesce(tier, 'normal') NOT IN ('vip', 'normal', 'small') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'tier is not vip, normal or small', HINT = 'Leave it out for normal.';
    END IF;
    INSERT INTO postrider.merchant (id, tier, email, shard) VALUES (id, coalesce(tier, 'normal'), email, 0) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('merchant %L is known already', id),
            HINT = 'Use postrider merchant set, or endpoint_add for another address of it.';
    END IF;
    PERFORM postrider.audit_add(who, 'merchant.add', id, NULL,
        jsonb_strip_nulls(jsonb_build_object('tier', coalesce(tier, 'normal'), 'email', email)));
    RETURN postrider.endpoint_add(who, id, endpoint_name, url, secret, settings);
END $_$;

ALTER FUNCTION postrider.merchant_add(who text, id text, tier text, email text, url text, secret bytea, settings jsonb, endpoint_name text) OWNER TO postrider_owner;

--
-- Name: merchant_before(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.merchant_before() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    NEW.shard := get_byte(sha256(convert_to(NEW.id, 'UTF8')), 0);
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.merchant_before() OWNER TO postrider_owner;

--
-- Name: merchant_check(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.merchant_check() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    NEW.email := nullif(NEW.email, '');
    IF NOT postrider.email_ok(NEW.email) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'email is not NAME@HOST of at most 254 printable bytes',
            HINT = 'Leave it out when there is nobody to write to.';
    END IF;
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.merchant_check() OWNER TO postrider_owner;

--
-- Name: merchant_order(text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.merchant_order(merchant_id text, order_no text) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
$_$;

ALTER FUNCTION postrider.merchant_order(merchant_id text, order_no text) OWNER TO postrider_owner;

--
-- Name: merchant_set(text, text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.merchant_set(who text, id text, settings jsonb, reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    former record;
BEGIN
    SELECT m.tier, m.email INTO former FROM postrider.merchant AS m WHERE m.id = id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = format('merchant %L is not known', left(id, 80)),
            HINT = 'postrider merchant list shows those that are.';
    ELSIF EXISTS (SELECT FROM jsonb_object_keys(settings) AS k WHERE k NOT IN ('tier', 'email'))
          OR (settings ? 'tier' AND coalesce(settings ->> 'tier', '') NOT IN ('vip', 'normal', 'small')) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'settings are tier (vip, normal, small) and email',
            HINT = 'The other settings belong to an endpoint: endpoint_set.';
    END IF;
    UPDATE postrider.merchant AS m
    SET tier = CASE WHEN settings ? 'tier' THEN settings ->> 'tier' ELSE m.tier END,
        email = CASE WHEN settings ? 'email' THEN settings ->> 'email' ELSE m.email END
    WHERE m.id = id;
    PERFORM postrider.audit_add(who, 'merchant.set', id, reason, jsonb_build_object('before', to_jsonb(former), 'set', settings));
END $$;

ALTER FUNCTION postrider.merchant_set(who text, id text, settings jsonb, reason text) OWNER TO postrider_owner;

--
-- Name: merchant_show(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.merchant_show(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    m postrider.merchant;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'merchant_id');
    SELECT x.* INTO m FROM postrider.merchant AS x WHERE x.id = a ->> 'merchant_id';
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no merchant %L', left(a ->> 'merchant_id', 80)), HINT = 'merchants_list shows them.';
    END IF;
    RETURN jsonb_build_object('merchant', jsonb_build_object('merchant_id', m.id, 'tier', m.tier, 'email', m.email, 'created_at', postrider.json_time(m.created_at)),
        'endpoints', coalesce((SELECT jsonb_agg(postrider.endpoint_json(e) ORDER BY e.id DESC)
            FROM (SELECT x.* FROM postrider.endpoint AS x WHERE x.merchant_id = m.id ORDER BY x.id DESC LIMIT 200) AS e), '[]'),
        'keys', coalesce((SELECT jsonb_agg(to_jsonb(k) ORDER BY k.key_id) FROM postrider.http_keys AS k WHERE k.merchant_id = m.id), '[]'));
END $$;

ALTER FUNCTION postrider.merchant_show(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: merchant_test(text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.merchant_test(who text, merchant_id text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    said CONSTANT uuid := postrider.enqueue_notification($2, 'test-' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSMS'), 'endpoint.test',
                                                         '{"test": true}', priority => 1);
BEGIN
    PERFORM postrider.audit_add(who, 'merchant.test', merchant_id, NULL, jsonb_build_object('notify_id', said));
    RETURN said;
END $_$;

ALTER FUNCTION postrider.merchant_test(who text, merchant_id text) OWNER TO postrider_owner;

--
-- Name: merchants_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.merchants_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    q CONSTANT text := coalesce(a ->> 'q', '');
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'q', 'limit', 'after');
    RETURN postrider.page_json(ARRAY(
        SELECT jsonb_build_object('merchant_id', m.id, 'tier', m.tier, 'email', m.email, 'created_at', postrider.json_time(m.created_at), 'cursor', m.id)
        FROM postrider.merchant AS m WHERE m.id > coalesce(a ->> 'after', '') AND m.id >= q AND starts_with(m.id, q) ORDER BY m.id LIMIT most + 1), most);
END $$;

ALTER FUNCTION postrider.merchants_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: metrics(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.metrics() RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT postrider.overview(o.name, '{}') FROM postrider.operator AS o WHERE o.disabled_at IS NULL ORDER BY o.name LIMIT 1
$$;

ALTER FUNCTION postrider.metrics() OWNER TO postrider_owner;

--
-- Name: minor_of(jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.minor_of(e jsonb, name text) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT CASE WHEN jsonb_typeof(e -> name) = 'number' THEN (e ->> name)::numeric::bigint END
$$;

ALTER FUNCTION postrider.minor_of(e jsonb, name text) OWNER TO postrider_owner;

--
-- Name: money_too_many(postrider.channel, postrider.payment, text, bigint, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.money_too_many(c postrider.channel, p postrider.payment, kind text, amount bigint, evidence jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.money_too_many(c postrider.channel, p postrider.payment, kind text, amount bigint, evidence jsonb) OWNER TO postrider_owner;

--
-- Name: notification_cancel(text, uuid, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.notification_cancel(who text, notify_id uuid, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    said CONSTANT boolean := postrider.cancel_notification(notify_id, reason);
BEGIN
    PERFORM postrider.audit_add(who, 'notification.cancel', notify_id::text, reason, jsonb_build_object('recorded', said));
    RETURN said;
END $$;

ALTER FUNCTION postrider.notification_cancel(who text, notify_id uuid, reason text) OWNER TO postrider_owner;

--
-- Name: notification_deliveries(uuid, text, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.notification_deliveries(id uuid, status text, endpoint bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $_$
BEGIN
    RETURN (SELECT jsonb_agg(postrider.notification_json(n) ORDER BY n.endpoint_id) FROM postrider.notification_status AS n
            WHERE n.notify_id = id AND ($2 IS NULL OR n.status = $2) AND ($3 IS NULL OR n.endpoint_id = $3));
END $_$;

ALTER FUNCTION postrider.notification_deliveries(id uuid, status text, endpoint bigint) OWNER TO postrider_owner;

--
-- Name: response_text(smallint, bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.response_text(outcome smallint, response bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $$
BEGIN
    IF response IS NULL AND outcome = 1 THEN
        RETURN 'SUCCESS';
    END IF;
    RETURN convert_from(response, 'UTF8');
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR untranslatable_character THEN
    RETURN encode(response, 'escape');
END $$;

ALTER FUNCTION postrider.response_text(outcome smallint, response bytea) OWNER TO postrider_owner;

--
-- Name: retry_count(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.retry_count(retry text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT CASE WHEN x ~ '^list:.' THEN cardinality(string_to_array(x, ','))
                WHEN x ~ '^(fixed|linear|exponential|exponential-jitter):[^*]+[*][0-9]{1,6}$' THEN split_part(x, '*', 2)::int END
    FROM replace(split_part(retry, ';', 1), ' ', '') AS x
$_$;

ALTER FUNCTION postrider.retry_count(retry text) OWNER TO postrider_owner;

--
-- Name: attempt; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.attempt (
    at timestamp with time zone DEFAULT now() NOT NULL,
    outbox_id bigint NOT NULL,
    endpoint bigint NOT NULL,
    before_ms integer NOT NULL,
    ms integer NOT NULL,
    try smallint NOT NULL,
    outcome smallint NOT NULL,
    code smallint NOT NULL,
    worker smallint,
    error text,
    next_due timestamp with time zone,
    response bytea
)
PARTITION BY RANGE (at);

ALTER TABLE postrider.attempt OWNER TO postrider_owner;

--
-- Name: breaker_open; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.breaker_open (
    endpoint bigint NOT NULL,
    until timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE postrider.breaker_open OWNER TO postrider_owner;

--
-- Name: cancelled; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.cancelled (
    outbox_id bigint NOT NULL,
    endpoint bigint NOT NULL,
    outbox_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL
);

ALTER TABLE postrider.cancelled OWNER TO postrider_owner;

--
-- Name: job; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.job (
    seq bigint NOT NULL,
    outbox_at timestamp with time zone NOT NULL,
    outbox_id bigint NOT NULL,
    endpoint bigint NOT NULL,
    salt bigint NOT NULL,
    tried_before integer DEFAULT 0 NOT NULL,
    class smallint NOT NULL,
    try smallint DEFAULT 0 NOT NULL,
    reborn timestamp with time zone,
    due timestamp with time zone
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='20000');

ALTER TABLE postrider.job OWNER TO postrider_owner;

--
-- Name: outbox; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.outbox (
    id bigint NOT NULL,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    class smallint NOT NULL,
    kind smallint DEFAULT 0 NOT NULL,
    merchant_id text NOT NULL,
    order_no text NOT NULL,
    event text NOT NULL,
    status text NOT NULL,
    version bigint NOT NULL,
    notify_id uuid NOT NULL,
    notify_url text,
    body bytea NOT NULL,
    cancel_at timestamp with time zone,
    cancel_reason text,
    ref_at timestamp with time zone,
    ref_id bigint,
    ref_endpoint bigint
)
PARTITION BY RANGE (at);

ALTER TABLE postrider.outbox OWNER TO postrider_owner;

--
-- Name: outbox_kept; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.outbox_kept (
    id bigint NOT NULL,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    class smallint NOT NULL,
    kind smallint DEFAULT 0 NOT NULL,
    merchant_id text NOT NULL,
    order_no text NOT NULL,
    event text NOT NULL,
    status text NOT NULL,
    version bigint NOT NULL,
    notify_id uuid NOT NULL,
    notify_url text,
    body bytea NOT NULL,
    cancel_at timestamp with time zone,
    cancel_reason text,
    ref_at timestamp with time zone,
    ref_id bigint,
    ref_endpoint bigint
);

ALTER TABLE postrider.outbox_kept OWNER TO postrider_owner;

--
-- Name: notification; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.notification AS
 SELECT o.id,
    o.at,
    o.class,
    o.kind,
    o.merchant_id,
    o.order_no,
    o.event,
    o.version,
    o.notify_id,
    o.notify_url
   FROM postrider.outbox o
UNION ALL
 SELECT k.id,
    k.at,
    k.class,
    k.kind,
    k.merchant_id,
    k.order_no,
    k.event,
    k.version,
    k.notify_id,
    k.notify_url
   FROM postrider.outbox_kept k;

ALTER TABLE postrider.notification OWNER TO postrider_owner;

--
-- Name: tick; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.tick (
    class smallint NOT NULL,
    n bigint NOT NULL,
    lo pg_snapshot NOT NULL,
    hi pg_snapshot NOT NULL,
    more boolean NOT NULL,
    dt xid8 NOT NULL,
    di bigint NOT NULL,
    seq bigint NOT NULL,
    sysid bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE postrider.tick OWNER TO postrider_owner;

--
-- Name: delivery; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.delivery AS
 SELECT o.id AS outbox_id,
    o.at AS outbox_at,
    o.class,
    o.merchant_id,
    o.order_no,
    o.event,
    o.version,
    o.notify_id,
    o.notify_url,
    NULL::bigint AS endpoint,
        CASE
            WHEN (o.cancel_at IS NULL) THEN 'pending'::text
            ELSE 'cancelled'::text
        END AS status,
        CASE
            WHEN (o.cancel_at IS NULL) THEN 'new'::text
            ELSE NULL::text
        END AS phase,
    0 AS tried_before,
        CASE
            WHEN (o.cancel_at IS NULL) THEN o.at
            ELSE NULL::timestamp with time zone
        END AS next_at,
    o.cancel_at AS ended_at,
    o.cancel_reason AS reason
   FROM (postrider.outbox o
     CROSS JOIN LATERAL ( SELECT k.lo,
            k.hi,
            k.more,
            k.dt,
            k.di
           FROM postrider.tick k
          WHERE (k.class = o.class)
          ORDER BY k.n DESC
         LIMIT 1) t)
  WHERE ((o.kind = 0) AND (NOT
        CASE
            WHEN t.more THEN (pg_visible_in_snapshot(o.tx, t.lo) OR (pg_visible_in_snapshot(o.tx, t.hi) AND (ROW(o.tx, o.id) <= ROW(t.dt, t.di))))
            ELSE pg_visible_in_snapshot(o.tx, t.hi)
        END))
UNION ALL
 SELECT o.id AS outbox_id,
    o.at AS outbox_at,
    o.class,
    o.merchant_id,
    o.order_no,
    o.event,
    o.version,
    o.notify_id,
    o.notify_url,
    j.endpoint,
    'pending'::text AS status,
        CASE
            WHEN (j.try = 0) THEN 'new'::text
            ELSE 'retrying'::text
        END AS phase,
    j.tried_before,
    COALESCE(j.due, j.reborn, o.at) AS next_at,
    NULL::timestamp with time zone AS ended_at,
    NULL::text AS reason
   FROM (postrider.job j
     JOIN postrider.notification o ON (((o.id = j.outbox_id) AND (o.at = j.outbox_at))))
UNION ALL
 SELECT o.id AS outbox_id,
    o.at AS outbox_at,
    o.class,
    o.merchant_id,
    o.order_no,
    o.event,
    o.version,
    o.notify_id,
    o.notify_url,
    d.endpoint,
        CASE d.state
            WHEN 'redriven'::text THEN 'pending'::text
            ELSE 'dead'::text
        END AS status,
        CASE d.state
            WHEN 'redriven'::text THEN 'new'::text
            ELSE NULL::text
        END AS phase,
        CASE d.state
            WHEN 'redriven'::text THEN d.tries
            ELSE 0
        END AS tried_before,
        CASE d.state
            WHEN 'redriven'::text THEN d.closed_at
            ELSE NULL::timestamp with time zone
        END AS next_at,
        CASE
            WHEN (d.state <> 'redriven'::text) THEN d.at
            ELSE NULL::timestamp with time zone
        END AS ended_at,
    d.reason
   FROM (postrider.dead d
     JOIN postrider.notification o ON (((o.id = d.outbox_id) AND (o.at = d.outbox_at))))
  WHERE ((d.state <> 'redriven'::text) OR ((NOT (EXISTS ( SELECT
           FROM postrider.job j
          WHERE ((j.outbox_id = d.outbox_id) AND (j.endpoint = d.endpoint))))) AND (NOT (EXISTS ( SELECT
           FROM postrider.cancelled c
          WHERE ((c.outbox_id = d.outbox_id) AND (c.endpoint = d.endpoint))))) AND (NOT (EXISTS ( SELECT
           FROM postrider.attempt a
          WHERE ((a.outbox_id = d.outbox_id) AND (a.endpoint = d.endpoint) AND (a.outcome = 1)))))))
UNION ALL
 SELECT o.id AS outbox_id,
    o.at AS outbox_at,
    o.class,
    o.merchant_id,
    o.order_no,
    o.event,
    o.version,
    o.notify_id,
    o.notify_url,
    c.endpoint,
    'cancelled'::text AS status,
    NULL::text AS phase,
    0 AS tried_before,
    NULL::timestamp with time zone AS next_at,
    c.at AS ended_at,
    c.reason
   FROM (postrider.cancelled c
     JOIN postrider.notification o ON (((o.id = c.outbox_id) AND (o.at = c.outbox_at))))
UNION ALL
 SELECT o.id AS outbox_id,
    o.at AS outbox_at,
    o.class,
    o.merchant_id,
    o.order_no,
    o.event,
    o.version,
    o.notify_id,
    o.notify_url,
    a.endpoint,
    'delivered'::text AS status,
    NULL::text AS phase,
    0 AS tried_before,
    NULL::timestamp with time zone AS next_at,
    a.at AS ended_at,
    NULL::text AS reason
   FROM ((postrider.attempt a
     JOIN postrider.notification o ON ((o.id = a.outbox_id)))
     JOIN postrider.endpoint e ON (((e.id = a.endpoint) AND (e.merchant_id = o.merchant_id))))
  WHERE ((a.outcome = 1) AND (NOT (EXISTS ( SELECT
           FROM postrider.attempt b
          WHERE ((b.endpoint = a.endpoint) AND (b.outbox_id = a.outbox_id) AND (b.outcome = 1) AND (b.try < a.try))))));

ALTER TABLE postrider.delivery OWNER TO postrider_owner;

--
-- Name: setting; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.setting (
    key text NOT NULL,
    value text NOT NULL
);

ALTER TABLE postrider.setting OWNER TO postrider_owner;

--
-- Name: notification_status; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.notification_status AS
 SELECT d.notify_id,
    d.endpoint AS endpoint_id,
    d.merchant_id,
    d.order_no,
    d.event,
    (d.class)::integer AS priority,
    d.status,
        CASE
            WHEN ((d.status = 'pending'::text) AND ((e.state = 'disabled'::text) OR (e.forced = 'open'::text) OR (e.paused_until > now()) OR ((e.forced IS NULL) AND (EXISTS ( SELECT
               FROM postrider.breaker_open b
              WHERE ((b.endpoint = d.endpoint) AND (b.until > now()))))))) THEN 'held'::text
            ELSE d.phase
        END AS phase,
    COALESCE(d.notify_url, e.url) AS notify_url,
    COALESCE((l.try)::integer, 0) AS attempts,
    GREATEST(COALESCE((l.try)::integer, 0), ((d.tried_before + r.retries) + 1)) AS max_attempts,
    GREATEST((COALESCE((l.try)::integer, 0) - 1), 0) AS retry_count,
    r.retries AS max_retry,
    d.next_at AS next_attempt_at,
    (NULLIF(l.code, 0))::integer AS last_http_code,
    l.error AS last_error,
    postrider.response_text(l.outcome, l.response) AS last_response,
    d.version,
    d.outbox_at AS created_at,
    GREATEST(d.outbox_at, l.at, d.ended_at) AS updated_at,
        CASE
            WHEN (d.status = 'delivered'::text) THEN d.ended_at
            ELSE NULL::timestamp with time zone
        END AS delivered_at,
    d.reason
   FROM (((postrider.delivery d
     LEFT JOIN postrider.endpoint e ON ((e.id = d.endpoint)))
     LEFT JOIN LATERAL ( SELECT a.try,
            a.outcome,
            a.code,
            a.error,
            a.response,
            a.at
           FROM postrider.attempt a
          WHERE ((a.endpoint = d.endpoint) AND (a.outbox_id = d.outbox_id))
          ORDER BY a.try DESC
         LIMIT 1) l ON (true))
     CROSS JOIN LATERAL ( SELECT COALESCE(postrider.retry_count(COALESCE(NULLIF(e.retry, ''::text), ( SELECT s.value
                   FROM postrider.setting s
                  WHERE (s.key = 'retry.notification'::text)))), 8) AS retries) r);

ALTER TABLE postrider.notification_status OWNER TO postrider_owner;

--
-- Name: VIEW notification_status; Type: COMMENT; Schema: postrider; Owner: postrider_owner
--

COMMENT ON VIEW postrider.notification_status IS 'One row per delivery. status: pending, delivered, dead, cancelled. A try under way shows as new or retrying.';

--
-- Name: notification_json(postrider.notification_status); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.notification_json(n postrider.notification_status) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT to_jsonb(n) || jsonb_build_object('next_attempt_at', postrider.json_time(n.next_attempt_at), 'created_at', postrider.json_time(n.created_at),
        'updated_at', postrider.json_time(n.updated_at), 'delivered_at', postrider.json_time(n.delivered_at))
$$;

ALTER FUNCTION postrider.notification_json(n postrider.notification_status) OWNER TO postrider_owner;

--
-- Name: notification_livemode(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.notification_livemode(id uuid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT coalesce((convert_from(x.body, 'UTF8')::jsonb ->> 'livemode')::boolean, true)
    FROM (SELECT o.body FROM postrider.outbox AS o WHERE o.notify_id = $1 AND o.kind = 0
          UNION ALL SELECT k.body FROM postrider.outbox_kept AS k WHERE k.notify_id = $1 AND k.kind = 0 LIMIT 1) AS x
$_$;

ALTER FUNCTION postrider.notification_livemode(id uuid) OWNER TO postrider_owner;

--
-- Name: notification_resend(postrider.http_key, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.notification_resend(k postrider.http_key, notify_id text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.notification_resend(k postrider.http_key, notify_id text) OWNER TO postrider_owner;

--
-- Name: notification_show(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.notification_show(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
DECLARE
    o record;
    one uuid;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'notify_id');
    one := CASE WHEN a ->> 'notify_id' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN (a ->> 'notify_id')::uuid END;
    SELECT x.* INTO o FROM (SELECT y.* FROM postrider.outbox AS y WHERE y.notify_id = one AND y.kind = 0
                            UNION ALL SELECT y.* FROM postrider.outbox_kept AS y WHERE y.notify_id = one AND y.kind = 0) AS x ORDER BY x.id LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'there is no such notification', HINT = 'notify_id is a UUID.';
    END IF;
    RETURN jsonb_build_object('notification', jsonb_build_object('notify_id', o.notify_id, 'merchant_id', o.merchant_id, 'order_no', o.order_no, 'event', o.event,
            'status', o.status, 'version', o.version, 'priority', o.class, 'notify_url', o.notify_url, 'created_at', postrider.json_time(o.at)),
        'body', postrider.bytes_json(o.body),
        'deliveries', coalesce((SELECT jsonb_agg(postrider.notification_json(n) ORDER BY n.endpoint_id) FROM postrider.notification_status AS n WHERE n.notify_id = one), '[]'),
        'attempts', coalesce((SELECT jsonb_agg(jsonb_build_object('attempt', t.attempt, 'endpoint_id', t.endpoint_id, 'started_at', postrider.json_time(t.started_at),
            'duration_ms', t.duration_ms, 'outcome', t.outcome, 'http_code', t.http_code, 'error', t.error, 'response', t.response, 'worker', t.worker,
            'next_attempt_at', postrider.json_time(t.next_attempt_at)) ORDER BY t.started_at, t.attempt)
            FROM (SELECT x.* FROM postrider.notification_attempts AS x WHERE x.notify_id = one LIMIT 500) AS t), '[]'));
END $_$;

ALTER FUNCTION postrider.notification_show(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: notifications_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.notifications_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    upto bigint := postrider.list_before(a);
    m CONSTANT text := a ->> 'merchant_id';
    one_order CONSTANT text := a ->> 'order_no';
    wanted CONSTANT text := a ->> 'status';
    endpoint CONSTANT bigint := CASE WHEN a ->> 'endpoint_id' IS NOT NULL THEN postrider.arg_id(a, 'endpoint_id') END;
    -- how many may be looked at in vain: cheap looks at the notification, dear ones at its deliveries
    looks CONSTANT int := CASE WHEN m IS NOT NULL OR a ->> 'event' IS NOT NULL THEN 20000 ELSE most + 1000 END;
    dear CONSTANT int := most + 500;
    c refcursor;
    o record;
    seen int := 0;
    dressed int := 0;
    given int := 0;
    told jsonb;
    items jsonb[] := ARRAY[]::jsonb[];
    next bigint;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'merchant_id', 'order_no', 'event', 'status', 'endpoint_id', 'limit', 'after');
    IF wanted NOT IN ('pending', 'delivered', 'dead', 'cancelled') OR (one_order IS NOT NULL AND m IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'status is not pending, delivered, dead or cancelled, or order_no is without merchant_id',
            HINT = 'An order number is a merchant''s; search finds it among all.';
    ELSIF one_order IS NOT NULL THEN
        OPEN c FOR SELECT x.id, x.merchant_id, x.event, x.notify_id, x.kind FROM postrider.notification AS x
        WHERE x.merchant_id = m AND x.order_no = one_order AND x.kind = 0 AND x.id < upto ORDER BY x.id DESC LIMIT 1000;
    ELSIF wanted IN ('pending', 'dead', 'cancelled') THEN      -- one row a delivery, at most 100 to a notification
        IF wanted = 'pending' THEN
            OPEN c FOR SELECT b.* FROM (SELECT x.outbox_id, x.outbox_at FROM postrider.job AS x WHERE x.outbox_id < upto ORDER BY x.outbox_id DESC LIMIT 100 * (looks + 1)) AS j
            CROSS JOIN LATERAL (SELECT x.id, x.merchant_id, x.event, x.notify_id, x.kind FROM postrider.outbox AS x WHERE x.at = j.outbox_at AND x.id = j.outbox_id
                UNION ALL SELECT x.id, x.merchant_id, x.event, x.notify_id, x.kind FROM postrider.outbox_kept AS x WHERE x.id = j.outbox_id LIMIT 1) AS b ORDER BY j.outbox_id DESC;
        ELSIF wanted = 'dead' THEN
            OPEN c FOR SELECT b.* FROM (SELECT x.outbox_id, x.outbox_at FROM postrider.dead AS x WHERE x.outbox_id < upto ORDER BY x.outbox_id DESC LIMIT 100 * (looks + 1)) AS j
            CROSS JOIN LATERAL (SELECT x.id, x.merchant_id, x.event, x.notify_id, x.kind FROM postrider.outbox AS x WHERE x.at = j.outbox_at AND x.id = j.outbox_id
                UNION ALL SELECT x.id, x.merchant_id, x.event, x.notify_id, x.kind FROM postrider.outbox_kept AS x WHERE x.id = j.outbox_id LIMIT 1) AS b ORDER BY j.outbox_id DESC;
        ELSE
            OPEN c FOR SELECT b.* FROM (SELECT x.outbox_id, x.outbox_at FROM postrider.cancelled AS x WHERE x.outbox_id < upto ORDER BY x.outbox_id DESC LIMIT 100 * (looks + 1)) AS j
            CROSS JOIN LATERAL (SELECT x.id, x.merchant_id, x.event, x.notify_id, x.kind FROM postrider.outbox AS x WHERE x.at = j.outbox_at AND x.id = j.outbox_id
                UNION ALL SELECT x.id, x.merchant_id, x.event, x.notify_id, x.kind FROM postrider.outbox_kept AS x WHERE x.id = j.outbox_id LIMIT 1) AS b ORDER BY j.outbox_id DESC;
        END IF;
    ELSIF m IS NOT NULL AND (SELECT count(*) FROM (SELECT FROM postrider.outbox AS x WHERE x.merchant_id = m LIMIT 5001) AS few) <= 5000 THEN
        OPEN c FOR SELECT x.id, x.merchant_id, x.event, x.notify_id, x.kind FROM postrider.outbox AS x
        WHERE x.merchant_id = m AND x.id < upto ORDER BY x.id DESC LIMIT looks + 1;
    ELSE
        -- what is not meant is left out before it gets here; of kind -1: far enough
        OPEN c FOR SELECT y.id, y.merchant_id, y.event, y.notify_id, CASE WHEN y.no > looks THEN -1::smallint ELSE y.kind END AS kind
        FROM (SELECT x.*, row_number() OVER () AS no FROM (SELECT z.id, z.merchant_id, z.event, z.notify_id, z.kind FROM postrider.outbox AS z
                                                           WHERE z.id < upto ORDER BY z.id DESC LIMIT looks + 1) AS x) AS y
        WHERE y.no > looks OR (y.kind = 0 AND (m IS NULL OR y.merchant_id = m) AND (a ->> 'event' IS NULL OR y.event = a ->> 'event'));
    END IF;
    LOOP
        FETCH c INTO o;
        EXIT WHEN NOT FOUND;
        IF o.kind = -1 THEN
            next := o.id + 1;
            EXIT;
        END IF;
        IF seen >= looks OR dressed >= dear OR given >= most THEN
            next := upto;
            EXIT;
        END IF;
        CONTINUE WHEN o.id = upto;
        seen := seen + 1;
        IF o.kind = 0 AND (m IS NULL OR o.merchant_id = m) AND (a ->> 'event' IS NULL OR o.event = a ->> 'event') THEN
            dressed := dressed + 1;
            told := postrider.notification_deliveries(o.notify_id, wanted, endpoint);
            IF told IS NOT NULL THEN
                items := items || ARRAY(SELECT f.value FROM jsonb_array_elements(told) AS f);
                given := given + 1;
            END IF;
        END IF;
        upto := o.id;
    END LOOP;
    CLOSE c;
    RETURN postrider.list_json(items, next::text);
END $$;

ALTER FUNCTION postrider.notifications_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: notify_endpoint_id(text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.notify_endpoint_id(merchant_id text, origin text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT -greatest(1, (('x' || encode(substr(sha256(convert_to(merchant_id || E'\x1f' || origin, 'UTF8')), 1, 8), 'hex'))
                         ::bit(64) >> 1)::bigint)
$$;

ALTER FUNCTION postrider.notify_endpoint_id(merchant_id text, origin text) OWNER TO postrider_owner;

--
-- Name: observe_heartbeats(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.observe_heartbeats(self uuid) RETURNS TABLE(id uuid, beat bigint, address text, connected boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT s.id, h.beat, s.address, postrider.session_connected(s.lock_key, s.pid)
    FROM postrider.session AS s JOIN postrider.heartbeat AS h ON h.session = s.id
    WHERE s.ended IS NULL AND s.id IS DISTINCT FROM $1
    ORDER BY s.id
$_$;

ALTER FUNCTION postrider.observe_heartbeats(self uuid) OWNER TO postrider_owner;

--
-- Name: open_session(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.open_session(address text, OUT id uuid, OUT lock_key bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
BEGIN
    id := gen_random_uuid();
    lock_key := ('x' || left(id::text, 8) || right(id::text, 8))::bit(64)::bigint;
    PERFORM pg_advisory_lock(lock_key);
    INSERT INTO postrider.session (id, lock_key, pid, address) VALUES (id, lock_key, pg_backend_pid(), coalesce(address, ''));
    INSERT INTO postrider.heartbeat (session, beat, low)
    VALUES (id, 0, ARRAY[0, 1::bigint << 56, 2::bigint << 56]);
END $$;

ALTER FUNCTION postrider.open_session(address text, OUT id uuid, OUT lock_key bigint) OWNER TO postrider_owner;

--
-- Name: operator_add(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_add(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'role', 'password_hash');
    o.name := postrider.arg_text(a, 'name', 64, true);
    o.role := postrider.operator_role(a ->> 'role');
    o.password := postrider.arg_text(a, 'password_hash', 128);
    IF o.name !~ '^[a-z0-9][a-z0-9._@-]{0,63}$' OR o.password !~ '^[$]argon2id[$]' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'name is not 1 to 64 of a-z 0-9 . _ @ -, or password_hash is not argon2id''s',
            HINT = 'A name begins with a letter or digit.';
    END IF;
    LOCK TABLE postrider.operator IN SHARE ROW EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM postrider.operator) AND o.role <> 'admin' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'the first operator is an admin', HINT = 'Add an admin; the admin adds the others.';
    ELSIF EXISTS (SELECT FROM postrider.operator AS x WHERE x.name = o.name) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('operator %s is there already', o.name), HINT = 'Names are never given away again.';
    END IF;
    PERFORM postrider.audit_add(who, 'operator.add', o.name, NULL, jsonb_build_object('role', o.role));   -- before the row: whoever adds must be one already
    INSERT INTO postrider.operator (name, role, password, password_at) VALUES (o.name, o.role, o.password, CASE WHEN o.password IS NOT NULL THEN now() END)
    RETURNING * INTO o;
    RETURN postrider.operator_json(o);
END $_$;

ALTER FUNCTION postrider.operator_add(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: operator_admins(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_admins() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.operator AS o WHERE o.role = 'admin' AND o.disabled_at IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'that would leave no admin', HINT = 'Add or enable another admin first.';
    END IF;
END $$;

ALTER FUNCTION postrider.operator_admins() OWNER TO postrider_owner;

--
-- Name: operator_any(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_any() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT EXISTS (SELECT FROM postrider.operator)
$$;

ALTER FUNCTION postrider.operator_any() OWNER TO postrider_owner;

--
-- Name: operator_disable(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_disable(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'reason');
    o := postrider.operator_locked(a ->> 'name');
    IF o.disabled_at IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('operator %s is disabled already', o.name), HINT = 'Nothing is to be done.';
    END IF;
    PERFORM postrider.audit_add(who, 'operator.disable', o.name, postrider.arg_text(a, 'reason', 500, true), jsonb_build_object('role', o.role));
    UPDATE postrider.operator AS x SET disabled_at = now(), disabled_reason = a ->> 'reason' WHERE x.name = o.name RETURNING x.* INTO o;
    PERFORM postrider.operator_admins();
    PERFORM postrider.sessions_end(o.name, 'disabled', NULL);
    RETURN postrider.operator_json(o);
END $$;

ALTER FUNCTION postrider.operator_disable(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: operator_enable(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_enable(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'reason');
    o := postrider.operator_locked(a ->> 'name');
    IF o.disabled_at IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('operator %s is not disabled', o.name), HINT = 'Nothing is to be done.';
    END IF;
    PERFORM postrider.audit_add(who, 'operator.enable', o.name, postrider.arg_text(a, 'reason', 500, true), jsonb_build_object('role', o.role));
    UPDATE postrider.operator AS x SET disabled_at = NULL, disabled_reason = NULL WHERE x.name = o.name RETURNING x.* INTO o;
    RETURN postrider.operator_json(o);
END $$;

ALTER FUNCTION postrider.operator_enable(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: operator; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.operator (
    name text NOT NULL,
    role text NOT NULL,
    password text,
    password_at timestamp with time zone,
    totp bytea,
    totp_at timestamp with time zone,
    totp_step bigint DEFAULT '-1'::integer NOT NULL,
    disabled_at timestamp with time zone,
    disabled_reason text,
    last_login_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT operator_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9._@-]{0,63}$'::text)),
    CONSTRAINT operator_password_check CHECK (((password ~ '^[$]argon2id[$]'::text) AND (length(password) <= 128))),
    CONSTRAINT operator_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'approver'::text, 'admin'::text]))),
    CONSTRAINT operator_totp_check CHECK (((octet_length(totp) >= 31) AND (octet_length(totp) <= 128)))
);

ALTER TABLE postrider.operator OWNER TO postrider_owner;

--
-- Name: operator_json(postrider.operator); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_json(o postrider.operator) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT jsonb_build_object('name', o.name, 'role', o.role, 'disabled', o.disabled_at IS NOT NULL, 'disabled_reason', o.disabled_reason,
        'password_set', o.password IS NOT NULL, 'password_at', postrider.json_time(o.password_at), 'second_factor', o.totp IS NOT NULL, 'last_login_at', postrider.json_time(o.last_login_at),
        'created_at', postrider.json_time(o.created_at))
$$;

ALTER FUNCTION postrider.operator_json(o postrider.operator) OWNER TO postrider_owner;

--
-- Name: operator_locked(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_locked(name text) RETURNS postrider.operator
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    o postrider.operator;
BEGIN
    LOCK TABLE postrider.operator IN SHARE ROW EXCLUSIVE MODE;
    SELECT x.* INTO o FROM postrider.operator AS x WHERE x.name = $1;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no operator %L', left(name, 80)), HINT = 'postrider operator list shows them.';
    END IF;
    RETURN o;
END $_$;

ALTER FUNCTION postrider.operator_locked(name text) OWNER TO postrider_owner;

--
-- Name: operator_login_begin(text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_login_begin(name text, address text) RETURNS TABLE(allowed boolean, retry_after_s integer, password_hash text, role text, totp bytea, totp_step bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
#variable_conflict use_column
DECLARE
    who CONSTANT text := left(coalesce($1, ''), 64);
BEGIN
    retry_after_s := greatest(postrider.login_count('address ' || coalesce($2, ''), 50), postrider.login_count('name ' || who, 25),
                              postrider.login_count('both ' || who || ' ' || coalesce($2, ''), 5));
    allowed := retry_after_s IS NULL;
    IF allowed THEN
        SELECT o.password, o.role, o.totp, o.totp_step INTO password_hash, role, totp, totp_step FROM postrider.operator AS o WHERE o.name = who AND o.disabled_at IS NULL;
    END IF;
    RETURN NEXT;
END $_$;

ALTER FUNCTION postrider.operator_login_begin(name text, address text) OWNER TO postrider_owner;

--
-- Name: operator_login_end(text, text, boolean, bytea, text, integer, integer, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_login_end(name text, address text, ok boolean, session_hash bytea, user_agent text, idle_s integer, absolute_s integer, step bigint DEFAULT NULL::bigint) RETURNS TABLE(operator text, role text, expires_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
#variable_conflict use_column
DECLARE
    o postrider.operator;
BEGIN
    SELECT x.* INTO o FROM postrider.operator AS x WHERE x.name = $1 AND x.disabled_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND OR ok IS NOT TRUE OR o.password IS NULL OR (o.totp IS NOT NULL AND coalesce(step, -1) <= o.totp_step) THEN
        INSERT INTO postrider.audit (actor, action, subject, detail)
        VALUES (coalesce(nullif(left($1, 128), ''), '?'), 'operator.login_failed', coalesce(left($1, 64), ''), jsonb_build_object('address', left($2, 64)));
        RETURN;
    END IF;
    UPDATE postrider.operator AS x SET last_login_at = now(), totp_step = coalesce(step, x.totp_step) WHERE x.name = o.name;
    DELETE FROM postrider.login_try AS l WHERE l.key = left('both ' || o.name || ' ' || coalesce($2, ''), 200) OR l.key = 'name ' || o.name;
    INSERT INTO postrider.operator_session AS s (hash, operator, address, agent, idle, expires_at)
    VALUES ($4, o.name, left(coalesce($2, ''), 64), left(coalesce($5, ''), 200), $6 * interval '1 s', now() + $7 * interval '1 s')
    RETURNING s.operator, o.role, s.expires_at INTO operator, role, expires_at;
    PERFORM postrider.audit_add(o.name, 'operator.login', o.name, NULL, jsonb_build_object('address', left($2, 64)));
    RETURN NEXT;
END $_$;

ALTER FUNCTION postrider.operator_login_end(name text, address text, ok boolean, session_hash bytea, user_agent text, idle_s integer, absolute_s integer, step bigint) OWNER TO postrider_owner;

--
-- Name: operator_password(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_password(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'password_hash', 'session');
    o := postrider.operator_locked(a ->> 'name');
    IF who IS DISTINCT FROM o.name THEN
        PERFORM postrider.person_check(who, 'operator.set');
    END IF;
    IF (a ->> 'password_hash' ~ '^[$]argon2id[$]' AND length(a ->> 'password_hash') <= 128) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'password_hash is not argon2id''s', HINT = 'postrider operator password makes it.';
    END IF;
    PERFORM postrider.audit_add(who, 'operator.password', o.name, NULL, '{}');
    UPDATE postrider.operator AS x SET password = a ->> 'password_hash', password_at = now() WHERE x.name = o.name RETURNING x.* INTO o;
    PERFORM postrider.sessions_end(o.name, 'password changed', decode(a ->> 'session', 'hex'));
    RETURN postrider.operator_json(o);
END $_$;

ALTER FUNCTION postrider.operator_password(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: operator_role(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_role(role text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF postrider.role_rank(role) IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'role is not viewer, operator, approver or admin', HINT = 'docs/people.md says what each may.';
    END IF;
    RETURN role;
END $$;

ALTER FUNCTION postrider.operator_role(role text) OWNER TO postrider_owner;

--
-- Name: operator_secret(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_secret(name text) RETURNS TABLE(password text, role text, disabled boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT o.password, o.role, o.disabled_at IS NOT NULL FROM postrider.operator AS o WHERE o.name = $1
$_$;

ALTER FUNCTION postrider.operator_secret(name text) OWNER TO postrider_owner;

--
-- Name: operator_session_check(bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_session_check(hash bytea) RETURNS TABLE(operator text, role text, expires_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    seen timestamptz;
BEGIN
    SELECT s.operator, o.role, s.expires_at, s.seen_at INTO operator, role, expires_at, seen
    FROM postrider.operator_session AS s JOIN postrider.operator AS o ON o.name = s.operator
    WHERE s.hash = $1 AND s.ended_at IS NULL AND s.expires_at > clock_timestamp() AND s.seen_at + s.idle > clock_timestamp() AND o.disabled_at IS NULL;
    IF FOUND THEN
        IF seen < clock_timestamp() - interval '1 min' THEN
            UPDATE postrider.operator_session AS s SET seen_at = clock_timestamp() WHERE s.hash = $1;
        END IF;
        RETURN NEXT;
    END IF;
END $_$;

ALTER FUNCTION postrider.operator_session_check(hash bytea) OWNER TO postrider_owner;

--
-- Name: operator_session_end(bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_session_end(hash bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
BEGIN
    UPDATE postrider.operator_session AS s SET ended_at = now(), ended_why = 'logged out' WHERE s.hash = $1 AND s.ended_at IS NULL;
    RETURN FOUND;
END $_$;

ALTER FUNCTION postrider.operator_session_end(hash bytea) OWNER TO postrider_owner;

--
-- Name: operator_set(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_set(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'role', 'reason');
    o := postrider.operator_locked(a ->> 'name');
    PERFORM postrider.audit_add(who, 'operator.set', o.name, postrider.arg_text(a, 'reason', 500, true),
        jsonb_build_object('was', o.role, 'role', postrider.operator_role(a ->> 'role')));
    UPDATE postrider.operator AS x SET role = a ->> 'role' WHERE x.name = o.name RETURNING x.* INTO o;
    PERFORM postrider.operator_admins();
    RETURN postrider.operator_json(o);
END $$;

ALTER FUNCTION postrider.operator_set(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: operator_token_check(bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_token_check(hash bytea) RETURNS TABLE(operator text, role text, token_id bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
#variable_conflict use_column
BEGIN
    SELECT t.operator, CASE WHEN postrider.role_rank(t.role) < postrider.role_rank(o.role) THEN t.role ELSE o.role END, t.id INTO operator, role, token_id
    FROM postrider.operator_token AS t JOIN postrider.operator AS o ON o.name = t.operator
    WHERE t.hash = $1 AND t.revoked_at IS NULL AND t.expires_at > clock_timestamp() AND o.disabled_at IS NULL;
    IF FOUND THEN
        UPDATE postrider.operator_token AS t SET used_at = clock_timestamp()
        WHERE t.id = token_id AND (t.used_at IS NULL OR t.used_at < clock_timestamp() - interval '1 min');
        RETURN NEXT;
    END IF;
END $_$;

ALTER FUNCTION postrider.operator_token_check(hash bytea) OWNER TO postrider_owner;

--
-- Name: operator_totp(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operator_totp(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    o postrider.operator;
BEGIN
    PERFORM postrider.args_check(a, 'name', 'totp', 'reason');
    o := postrider.operator_locked(a ->> 'name');
    PERFORM postrider.audit_add(who, 'operator.totp', o.name, postrider.arg_text(a, 'reason', 500, true), jsonb_build_object('second_factor', a ->> 'totp' IS NOT NULL));
    UPDATE postrider.operator AS x SET totp = decode(a ->> 'totp', 'hex'), totp_at = now(), totp_step = -1 WHERE x.name = o.name RETURNING x.* INTO o;
    PERFORM postrider.sessions_end(o.name, 'second factor changed', NULL);
    RETURN postrider.operator_json(o);
END $$;

ALTER FUNCTION postrider.operator_totp(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: operators_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.operators_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN jsonb_build_object('next', NULL, 'items', coalesce((SELECT jsonb_agg(postrider.operator_json(o) ORDER BY o.name) FROM postrider.operator AS o), '[]'));
END $$;

ALTER FUNCTION postrider.operators_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: order_of_mode(text, text, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.order_of_mode(merchant_id text, order_no text, livemode boolean) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT w.told || jsonb_build_object(
        'payments', coalesce((SELECT jsonb_agg(x.v ORDER BY x.at) FROM jsonb_array_elements(w.told -> 'payments') WITH ORDINALITY AS x (v, at)
                              WHERE (x.v ->> 'livemode')::boolean = $3), '[]'),
        'refunds', coalesce((SELECT jsonb_agg(x.v ORDER BY x.at) FROM jsonb_array_elements(w.told -> 'refunds') WITH ORDINALITY AS x (v, at)
                             WHERE (SELECT p.livemode FROM postrider.payment AS p WHERE p.id = (x.v ->> 'payment_id')::bigint) = $3), '[]'),
        'notifications', coalesce((SELECT jsonb_agg(x.v ORDER BY x.at) FROM jsonb_array_elements(w.told -> 'notifications') WITH ORDINALITY AS x (v, at)
                                   WHERE postrider.notification_livemode((x.v ->> 'notify_id')::uuid) = $3), '[]'))
    FROM (SELECT postrider.merchant_order($1, $2) AS told) AS w
$_$;

ALTER FUNCTION postrider.order_of_mode(merchant_id text, order_no text, livemode boolean) OWNER TO postrider_owner;

--
-- Name: order_refuse(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.order_refuse(order_no text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'PR005', MESSAGE = format('another payment of order %L is open or succeeded', order_no),
        HINT = 'Wait until it has failed or is cancelled (cancel_payment); order_policy many allows several at once.';
END $$;

ALTER FUNCTION postrider.order_refuse(order_no text) OWNER TO postrider_owner;

--
-- Name: order_show(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.order_show(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $_$
DECLARE
    m CONSTANT text := postrider.arg_text(a, 'merchant_id', 64, true);
    o CONSTANT text := postrider.arg_text(a, 'order_no', 64, true);
    payments CONSTANT bigint[] := ARRAY(SELECT p.id FROM postrider.payment AS p WHERE p.merchant_id = m AND p.order_no = o ORDER BY p.id LIMIT 300);
    entries jsonb;
    most CONSTANT int := 300;
    cut boolean;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'merchant_id', 'order_no');
    SELECT jsonb_agg(jsonb_build_object('at', postrider.json_time(e.at), 'kind', e.kind, 'title', e.title, 'who', e.who, 'payment_id', e.payment_id, 'notify_id', e.notify_id,
               'request', e.request, 'response', e.response, 'detail', e.detail) ORDER BY e.at, e.kind), coalesce(max(e.many), 0) >= most
    INTO entries, cut
    FROM (
        SELECT p.created_at AS at, 'payment.created' AS kind, p.channel || ' ' || p.amount_minor || ' ' || p.currency AS title, NULL::text AS who, p.id AS payment_id,
               NULL::uuid AS notify_id, CASE WHEN p.request_no IS NOT NULL THEN jsonb_build_object('body', p.request, 'request_no', p.request_no) END AS request,
               NULL::jsonb AS response, jsonb_build_object('app_ref', p.app_ref, 'gateway_reference', p.gateway_reference, 'channel', p.channel) AS detail, 0::bigint AS many
        FROM postrider.payment AS p WHERE p.id = ANY (payments)
        UNION ALL
        SELECT h.at, 'payment.evidence', h.source || ': ' || h.verdict, CASE WHEN h.source = 'person' THEN h.evidence ->> 'by' END, h.payment_id, NULL, NULL, NULL,
               jsonb_build_object('from', h.from_state, 'to', h.to_state, 'refund_id', h.refund_id, 'event_id', h.event_id, 'evidence', h.evidence), h.many
        FROM unnest(payments) AS p (id) CROSS JOIN LATERAL (
            SELECT y.*, row_number() OVER () AS many FROM (SELECT x.* FROM postrider.payment_history AS x WHERE x.payment_id = p.id ORDER BY x.id DESC LIMIT most) AS y) AS h
        UNION ALL
        SELECT coalesce(l.dispatched_at, l.at), 'call.' || l.operation, coalesce(l.status, l.transport) || coalesce(': ' || l.verdict, ''), NULL, l.payment_id, NULL,
               jsonb_build_object('operation', l.operation, 'attempt', l.attempt, 'refund_id', l.refund_id) || coalesce(x.said -> 'request', '{}'),
               coalesce(x.said -> 'response', '{}')
                   || jsonb_build_object('status', l.http_status, 'duration_ms', l.duration_ms, 'error', nullif(l.transport, 'ok'), 'said', l.status, 'reason', l.reason),
               jsonb_build_object('action', l.action, 'verdict', l.verdict, 'next', l.next, 'recorded_at', postrider.json_time(l.at)), l.many
        FROM unnest(payments) AS p (id) CROSS JOIN LATERAL (
            SELECT y.*, row_number() OVER () AS many FROM (SELECT x.* FROM postrider.call_log AS x WHERE x.payment_id = p.id ORDER BY x.id DESC LIMIT most) AS y) AS l
        CROSS JOIN LATERAL (SELECT CASE WHEN l.many <= 100 THEN postrider.exchange_json(l.payment_id, l.id) END AS said) AS x
        UNION ALL
        SELECT w.received_at, 'webhook.' || w.state, coalesce(nullif(w.result, ''), w.verdict), NULL, w.payment_id, NULL,
               jsonb_build_object('method', w.method, 'query', w.query, 'headers', w.headers, 'body', postrider.bytes_json(w.body)), NULL,
               jsonb_build_object('webhook_id', w.id, 'verdict', w.verdict, 'reason', w.reason, 'tries', w.tries), w.many
        FROM unnest(payments) AS p (id) CROSS JOIN LATERAL (
            SELECT y.*, row_number() OVER () AS many FROM (SELECT x.* FROM postrider.webhook AS x WHERE x.payment_id = p.id ORDER BY x.id DESC LIMIT most) AS y) AS w
        UNION ALL
        SELECT n.at, 'notification.enqueued', n.event, NULL, NULL, n.notify_id, jsonb_build_object('method', 'POST', 'url', n.notify_url, 'body', postrider.bytes_json(n.body)),
               NULL, jsonb_build_object('version', n.version, 'priority', n.class, 'status', n.status), n.many
        FROM (SELECT y.*, row_number() OVER () AS many FROM (
                SELECT x.* FROM postrider.outbox AS x WHERE x.merchant_id = m AND x.order_no = o AND x.kind = 0
                UNION ALL SELECT x.* FROM postrider.outbox_kept AS x WHERE x.merchant_id = m AND x.order_no = o AND x.kind = 0) AS y LIMIT most) AS n
        UNION ALL
        SELECT t.started_at, 'notification.attempt', t.outcome || coalesce(' ' || t.http_code, ''), NULL, NULL, t.notify_id,
               jsonb_build_object('method', 'POST', 'url', e.url, 'endpoint_id', t.endpoint_id),
               jsonb_build_object('status', t.http_code, 'duration_ms', t.duration_ms, 'error', t.error, 'body', t.response),
               jsonb_build_object('attempt', t.attempt, 'worker', t.worker, 'next_attempt_at', postrider.json_time(t.next_attempt_at)), t.many
        FROM (SELECT x.*, row_number() OVER () AS many FROM postrider.notification_attempts AS x WHERE x.merchant_id = m AND x.order_no = o LIMIT most) AS t
        LEFT JOIN LATERAL (SELECT x.url FROM postrider.endpoint AS x WHERE x.id = t.endpoint_id) AS e ON true
        UNION ALL
        SELECT x.at, x.kind, x.detail ->> 'reason', x.detail ->> 'by', NULL, (x.detail ->> 'notify_id')::uuid, NULL, NULL, x.detail, 0
        FROM postrider.notification_timeline AS x
        WHERE x.merchant_id = m AND x.order_no = o AND x.kind NOT IN ('notification.enqueued', 'notification.attempt')
        UNION ALL
        SELECT l.at, 'task.' || lower(l.to_state), t.biz_type || ' ' || t.task_no, l.who, t.payment_id, NULL, NULL, NULL,
               jsonb_build_object('task_no', t.task_no, 'from', l.from_state, 'to', l.to_state, 'reason', l.reason, 'detail', l.detail), l.many
        FROM postrider.task AS t CROSS JOIN LATERAL (
            SELECT y.*, row_number() OVER () AS many FROM (SELECT x.* FROM postrider.task_log AS x WHERE x.task_id = t.id ORDER BY x.id DESC LIMIT most) AS y) AS l
        WHERE t.merchant_id = m AND t.order_no = o
        UNION ALL
        SELECT x.at, 'person.' || x.action, x.subject, x.actor, CASE WHEN x.detail ->> 'payment_id' ~ '^[0-9]{1,18}$' THEN (x.detail ->> 'payment_id')::bigint END, NULL, NULL, NULL,
               jsonb_build_object('reason', x.reason, 'login', x.login, 'audit_id', x.id, 'detail', x.detail), x.many
        FROM (SELECT y.*, row_number() OVER () AS many FROM (SELECT z.* FROM postrider.audit AS z WHERE z.merchant_id = m AND z.order_no = o ORDER BY z.id DESC LIMIT most) AS y) AS x
        UNION ALL
        SELECT f.updated_at, 'fulfilment.' || f.state, f.reference, NULL, NULL, NULL, NULL, NULL, jsonb_build_object('reference', f.reference), 0
        FROM postrider.fulfilment AS f WHERE f.merchant_id = m AND f.order_no = o
        UNION ALL
        SELECT d.opened_at, 'difference.' || d.class, d.reason, NULL, d.payment_id, NULL, NULL, NULL,
               jsonb_build_object('difference_id', d.id, 'state', d.state, 'theirs', d.theirs, 'ours', d.ours, 'task_no', d.task_no, 'conclusion', d.conclusion), 0
        FROM postrider.recon_difference AS d WHERE d.merchant_id = m AND d.order_no = o) AS e;
    IF entries IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'nothing is known of this order', HINT = 'search looks at all merchants.';
    END IF;
    RETURN jsonb_build_object('merchant_id', m, 'order_no', o, 'timeline', entries, 'truncated', cut,
        'payments', coalesce((SELECT jsonb_agg(postrider.payment_json(p) ORDER BY p.id) FROM postrider.payment AS p WHERE p.id = ANY (payments)), '[]'),
        'refunds', coalesce((SELECT jsonb_agg(postrider.refund_json(r) ORDER BY r.id) FROM postrider.refund AS r WHERE r.payment_id = ANY (payments)), '[]'),
        'tasks', coalesce((SELECT jsonb_agg(postrider.task_json(t) ORDER BY t.id) FROM postrider.task AS t WHERE t.merchant_id = m AND t.order_no = o), '[]'),
        'approvals', coalesce((SELECT jsonb_agg(postrider.approval_json(r) ORDER BY r.id) FROM postrider.approval AS r WHERE r.payment_id = ANY (payments)), '[]'),
        'fulfilment', (SELECT jsonb_build_object('state', f.state, 'reference', f.reference, 'at', postrider.json_time(f.updated_at)) FROM postrider.fulfilment AS f
                       WHERE f.merchant_id = m AND f.order_no = o));
END $_$;

ALTER FUNCTION postrider.order_show(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: outcome_answer(postrider.channel, postrider.payment, postrider.call, text, jsonb, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.outcome_answer(c postrider.channel, p postrider.payment, k postrider.call, verdict text, e jsonb, ending boolean) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT CASE
        WHEN verdict LIKE 'held:%' THEN 'held'
        WHEN e ->> 'action' = 'stop_channel' THEN 'stopped'
        WHEN e ->> 'status' = 'PENDING' THEN CASE e ->> 'follow_up' WHEN 'capture' THEN 'approved' ELSE 'unpaid' END
        WHEN e ->> 'status' = 'NOT_FOUND' THEN CASE
            WHEN k.dispatched_at < k.settle_at
              OR ending AND k.dispatched_at < p.created_at + postrider.scaled(c.not_found_grace_ms) THEN 'unsettled'
            WHEN p.request_no IS NOT NULL AND p.gateway_reference IS NULL AND p.next_action IS NULL THEN 'not_found'
            ELSE 'missing' END
        WHEN e ->> 'status' = 'FAILED' THEN CASE e ->> 'action' WHEN 'retry' THEN 'retryable' ELSE 'failure' END
        WHEN e ->> 'action' IN ('retry', 'back_off', 'longer_interval') THEN 'refused'
        ELSE 'unknown' END
$$;

ALTER FUNCTION postrider.outcome_answer(c postrider.channel, p postrider.payment, k postrider.call, verdict text, e jsonb, ending boolean) OWNER TO postrider_owner;

--
-- Name: outcome_delay(postrider.channel, postrider.payment, postrider.call, text, jsonb, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.outcome_delay(c postrider.channel, p postrider.payment, k postrider.call, step text, e jsonb, next_ms bigint) RETURNS interval
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT greatest(interval '0', CASE
        WHEN step IN ('ask', 'charge', 'capture', 'refund', 'close') THEN CASE
            WHEN step = 'charge' AND k.tries >= 3 THEN p.created_at + interval '15 s' - clock_timestamp()   -- R3: at most two while the caller may wait
            ELSE interval '0' END
        WHEN step = 'expire' THEN p.expires_at - clock_timestamp()
        WHEN step = 'webhook' THEN postrider.scaled(greatest(c.settle_ms, 86400000))
        WHEN step = 'settle' THEN greatest(k.settle_at, CASE WHEN p.expires_at <= clock_timestamp() OR k.close_wanted
                                           THEN p.created_at + postrider.scaled(c.not_found_grace_ms) END) - clock_timestamp()
        WHEN d.plan IS NOT NULL AND k.refund_id IS NULL AND p.expires_at > clock_timestamp() THEN least(d.plan, p.expires_at - clock_timestamp())
        WHEN d.plan IS NOT NULL THEN d.plan
        WHEN k.refund_id IS NULL AND p.expires_at > clock_timestamp() THEN p.expires_at - clock_timestamp()
        END,
        coalesce((e ->> 'retry_after_ms')::bigint, 0) * interval '1 ms',
        CASE WHEN e ->> 'action' = 'longer_interval' THEN postrider.scaled((ARRAY[300000, 900000, 1800000])[least(k.failures + 1, 3)]) END)
    FROM (SELECT coalesce(next_ms * interval '1 ms', CASE WHEN k.class = 0 THEN postrider.scaled(c.first_poll_ms) END) AS plan) AS d
    WHERE step IN ('ask', 'charge', 'capture', 'refund', 'close', 'expire', 'webhook', 'settle') OR d.plan IS NOT NULL
       OR k.refund_id IS NULL AND p.expires_at > clock_timestamp()
$$;

ALTER FUNCTION postrider.outcome_delay(c postrider.channel, p postrider.payment, k postrider.call, step text, e jsonb, next_ms bigint) OWNER TO postrider_owner;

--
-- Name: outcome_name(smallint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.outcome_name(outcome smallint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    SELECT CASE $1 WHEN 1 THEN 'delivered' WHEN 2 THEN 'refused' WHEN 3 THEN 'throttled' WHEN 4 THEN 'gone'
                   WHEN 5 THEN 'unreachable' WHEN 6 THEN 'own_fault' WHEN 7 THEN 'returned' ELSE 'unknown' END
$_$;

ALTER FUNCTION postrider.outcome_name(outcome smallint) OWNER TO postrider_owner;

--
-- Name: outcome_step(postrider.channel, postrider.payment, postrider.call, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.outcome_step(c postrider.channel, p postrider.payment, k postrider.call, answer text, step text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT CASE
        WHEN step IN ('charge', 'capture', 'refund') AND k.tries >= c.charge_tries + CASE step WHEN 'capture' THEN 1 ELSE 0 END THEN 'person'
        WHEN step = 'capture' AND NOT 'capture' = ANY (c.operations) THEN 'person'
        WHEN step = 'close' THEN CASE
            WHEN p.on_expiry = 'manual' AND NOT k.close_wanted THEN 'person'
            WHEN 'close' = ANY (c.operations) AND k.closes < 3 THEN 'close'
            WHEN answer IN ('missing', 'not_found') AND c.not_found = 'final' THEN 'cancel'
            ELSE 'person' END
        WHEN step IN ('poll', 'ask', 'ask_later', 'settle') AND NOT CASE WHEN k.refund_id IS NULL THEN 'query' ELSE 'query_refund' END = ANY (c.operations)
            THEN CASE WHEN answer = 'refused' AND k.class = 0 THEN 'again' WHEN k.refund_id IS NULL THEN 'expire'
                      WHEN answer = 'unpaid' THEN 'webhook' ELSE 'person' END
        ELSE step END
$$;

ALTER FUNCTION postrider.outcome_step(c postrider.channel, p postrider.payment, k postrider.call, answer text, step text) OWNER TO postrider_owner;

--
-- Name: overview(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.overview(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    waiting record;
    sample jsonb;
    paid jsonb;
    dead bigint;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    SELECT count(*) AS n, count(j.due) AS retrying, count(*) FILTER (WHERE j.due <= now()) AS overdue, min(j.outbox_at) AS oldest, min(j.due) AS oldest_due INTO waiting
    FROM (SELECT x.due, x.outbox_at FROM postrider.job AS x ORDER BY x.seq LIMIT 10001) AS j;
    SELECT jsonb_build_object('n', count(*), 'seconds', round(extract(epoch FROM max(s.at) - min(s.at))::numeric, 3),
        'enqueued_per_s', round((count(*) / greatest(extract(epoch FROM max(s.at) - min(s.at)), 1))::numeric, 2), 'delivered', count(s.ms),
        'attempts', sum(s.tries), 'success_ratio', round(count(s.ms)::numeric / nullif(sum(s.tries), 0), 4),
        'p50_ms', percentile_cont(0.5) WITHIN GROUP (ORDER BY s.ms), 'p95_ms', percentile_cont(0.95) WITHIN GROUP (ORDER BY s.ms),
        'p99_ms', percentile_cont(0.99) WITHIN GROUP (ORDER BY s.ms)) INTO sample
    FROM (SELECT o.at, t.ms, t.tries FROM (SELECT x.id, x.at, x.kind FROM postrider.outbox AS x ORDER BY x.id DESC LIMIT 1000) AS o
          CROSS JOIN LATERAL (SELECT round(extract(epoch FROM min(y.at) FILTER (WHERE y.outcome = 1) - o.at) * 1000, 1)::double precision AS ms, count(*) AS tries
                              FROM postrider.attempt AS y WHERE y.outbox_id = o.id AND y.at >= o.at) AS t
          WHERE o.kind = 0 AND o.at > now() - interval '10 min') AS s;
    SELECT jsonb_build_object('n', count(*), 'seconds', round(extract(epoch FROM max(s.created_at) - min(s.created_at))::numeric, 3),
        'succeeded', count(*) FILTER (WHERE s.state = 'succeeded'), 'failed', count(*) FILTER (WHERE s.state = 'failed'),
        'cancelled', count(*) FILTER (WHERE s.state = 'cancelled'), 'open', count(*) FILTER (WHERE s.state IN ('created', 'processing'))) INTO paid
    FROM (SELECT p.created_at, p.state FROM postrider.payment AS p ORDER BY p.id DESC LIMIT 1000) AS s;
    dead := (SELECT count(*) FROM (SELECT FROM postrider.dead AS d WHERE d.state = 'open' ORDER BY d.at, d.outbox_id, d.endpoint LIMIT 10001) AS d);
    RETURN jsonb_build_object('at', postrider.json_time(clock_timestamp()),
        'notifications', jsonb_build_object('waiting', waiting.n, 'waiting_more', waiting.n > 10000, 'retrying', waiting.retrying, 'overdue', waiting.overdue,
            'oldest_s', floor(extract(epoch FROM now() - waiting.oldest)), 'oldest_overdue_s', greatest(floor(extract(epoch FROM now() - waiting.oldest_due)), 0), 'sample', sample),
        'dead_open', dead, 'dead_open_more', dead > 10000,
        'payments', (SELECT jsonb_build_object('open', count(*), 'open_more', count(*) > 10000, 'sample', paid,
                'manual', (SELECT count(*) FROM (SELECT FROM postrider.payment AS x WHERE x.manual AND x.state = 'processing' ORDER BY x.id LIMIT 10001) AS y))
            FROM (SELECT FROM postrider.payment AS x WHERE x.state IN ('created', 'processing') ORDER BY x.id LIMIT 10001) AS p),
        'tasks', (SELECT jsonb_object_agg(s.state, t.n) FROM unnest(ARRAY['WAITING', 'PROCESSING', 'RETRY', 'MANUAL', 'FAILED']) AS s (state) CROSS JOIN LATERAL (
            SELECT count(*) AS n FROM (SELECT FROM postrider.task AS x WHERE x.state = s.state AND x.state NOT IN ('SUCCESS', 'CLOSED') ORDER BY x.id LIMIT 10001) AS y) AS t),
        'approvals_open', (SELECT count(*) FROM (SELECT FROM postrider.approval AS x WHERE x.state = 'open' LIMIT 10001) AS y),
        'exceptions', postrider.exceptions_summary(who, '{}') -> 'total',
        'alerts', coalesce((SELECT jsonb_agg(jsonb_build_object('alert_id', x.id, 'kind', x.kind, 'subject', x.subject, 'severity', x.severity, 'message', x.message,
            'count', x.count, 'first_at', postrider.json_time(x.first_at), 'last_at', postrider.json_time(x.last_at)) ORDER BY x.last_at DESC)
            FROM (SELECT y.* FROM postrider.alert AS y WHERE y.resolved_at IS NULL ORDER BY y.kind, y.subject LIMIT 50) AS x), '[]'),
        'channels', coalesce((SELECT jsonb_agg(jsonb_build_object('channel', c.id, 'state', c.state, 'reason', c.state_reason, 'since', postrider.json_time(c.state_at),
            'rate_per_s', c.rate_per_s, 'concurrency', c.concurrency,
            'calls_waiting', (SELECT count(*) FROM (SELECT FROM postrider.call AS k WHERE k.channel_no = c.no AND k.class IN (0, 1) AND k.due IS NOT NULL LIMIT 1001) AS k),
            'calls_overdue', (SELECT count(*) FROM (SELECT FROM postrider.call AS k WHERE k.channel_no = c.no AND k.class IN (0, 1) AND k.due <= now() LIMIT 1001) AS k))
            ORDER BY c.id) FROM postrider.channel AS c), '[]'),
        'endpoints', jsonb_build_object(
            'known', (SELECT count(*) FROM (SELECT FROM postrider.endpoint AS x ORDER BY x.id LIMIT 10001) AS y),
            'disabled', (SELECT count(*) FROM (SELECT FROM postrider.endpoint AS x WHERE x.state = 'disabled' ORDER BY x.state_at, x.id LIMIT 10001) AS y),
            'breaker_open', (SELECT count(*) FROM postrider.breaker_open AS b WHERE b.until > now())),
        'sessions', jsonb_build_object('schedulers', (SELECT count(*) FROM postrider.session AS x WHERE x.ended IS NULL),
            'gateway_schedulers', (SELECT count(*) FROM postrider.call_session AS x WHERE x.ended IS NULL)));
END $$;

ALTER FUNCTION postrider.overview(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: page_json(jsonb[], integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.page_json(found jsonb[], most integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT jsonb_build_object('items', coalesce((SELECT jsonb_agg(f.item - 'cursor' ORDER BY f.no) FROM unnest(found[1:most]) WITH ORDINALITY AS f (item, no)), '[]'),
                              'next', CASE WHEN cardinality(found) > most THEN found[most] -> 'cursor' END)
$$;

ALTER FUNCTION postrider.page_json(found jsonb[], most integer) OWNER TO postrider_owner;

--
-- Name: payment_adopt(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_adopt(payment_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.payment_adopt(payment_id bigint) OWNER TO postrider_owner;

--
-- Name: payment_apply(postrider.channel, postrider.payment, text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_apply(c postrider.channel, p postrider.payment, source text, e jsonb, event_id text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.payment_apply(c postrider.channel, p postrider.payment, source text, e jsonb, event_id text) OWNER TO postrider_owner;

--
-- Name: payment_before(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_before() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    what text;
BEGIN
    what := CASE
        WHEN (NEW.id, NEW.merchant_id, NEW.order_no, NEW.channel, NEW.channel_no, NEW.intent, NEW.amount_minor, NEW.currency, NEW.request,
              NEW.livemode, NEW.single, NEW.created_at, NEW.args_hash)
             <> (OLD.id, OLD.merchant_id, OLD.order_no, OLD.channel, OLD.channel_no, OLD.intent, OLD.amount_minor, OLD.currency, OLD.request,
                 OLD.livemode, OLD.single, OLD.created_at, OLD.args_hash)
             OR (NEW.request_no, NEW.webhook_url) IS DISTINCT FROM (OLD.request_no, OLD.webhook_url) THEN 'what it is'
        WHEN OLD.gateway_reference IS NOT NULL AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference THEN 'its number at the gateway'
        WHEN OLD.final_at IS NOT NULL AND (NEW.final_at, NEW.ended_by) IS DISTINCT FROM (OLD.final_at, OLD.ended_by) THEN 'when and by what it ended'
        WHEN OLD.notify_id IS NOT NULL AND NEW.notify_id IS DISTINCT FROM OLD.notify_id THEN 'the notification of its end'
        WHEN NEW.version < OLD.version THEN 'its version backwards'
        WHEN OLD.sent_at IS NOT NULL AND NEW.sent_at IS DISTINCT FROM OLD.sent_at THEN 'when it was sent'
        WHEN OLD.state = 'created' AND NEW.state = 'cancelled' AND NEW.sent_at IS NOT NULL THEN 'created to cancelled once something was sent'
        WHEN (NEW.state IN ('succeeded', 'failed', 'cancelled')) <> (NEW.final_at IS NOT NULL) THEN 'its end without the time of it' END;
    IF what IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('a payment does not change %s', what),
            HINT = 'A corrected payment is a new intent.';
    END IF;
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.payment_before() OWNER TO postrider_owner;

--
-- Name: payment_check(text, text, text, text, bigint, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_check(merchant_id text, order_no text, channel text, reference text, amount_minor bigint, currency text, request jsonb, options jsonb) RETURNS postrider.channel
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.payment_check(merchant_id text, order_no text, channel text, reference text, amount_minor bigint, currency text, request jsonb, options jsonb) OWNER TO postrider_owner;

--
-- Name: payment_decide(text, bigint, text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_decide(who text, payment_id bigint, state text, evidence jsonb, reason text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    p CONSTANT postrider.payment := postrider.payment_locked(payment_id);
    verdict text;
BEGIN
    IF coalesce(reason, '') = '' OR state IS NULL OR state NOT IN ('succeeded', 'failed', 'cancelled', 'refunded') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the reason is missing, or state is not succeeded, failed, cancelled or refunded',
            HINT = 'Say how it ended, and how you know.';
    END IF;
    verdict := postrider.apply_evidence(p.id, NULL, 'person', jsonb_build_object('final', true) || coalesce(evidence, '{}')
        || jsonb_build_object('object', 'payment', 'status', upper(state), 'by', who, 'why', left(reason, 500)));
    PERFORM postrider.audit_add(who, 'payment.decide', p.id::text, reason, jsonb_build_object('state', state, 'was', p.state, 'verdict', verdict));
    RETURN verdict;
END $$;

ALTER FUNCTION postrider.payment_decide(who text, payment_id bigint, state text, evidence jsonb, reason text) OWNER TO postrider_owner;

--
-- Name: payment_follow(postrider.channel, postrider.payment, postrider.payment, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_follow(c postrider.channel, former postrider.payment, p postrider.payment, effect text, e jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.payment_follow(c postrider.channel, former postrider.payment, p postrider.payment, effect text, e jsonb) OWNER TO postrider_owner;

--
-- Name: payment_hook(postrider.payment, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_hook(p postrider.payment, hook text, fed jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.payment_hook(p postrider.payment, hook text, fed jsonb) OWNER TO postrider_owner;

--
-- Name: payment_insert(postrider.channel, text, text, text, text, bigint, text, jsonb, timestamp with time zone, jsonb, bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_insert(c postrider.channel, merchant_id text, order_no text, reference text, request_no text, amount_minor bigint, currency text, request jsonb, expires timestamp with time zone, options jsonb, args bytea, OUT id bigint, OUT fresh boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.payment_insert(c postrider.channel, merchant_id text, order_no text, reference text, request_no text, amount_minor bigint, currency text, request jsonb, expires timestamp with time zone, options jsonb, args bytea, OUT id bigint, OUT fresh boolean) OWNER TO postrider_owner;

--
-- Name: payment_json(postrider.payment); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_json(p postrider.payment) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT jsonb_build_object('payment_id', p.id, 'merchant_id', p.merchant_id, 'order_no', p.order_no, 'channel', p.channel,
        'gateway_reference', p.gateway_reference, 'app_ref', p.app_ref, 'state', p.state, 'status', postrider.status_of(p),
        'amount', p.amount_minor, 'currency', p.currency, 'captured', p.captured_minor, 'refunded', p.refunded_minor, 'version', p.version,
        'failure', CASE WHEN p.state = 'failed' THEN jsonb_build_object('code', p.failure_code, 'message', p.failure_message) END,
        'next_action', CASE WHEN p.state = 'processing' AND p.next_action IS NOT NULL
                            THEN jsonb_build_object('kind', p.next_action_kind, 'value', p.next_action) END,
        'manual_reason', CASE WHEN p.manual THEN p.manual_reason END, 'livemode', p.livemode, 'created_at', postrider.json_time(p.created_at),
        'updated_at', postrider.json_time(p.updated_at), 'expires_at', postrider.json_time(p.expires_at), 'final_at', postrider.json_time(p.final_at))
$$;

ALTER FUNCTION postrider.payment_json(p postrider.payment) OWNER TO postrider_owner;

--
-- Name: payment_listed(postrider.payment, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_listed(p postrider.payment, a jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN (a ->> 'merchant_id' IS NULL OR p.merchant_id = a ->> 'merchant_id') AND (a ->> 'channel' IS NULL OR p.channel = a ->> 'channel')
                AND (a ->> 'state' IS NULL OR p.state = a ->> 'state')
           THEN postrider.payment_json(p) END
$$;

ALTER FUNCTION postrider.payment_listed(p postrider.payment, a jsonb) OWNER TO postrider_owner;

--
-- Name: payment_locked(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_locked(id bigint) RETURNS postrider.payment
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    p postrider.payment;
BEGIN
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = $1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no payment %s', coalesce(id::text, 'without an id')),
            HINT = 'Pass the payment_id that track_payment or submit_payment returned.';
    END IF;
    RETURN p;
END $_$;

ALTER FUNCTION postrider.payment_locked(id bigint) OWNER TO postrider_owner;

--
-- Name: payment_poll(text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_poll(who text, payment_id bigint, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    p CONSTANT postrider.payment := postrider.payment_locked(payment_id);
BEGIN
    PERFORM postrider.audit_add(who, 'payment.poll', p.id::text, reason, '{}');
    IF p.state NOT IN ('created', 'processing') THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('payment %s is %s', p.id, p.state), HINT = 'It has ended.';
    ELSIF EXISTS (SELECT FROM postrider.call AS k WHERE k.payment_id = p.id AND k.refund_id IS NULL AND (k.due IS NULL OR k.class = 0)) THEN
        RETURN false;
    END IF;
    PERFORM postrider.call_put(p, NULL, 'query', interval '0', 'person');
    RETURN true;
END $$;

ALTER FUNCTION postrider.payment_poll(who text, payment_id bigint, reason text) OWNER TO postrider_owner;

--
-- Name: payment_show(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_show(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    p postrider.payment;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'payment_id');
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = postrider.arg_id(a, 'payment_id');
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no payment %s', a ->> 'payment_id'), HINT = 'search finds it by its other numbers.';
    END IF;
    RETURN jsonb_build_object('payment', postrider.payment_json(p) || jsonb_build_object('request', p.request, 'request_no', p.request_no, 'ended_by', p.ended_by,
            'extra', p.extra, 'paid_at', postrider.json_time(p.paid_at), 'sent_at', postrider.json_time(p.sent_at)),
        'next', (SELECT jsonb_build_object('operation', k.operation, 'due', postrider.json_time(k.due), 'lease_until', postrider.json_time(k.lease_until), 'reason', k.reason,
            'attempt', k.attempt) FROM postrider.call AS k WHERE k.payment_id = p.id AND k.refund_id IS NULL),
        'refunds', coalesce((SELECT jsonb_agg(postrider.refund_json(r) ORDER BY r.id) FROM postrider.refund AS r WHERE r.payment_id = p.id), '[]'),
        'evidence', coalesce((SELECT jsonb_agg(jsonb_build_object('at', postrider.json_time(h.at), 'source', h.source, 'event_id', h.event_id, 'verdict', h.verdict,
            'from', h.from_state, 'to', h.to_state, 'refund_id', h.refund_id, 'version', h.version, 'evidence', h.evidence) ORDER BY h.id)
            FROM (SELECT x.* FROM postrider.payment_history AS x WHERE x.payment_id = p.id ORDER BY x.id DESC LIMIT 200) AS h), '[]'),
        'calls', coalesce((SELECT jsonb_agg(postrider.call_json(n.l) || jsonb_build_object('exchange', CASE WHEN n.no <= 50 THEN postrider.exchange_json(p.id, (n.l).id) END)
                                            ORDER BY (n.l).id)
            FROM (SELECT x AS l, row_number() OVER (ORDER BY x.id DESC) AS no FROM postrider.call_log AS x WHERE x.payment_id = p.id ORDER BY x.id DESC LIMIT 200) AS n), '[]'),
        'webhooks', coalesce((SELECT jsonb_agg(postrider.webhook_json(w) ORDER BY w.id)
            FROM (SELECT x.* FROM postrider.webhook AS x WHERE x.payment_id = p.id ORDER BY x.id DESC LIMIT 200) AS w), '[]'),
        'tasks', coalesce((SELECT jsonb_agg(postrider.task_json(t) ORDER BY t.id) FROM postrider.task AS t WHERE t.payment_id = p.id), '[]'),
        'approvals', coalesce((SELECT jsonb_agg(postrider.approval_json(r) ORDER BY r.id) FROM postrider.approval AS r WHERE r.payment_id = p.id), '[]'));
END $$;

ALTER FUNCTION postrider.payment_show(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: payment_stands(postrider.payment, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_stands(p postrider.payment, said text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT lower($2) IN (p.state, postrider.status_of(p)) AND p.state NOT IN ('created', 'processing')
$_$;

ALTER FUNCTION postrider.payment_stands(p postrider.payment, said text) OWNER TO postrider_owner;

--
-- Name: payment_tell(postrider.payment, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_tell(p postrider.payment, refund_id bigint, event text) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.payment_tell(p postrider.payment, refund_id bigint, event text) OWNER TO postrider_owner;

--
-- Name: payment_to_person(postrider.payment, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_to_person(p postrider.payment, why text, evidence jsonb) RETURNS postrider.payment
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.payment_to_person(p postrider.payment, why text, evidence jsonb) OWNER TO postrider_owner;

--
-- Name: payment_write(postrider.payment, postrider.payment, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payment_write(former postrider.payment, p postrider.payment, source text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.payment_write(former postrider.payment, p postrider.payment, source text) OWNER TO postrider_owner;

--
-- Name: payments_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payments_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    upto CONSTANT bigint := postrider.list_before(a);
    m CONSTANT text := a ->> 'merchant_id';
    looks CONSTANT int := 20000;
    c refcursor;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'merchant_id', 'order_no', 'channel', 'state', 'manual', 'limit', 'after');
    IF a ->> 'order_no' IS NOT NULL AND m IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'order_no is without merchant_id', HINT = 'An order number is a merchant''s; search finds it among all.';
    ELSIF a ->> 'order_no' IS NOT NULL THEN
        OPEN c FOR SELECT x.id, postrider.payment_listed(x, a) AS item FROM postrider.payment AS x
        WHERE x.merchant_id = m AND x.order_no = a ->> 'order_no' AND x.id < upto ORDER BY x.id DESC LIMIT looks + 1;
    ELSIF (a ->> 'manual')::boolean THEN
        OPEN c FOR SELECT x.id, postrider.payment_listed(x, a) AS item FROM postrider.payment AS x
        WHERE x.manual AND x.state = 'processing' AND x.id < upto ORDER BY x.id DESC LIMIT looks + 1;
    ELSIF a ->> 'state' IN ('created', 'processing') THEN
        OPEN c FOR SELECT x.id, postrider.payment_listed(x, a) AS item FROM postrider.payment AS x
        WHERE x.state IN ('created', 'processing') AND x.id < upto ORDER BY x.id DESC LIMIT looks + 1;
    ELSIF m IS NOT NULL AND (SELECT count(*) FROM (SELECT FROM postrider.payment AS x WHERE x.merchant_id = m LIMIT 5001) AS few) <= 5000 THEN
        OPEN c FOR SELECT x.id, postrider.payment_listed(x, a) AS item FROM postrider.payment AS x WHERE x.id = ANY (ARRAY(SELECT y.id FROM postrider.payment AS y WHERE y.merchant_id = m AND y.id < upto))
            ORDER BY x.id DESC LIMIT looks + 1;
    ELSE
        OPEN c FOR SELECT x.id, postrider.payment_listed(x, a) AS item FROM postrider.payment AS x
        WHERE x.id < upto ORDER BY x.id DESC LIMIT looks + 1;
    END IF;
    RETURN postrider.list_scan(c, upto, looks, most);
END $$;

ALTER FUNCTION postrider.payments_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: payments_purge(interval, interval, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payments_purge(log_retention interval, webhook_retention interval, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    gone bigint;
    total bigint := 0;
BEGIN
    DELETE FROM postrider.call_log AS l
    WHERE l.ctid = ANY (ARRAY(SELECT x.ctid FROM postrider.call_log AS x WHERE x.at < now() - log_retention ORDER BY x.at LIMIT most));
    GET DIAGNOSTICS total = ROW_COUNT;
    DELETE FROM postrider.call_exchange AS x
    WHERE x.ctid = ANY (ARRAY(SELECT y.ctid FROM postrider.call_exchange AS y WHERE y.at < now() - log_retention ORDER BY y.at LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    total := total + gone;
    DELETE FROM postrider.webhook_key AS k
    WHERE k.ctid = ANY (ARRAY(SELECT x.ctid FROM postrider.webhook_key AS x WHERE x.at < now() - webhook_retention ORDER BY x.at LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    total := total + gone;
    DELETE FROM postrider.webhook AS w
    WHERE w.ctid = ANY (ARRAY(SELECT x.ctid FROM postrider.webhook AS x WHERE x.received_at < now() - webhook_retention
                              AND x.state NOT IN ('failed', 'orphan', 'task') ORDER BY x.received_at LIMIT most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN total + gone;
END $$;

ALTER FUNCTION postrider.payments_purge(log_retention interval, webhook_retention interval, most integer) OWNER TO postrider_owner;

--
-- Name: payments_sweep(integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payments_sweep(most integer) RETURNS TABLE(what text, seen bigint, repaired bigint, tasks bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    one bigint;
    p postrider.payment;
    r postrider.refund;
    c postrider.channel;
BEGIN
    what := 'payment without a call';
    seen := 0; repaired := 0; tasks := 0;
    FOR one IN SELECT x.id FROM postrider.payment AS x WHERE x.state IN ('created', 'processing')
               AND NOT EXISTS (SELECT FROM postrider.call AS k WHERE k.payment_id = x.id AND k.refund_id IS NULL)
               AND NOT EXISTS (SELECT FROM postrider.task AS t WHERE t.payment_id = x.id AND t.state NOT IN ('SUCCESS', 'CLOSED'))
               ORDER BY x.id LIMIT most LOOP
        p := postrider.payment_locked(one);
        CONTINUE WHEN p.state NOT IN ('created', 'processing') OR EXISTS (SELECT FROM postrider.call AS k WHERE k.payment_id = p.id AND k.refund_id IS NULL);
        SELECT x.* INTO c FROM postrider.channel AS x WHERE x.no = p.channel_no;
        seen := seen + 1;
        IF p.manual THEN
            PERFORM postrider.task_open('payment_review', p.id::text, 'MANUAL', 'inspection', p.merchant_id, p.order_no, p.id, p.manual_reason,
                                        'how this payment ended is not known', '{}');
            tasks := tasks + 1;
        ELSIF p.state = 'created' AND p.sent_at IS NULL AND 'charge' = ANY (c.operations) THEN
            PERFORM postrider.call_put(p, NULL, 'charge', interval '0', 'sweep');
            repaired := repaired + 1;
        ELSIF 'query' = ANY (c.operations) THEN
            PERFORM postrider.call_put(p, NULL, 'query', interval '0', 'sweep');
            repaired := repaired + 1;
        ELSE
            PERFORM postrider.payment_to_person(p, 'STUCK', '{}');
            tasks := tasks + 1;
        END IF;
        PERFORM postrider.history_add(p, NULL, 'sweep', NULL, 'found without a call', p.state, p.state, '{}');
    END LOOP;
    RETURN NEXT;
    what := 'refund without a call';
    seen := 0; repaired := 0; tasks := 0;
    FOR one IN SELECT x.id FROM postrider.refund AS x WHERE x.state IN ('created', 'processing') AND NOT x.manual
               AND NOT EXISTS (SELECT FROM postrider.call AS k WHERE k.refund_id = x.id) ORDER BY x.id LIMIT most LOOP
        SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = one;
        p := postrider.payment_locked(r.payment_id);
        SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = one;
        CONTINUE WHEN r.state NOT IN ('created', 'processing') OR EXISTS (SELECT FROM postrider.call AS k WHERE k.refund_id = r.id);
        SELECT x.* INTO c FROM postrider.channel AS x WHERE x.no = p.channel_no;
        seen := seen + 1;
        IF r.state = 'created' AND r.sent_at IS NULL THEN
            PERFORM postrider.call_put(p, r.id, 'refund', interval '0', 'sweep');
            repaired := repaired + 1;
        ELSIF 'query_refund' = ANY (c.operations) AND r.gateway_no IS NOT NULL THEN
            PERFORM postrider.call_put(p, r.id, 'query_refund', interval '0', 'sweep');
            repaired := repaired + 1;
        ELSE
            PERFORM postrider.refund_to_person(p, r, 'STUCK', '{}');
            tasks := tasks + 1;
        END IF;
    END LOOP;
    RETURN NEXT;
    what := 'end that nobody was told';
    seen := 0; repaired := 0; tasks := 0;
    FOR one IN SELECT x.id FROM postrider.payment AS x WHERE x.final_at IS NOT NULL AND x.notify_id IS NULL ORDER BY x.id LIMIT most LOOP
        p := postrider.payment_locked(one);
        CONTINUE WHEN p.notify_id IS NOT NULL;
        seen := seen + 1;
        UPDATE postrider.payment AS x SET notify_id = postrider.payment_tell(p, NULL, 'payment.' || p.state) WHERE x.id = p.id;
        PERFORM postrider.history_add(p, NULL, 'sweep', NULL, 'told late', p.state, p.state, '{}');
        repaired := repaired + 1;
    END LOOP;
    RETURN NEXT;
    what := 'call of an ended payment';
    seen := 0; repaired := 0; tasks := 0;
    FOR one IN SELECT k.id FROM postrider.call AS k WHERE k.refund_id IS NULL AND k.lease_until IS NULL
               AND EXISTS (SELECT FROM postrider.payment AS x WHERE x.id = k.payment_id AND x.state NOT IN ('created', 'processing')) LIMIT most LOOP
        seen := seen + 1;
        DELETE FROM postrider.call AS k WHERE k.id = one;
        repaired := repaired + 1;
    END LOOP;
    RETURN NEXT;
END $$;

ALTER FUNCTION postrider.payments_sweep(most integer) OWNER TO postrider_owner;

--
-- Name: payments_upkeep(uuid, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.payments_upkeep(session uuid, most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.payments_upkeep(session uuid, most integer) OWNER TO postrider_owner;

--
-- Name: people_purge(integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.people_purge(most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.people_purge(most integer) OWNER TO postrider_owner;

--
-- Name: permissions_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.permissions_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN jsonb_build_object('next', NULL, 'items', (
        SELECT jsonb_agg(jsonb_build_object('action', p.action, 'role', p.role, 'four_eyes', p.four_eyes, 'says', p.says) ORDER BY p.action)
        FROM postrider.permission AS p));
END $$;

ALTER FUNCTION postrider.permissions_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: person_check(text, text, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.person_check(who text, action text, needed boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    o postrider.operator;
    least text := (SELECT p.role FROM postrider.permission AS p WHERE p.action = $2);
BEGIN
    least := coalesce(least, 'operator');
    SELECT x.* INTO o FROM postrider.operator AS x WHERE x.name = who;
    IF NOT FOUND THEN
        IF NOT needed AND (NOT EXISTS (SELECT FROM postrider.operator)
            OR (current_setting('role') NOT IN ('none', 'postrider_console') AND action NOT LIKE 'breaker.%')) THEN
            RETURN;
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('%L is no operator', left(coalesce(who, ''), 80)),
            HINT = 'postrider operator add NAME --role ROLE adds one; --operator NAME says who you are.';
    ELSIF o.disabled_at IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('operator %s is disabled', o.name), HINT = 'An admin can enable it.';
    ELSIF postrider.role_rank(o.role) < postrider.role_rank(least) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('%s is for the role %s; %s is %s', action, least, o.name, o.role),
            HINT = 'docs/people.md lists what each role may.';
    END IF;
END $_$;

ALTER FUNCTION postrider.person_check(who text, action text, needed boolean) OWNER TO postrider_owner;

--
-- Name: person_reason(postrider.payment, postrider.call, text, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.person_reason(p postrider.payment, k postrider.call, answer text, verdict text, step text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT CASE
        WHEN verdict LIKE 'held:%' THEN split_part(verdict, ': ', 2)
        WHEN step IN ('charge', 'capture', 'refund') THEN 'TRIES_EXHAUSTED'
        WHEN step = 'close' THEN CASE WHEN p.on_expiry = 'manual' THEN 'EXPIRED_UNPAID' ELSE 'CANNOT_CLOSE' END
        WHEN p.expires_at <= clock_timestamp() AND k.refund_id IS NULL THEN 'EXPIRED_UNKNOWN'
        ELSE 'ATTEMPTS_EXHAUSTED' END
$$;

ALTER FUNCTION postrider.person_reason(p postrider.payment, k postrider.call, answer text, verdict text, step text) OWNER TO postrider_owner;

--
-- Name: published_status(text, boolean, bigint, bigint, bigint, boolean, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.published_status(state text, manual boolean, amount bigint, captured bigint, refunded bigint, refunding boolean, disputed boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
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

ALTER FUNCTION postrider.published_status(state text, manual boolean, amount bigint, captured bigint, refunded bigint, refunding boolean, disputed boolean) OWNER TO postrider_owner;

--
-- Name: purge_step(interval, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.purge_step(retention interval, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    cutoff CONSTANT timestamptz := now() - retention;
    n bigint;
    total bigint := 0;
    kind text;
BEGIN
    DELETE FROM postrider.tick AS t WHERE t.ctid = ANY (ARRAY(
        SELECT k.ctid FROM generate_series(0, 2) AS c (class)
        CROSS JOIN LATERAL (SELECT x.n FROM postrider.tick AS x WHERE x.class = c.class ORDER BY x.n DESC LIMIT 1) AS l
        CROSS JOIN LATERAL (SELECT x.ctid, x.at FROM postrider.tick AS x WHERE x.class = c.class AND x.n < l.n - 100
                            ORDER BY x.n LIMIT most) AS k       -- the oldest: of the others nothing is read
        WHERE k.at < clock_timestamp() - interval '1 hour' LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.idempotency AS i WHERE i.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.idempotency AS k WHERE k.at < least(cutoff, now() - interval '30 days') LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.cancelled AS c WHERE c.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.cancelled AS k WHERE k.at < cutoff AND k.outbox_at < cutoff LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.dead AS d WHERE d.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.dead AS k
        WHERE k.state <> 'open' AND k.closed_at < cutoff AND k.outbox_at < cutoff
          AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = k.outbox_id) LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.outbox_kept AS o WHERE o.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.outbox_kept AS k
        WHERE k.at < cutoff AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = k.id)
          AND NOT EXISTS (SELECT FROM postrider.dead AS d WHERE d.outbox_id = k.id) LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.outbox_default AS o WHERE o.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.outbox_default AS k
        WHERE k.at < cutoff AND postrider.is_moved(k.class, k.tx, k.id)
          AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = k.id)
          AND NOT EXISTS (SELECT FROM postrider.dead AS d WHERE d.outbox_id = k.id) LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.attempt_default AS a WHERE a.ctid = ANY (ARRAY(
        SELECT k.ctid FROM postrider.attempt_default AS k
        WHERE k.at < cutoff AND NOT EXISTS (SELECT FROM postrider.outbox_kept AS o WHERE o.id = k.outbox_id)
          AND NOT EXISTS (SELECT FROM postrider.outbox AS o WHERE o.id = k.outbox_id) LIMIT most));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := greatest(total, n);
    DELETE FROM postrider.alert AS a WHERE a.resolved_at < cutoff;
    DELETE FROM postrider.redrive AS r WHERE r.finished_at < cutoff;
    WITH old AS (
        SELECT s.id FROM postrider.session AS s
        WHERE s.ended < now() - interval '1 day' AND NOT EXISTS (SELECT FROM postrider.shard AS h WHERE h.session = s.id)
    ), b AS (
        DELETE FROM postrider.heartbeat AS h USING old WHERE h.session = old.id
    )
    DELETE FROM postrider.session AS s USING old WHERE s.id = old.id;
    RETURN total;
END $$;

ALTER FUNCTION postrider.purge_step(retention interval, most integer) OWNER TO postrider_owner;

--
-- Name: random_salt(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.random_salt() RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT ('x' || left(g.id, 8) || right(g.id, 8))::bit(64)::bigint FROM (SELECT gen_random_uuid()::text AS id) AS g
$$;

ALTER FUNCTION postrider.random_salt() OWNER TO postrider_owner;

--
-- Name: reader(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.reader(who text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    RETURN true;
END $$;

ALTER FUNCTION postrider.reader(who text) OWNER TO postrider_owner;

--
-- Name: rebase(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.rebase() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    self xid8;
    seen pg_snapshot;
    edge xid8;
    others xid8[];
    base pg_snapshot;
    again bigint;
BEGIN
    LOCK TABLE postrider.outbox IN SHARE ROW EXCLUSIVE MODE;
    LOCK TABLE postrider.tick IN SHARE ROW EXCLUSIVE MODE;      -- no relay moves meanwhile
    self := pg_current_xact_id();
    seen := pg_current_snapshot();
    -- What this snapshot sees, but nothing from this transaction on: a snapshot counts its own transaction as seen. What is
    -- under way is in its list, or at or above its xmax (which is one above the last transaction that ended).
    edge := least(pg_snapshot_xmax(seen), self);
    others := ARRAY(SELECT x FROM pg_snapshot_xip(seen) AS x WHERE x < edge);
    base := format('%s:%s:%s', least(pg_snapshot_xmin(seen), edge), edge,
                   (SELECT string_agg(x::text, ',' ORDER BY x) FROM unnest(others) AS x))::pg_snapshot;
    CREATE TEMP TABLE rebase_done ON COMMIT DROP AS
        SELECT o.at, o.id FROM postrider.outbox AS o
        WHERE (o.kind = 0 AND (
                   EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = o.id)
                OR EXISTS (SELECT FROM postrider.dead AS d WHERE d.outbox_id = o.id)
                OR EXISTS (SELECT FROM postrider.cancelled AS c WHERE c.outbox_id = o.id)
                OR EXISTS (SELECT FROM postrider.attempt AS a WHERE a.outbox_id = o.id)))
           OR (o.kind = 1 AND (
                   EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = o.ref_id AND j.endpoint = o.ref_endpoint)
                OR EXISTS (SELECT FROM postrider.cancelled AS c WHERE c.outbox_id = o.ref_id AND c.endpoint = o.ref_endpoint)
                OR EXISTS (SELECT FROM postrider.attempt AS a
                           WHERE a.outbox_id = o.ref_id AND a.endpoint = o.ref_endpoint AND a.at >= o.at)
                OR NOT EXISTS (SELECT FROM postrider.dead AS d
                               WHERE d.outbox_id = o.ref_id AND d.endpoint = o.ref_endpoint AND d.state = 'redriven')))
           OR (o.kind = 2 AND NOT EXISTS (SELECT FROM postrider.job AS j WHERE j.outbox_id = o.ref_id));
    UPDATE postrider.outbox AS o SET tx = self
    WHERE NOT EXISTS (SELECT FROM rebase_done AS r WHERE r.id = o.id);
    GET DIAGNOSTICS again = ROW_COUNT;
    UPDATE postrider.outbox AS o SET tx = '2' FROM rebase_done AS r
    WHERE r.id = o.id AND r.at = o.at AND (o.tx >= edge OR o.tx = ANY (others));
    INSERT INTO postrider.tick (class, n, lo, hi, more, dt, di, seq, sysid)
    SELECT t.class, t.n + 1, base, base, false, '0', 0, t.seq, s.system_identifier
    FROM (SELECT DISTINCT ON (k.class) k.class, k.n, k.seq FROM postrider.tick AS k ORDER BY k.class, k.n DESC) AS t,
         pg_control_system() AS s;
    UPDATE postrider.shard SET session = NULL, low = DEFAULT, beat = 0;
    DELETE FROM postrider.heartbeat;
    DELETE FROM postrider.session;
    UPDATE postrider.endpoint SET tx = DEFAULT;
    UPDATE postrider.cancelled SET tx = DEFAULT WHERE tx >= edge;
    RETURN again;
END $$;

ALTER FUNCTION postrider.rebase() OWNER TO postrider_owner;

--
-- Name: recon_accounted(bigint, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_accounted(payment_id bigint, refund_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT EXISTS (SELECT FROM postrider.recon_match AS m WHERE m.payment_id = $1 AND m.refund_id = $2
                   AND (SELECT f.state FROM postrider.recon_file AS f WHERE f.id = m.file_id) NOT IN ('replaced', 'closed'))
$_$;

ALTER FUNCTION postrider.recon_accounted(payment_id bigint, refund_id bigint) OWNER TO postrider_owner;

--
-- Name: recon_again(integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_again(tries integer) RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT CASE WHEN tries <= 1 THEN interval '10 min' WHEN tries = 2 THEN interval '30 min' WHEN tries <= 6 THEN interval '1 h'
                WHEN tries <= 30 THEN interval '2 h' ELSE interval '12 h' END
$$;

ALTER FUNCTION postrider.recon_again(tries integer) OWNER TO postrider_owner;

--
-- Name: recon_ask(text, text, date, text, text, boolean, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_ask(who text, channel text, day date, source text, format text DEFAULT NULL::text, correct boolean DEFAULT false, reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
#variable_conflict use_variable
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.channel AS c WHERE c.id = channel) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(channel, 80)), HINT = 'postrider channel list shows those that are.';
    ELSIF (source IN ('directory', 'download') AND (format ~ '^[a-z0-9-]{1,64}$') IS NOT FALSE) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'source is not directory or download, or format is not of a-z 0-9 -',
            HINT = 'download asks the channel, directory looks where files are dropped.';
    ELSIF ((postrider.recon_day((postrider.recon_settings(channel)).zone, day)).to_at <= now()) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the day is not over where the channel is',
            HINT = 'A statement is about a whole day: recon set --zone says whose.';
    END IF;
    INSERT INTO postrider.recon_run AS r (channel, statement_date, due_at, next_at, asked_by, asked_source, asked_format, asked_correct, asked_taken)
    VALUES (channel, day, now(), now(), left(who, 128), source, format, coalesce(correct, false), false)
    ON CONFLICT ON CONSTRAINT recon_run_pkey DO UPDATE
    SET next_at = now(), done_at = NULL, last_error = NULL, file_id = NULL, asked_by = excluded.asked_by, asked_source = excluded.asked_source,
        asked_format = excluded.asked_format, asked_correct = excluded.asked_correct, asked_taken = false;
    PERFORM postrider.audit_add(who, 'recon.ask', channel, reason, jsonb_build_object('date', day, 'source', source, 'format', format, 'correct', correct));
END $_$;

ALTER FUNCTION postrider.recon_ask(who text, channel text, day date, source text, format text, correct boolean, reason text) OWNER TO postrider_owner;

--
-- Name: recon_begin(text, text, date, text, text, text, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_begin(who text, channel text, day date, kind text, name text, source text, correct boolean) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
#variable_conflict use_variable
DECLARE
    c postrider.channel;
    span record;
    known postrider.recon_file;
    new_id bigint;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = channel;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(channel, 80)), HINT = 'postrider channel list shows those that are.';
    END IF;
    span := postrider.recon_day((postrider.recon_settings(channel)).zone, day);
    IF (kind ~ '^[a-z0-9-]{1,64}$' AND source IN ('file', 'directory', 'download') AND span.to_at <= now()) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the day is not over where the channel is, or kind is not of a-z 0-9 -',
            HINT = 'A statement is about a whole day: recon set --zone says whose.';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(format('postrider.recon %s %s %s', c.no, day, kind), 0));
    SELECT x.* INTO known FROM postrider.recon_file AS x
    WHERE x.channel_no = c.no AND x.statement_date = day AND x.kind = kind AND x.state NOT IN ('replaced', 'closed') FOR NO KEY UPDATE;
    IF FOUND AND NOT coalesce(correct, false) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR012', MESSAGE = format('the statement of %s for %s (%s) is here: number %s, %s', channel, day, kind, known.id, known.state),
            HINT = 'If this one corrects it, say so: --correct.';
    ELSIF NOT FOUND AND correct THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('there is no statement of %s for %s (%s) to correct', channel, day, kind), HINT = 'Import it without --correct.';
    END IF;
    IF known.id IS NOT NULL THEN
        UPDATE postrider.recon_file AS x SET state = 'replaced', updated_at = now() WHERE x.id = known.id;
        -- what waits for its counterpart waits for nothing: the correction says it again
        DELETE FROM postrider.recon_open AS o WHERE o.file_id = known.id;
    END IF;
    -- it is what it will be only after recon_finish, of which nobody sees the time before
    INSERT INTO postrider.recon_file AS x (channel, channel_no, statement_date, from_at, to_at, kind, name, source, who, corrects, state)
    VALUES (channel, c.no, day, span.from_at, span.to_at, kind, right(name, 255), source, left(who, 128), known.id, 'held') RETURNING x.id INTO new_id;
    PERFORM postrider.audit_add(who, 'recon.run', new_id::text, NULL, jsonb_build_object('channel', channel, 'date', day, 'kind', kind, 'name', name, 'corrects', known.id));
    RETURN new_id;
END $_$;

ALTER FUNCTION postrider.recon_begin(who text, channel text, day date, kind text, name text, source text, correct boolean) OWNER TO postrider_owner;

--
-- Name: recon_close(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_close(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM postrider.args_check(a, 'file_id', 'reason');
    PERFORM postrider.recon_file_close(who, postrider.arg_id(a, 'file_id'), postrider.arg_text(a, 'reason', 500, true));
    RETURN jsonb_build_object('ok', true);
END $$;

ALTER FUNCTION postrider.recon_close(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: recon_covered(integer, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_covered(channel_no integer, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT EXISTS (SELECT FROM postrider.recon_file AS f WHERE f.channel_no = $1 AND f.state = 'matched' AND f.from_at <= $2 AND f.to_at > $2
                   AND f.from_at > $2 - interval '26 hours')
$_$;

ALTER FUNCTION postrider.recon_covered(channel_no integer, at timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: recon_day(text, date); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_day(zone text, day date, OUT from_at timestamp with time zone, OUT to_at timestamp with time zone) RETURNS record
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT day::timestamp AT TIME ZONE zone, (day + 1)::timestamp AT TIME ZONE zone
$$;

ALTER FUNCTION postrider.recon_day(zone text, day date, OUT from_at timestamp with time zone, OUT to_at timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: recon_deliveries(integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_deliveries(most integer, OUT opened bigint, OUT through timestamp with time zone) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    SET "DateStyle" TO 'ISO, MDY'
    AS $$
DECLARE
    last CONSTANT timestamptz := coalesce(nullif((SELECT s.value FROM postrider.setting AS s WHERE s.key = 'recon.delivered_through' FOR UPDATE), '')::timestamptz,
                                          now() - interval '120 days') - interval '1 hour';
    longest CONSTANT interval := (SELECT max(r.grace) FROM postrider.fulfilment_rule AS r);
    shortest CONSTANT interval := (SELECT min(r.grace) FROM postrider.fulfilment_rule AS r);
    one record;
    d postrider.recon_difference;
    looked bigint := 0;
BEGIN
    opened := 0;
    through := now();
    FOR one IN SELECT p.id, p.merchant_id, p.order_no, p.channel, p.channel_no, p.amount_minor, p.captured_minor, p.currency, p.gateway_reference, p.final_at,
                      r.grace, p.final_at + r.grace AS due
               FROM postrider.channel AS c
               CROSS JOIN LATERAL (SELECT x.* FROM postrider.payment AS x WHERE x.channel_no = c.no AND x.final_at > last - longest
                                   AND x.final_at <= now() - shortest AND x.state = 'succeeded' OFFSET 0) AS p
               JOIN postrider.fulfilment_rule AS r ON r.merchant_id = p.merchant_id
               WHERE p.final_at >= r.since AND p.final_at + r.grace > last AND p.final_at + r.grace <= now() AND p.refunded_minor < p.captured_minor
                 AND NOT EXISTS (SELECT FROM postrider.fulfilment AS f WHERE f.merchant_id = p.merchant_id AND f.order_no = p.order_no AND f.state = 'delivered')
                 AND NOT EXISTS (SELECT FROM postrider.recon_difference AS k WHERE k.key = 'delivery:' || p.id)
               ORDER BY due LIMIT most LOOP
        d := NULL;
        d.key := 'delivery:' || one.id;
        d.class := 'not_delivered';
        d.reason := 'NOT_DELIVERED';
        d.kind := 'delivery';
        d.channel := one.channel;
        d.channel_no := one.channel_no;
        d.merchant_id := one.merchant_id;
        d.order_no := one.order_no;
        d.payment_id := one.id;
        d.reference := one.gateway_reference;
        d.theirs := '{}';
        d.ours := jsonb_build_object('state', 'succeeded', 'amount_minor', one.captured_minor, 'currency', one.currency,
            'final_at', postrider.json_time(one.final_at), 'grace_s', extract(epoch FROM one.grace));
        IF postrider.recon_differ(d) THEN
            opened := opened + 1;
        END IF;
        looked := looked + 1;
        IF looked = most THEN
            through := one.due;              -- there may be more that were due then
        END IF;
    END LOOP;
    UPDATE postrider.setting AS s SET value = through::text WHERE s.key = 'recon.delivered_through';
END $$;

ALTER FUNCTION postrider.recon_deliveries(most integer, OUT opened bigint, OUT through timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: recon_difference; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.recon_difference (
    id bigint NOT NULL,
    key text NOT NULL,
    class text NOT NULL,
    reason text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    channel text NOT NULL,
    channel_no integer NOT NULL,
    statement_date date,
    file_id bigint,
    n bigint,
    line bigint,
    merchant_id text,
    order_no text,
    payment_id bigint,
    refund_id bigint,
    reference text,
    theirs jsonb DEFAULT '{}'::jsonb NOT NULL,
    ours jsonb DEFAULT '{}'::jsonb NOT NULL,
    task_id bigint NOT NULL,
    task_no text NOT NULL,
    opened_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    ended_by text,
    conclusion text,
    CONSTRAINT recon_difference_class_check CHECK ((class = ANY (ARRAY['missing_here'::text, 'unpaid_here'::text, 'missing_there'::text, 'state'::text, 'amount'::text, 'duplicate'::text, 'not_delivered'::text]))),
    CONSTRAINT recon_difference_kind_check CHECK ((kind = ANY (ARRAY['payment'::text, 'refund'::text, 'delivery'::text])))
);

ALTER TABLE postrider.recon_difference OWNER TO postrider_owner;

--
-- Name: recon_differ(postrider.recon_difference); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_differ(d postrider.recon_difference) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    new_id bigint;
    biz_type text;
    biz_id text;
    number text;
    t postrider.task;
BEGIN
    -- a correction that says it again takes it over
    UPDATE postrider.recon_difference AS x SET file_id = d.file_id, n = d.n, line = d.line
    WHERE x.key = d.key AND x.state = 'open' AND (x.file_id, x.n) IS DISTINCT FROM (d.file_id, d.n);
    IF EXISTS (SELECT FROM postrider.recon_difference AS x WHERE x.key = d.key) THEN
        RETURN false;
    END IF;
    new_id := nextval('postrider.recon_difference_id_seq');
    biz_type := CASE WHEN d.class = 'not_delivered' THEN 'delivery' WHEN d.class NOT IN ('unpaid_here', 'state', 'missing_there') THEN 'difference_review'
                     WHEN d.refund_id IS NOT NULL THEN 'refund_review' WHEN d.class = 'unpaid_here' THEN 'state_repair' ELSE 'state_verification' END;
    biz_id := CASE biz_type WHEN 'difference_review' THEN new_id::text WHEN 'delivery' THEN left(d.merchant_id || '/' || d.order_no, 128)
                            WHEN 'refund_review' THEN d.refund_id::text ELSE d.payment_id::text END;
    number := postrider.task_open(biz_type, biz_id, CASE WHEN biz_type = 'difference_review' THEN 'MANUAL' ELSE 'WAITING' END, 'difference', d.merchant_id,
        d.order_no, d.payment_id, d.reason, format('%s %s: %s', d.channel, d.statement_date, d.reason),
        jsonb_strip_nulls(jsonb_build_object('difference_id', new_id, 'class', d.class, 'payment_id', d.payment_id, 'refund_id', d.refund_id,
            -- what the channel is said to have said: the task asks it
            'channel_state', CASE WHEN d.class = 'missing_there' THEN 'missing'
                                  WHEN d.reason = 'REFUND_NOT_HERE' THEN CASE WHEN d.theirs -> 'amount_minor' = d.ours -> 'amount_minor' THEN 'refunded' ELSE 'partially_refunded' END
                                  WHEN d.class IN ('unpaid_here', 'state') THEN CASE d.theirs ->> 'state' WHEN 'PENDING' THEN 'processing' WHEN 'UNKNOWN' THEN NULL
                                                                                ELSE lower(d.theirs ->> 'state') END END,
            'theirs', d.theirs - 'raw', 'ours', d.ours)));
    UPDATE postrider.task AS x SET difference_id = coalesce(x.difference_id, new_id) WHERE x.task_no = number RETURNING x.* INTO t;
    INSERT INTO postrider.recon_difference (id, key, class, reason, kind, state, channel, channel_no, statement_date, file_id, n, line, merchant_id,
        order_no, payment_id, refund_id, reference, theirs, ours, task_id, task_no)
    OVERRIDING SYSTEM VALUE
    VALUES (new_id, d.key, d.class, d.reason, d.kind, 'open', d.channel, d.channel_no, d.statement_date, d.file_id, d.n, d.line, d.merchant_id,
        d.order_no, d.payment_id, d.refund_id, d.reference, d.theirs, d.ours, t.id, t.task_no);
    RETURN true;
END $$;

ALTER FUNCTION postrider.recon_differ(d postrider.recon_difference) OWNER TO postrider_owner;

--
-- Name: recon_differences; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.recon_differences AS
 SELECT d.id AS difference_id,
    d.class,
    d.reason,
    d.kind,
    d.state AS status,
    d.channel,
    d.statement_date,
    d.file_id,
    d.line,
    d.merchant_id,
    d.order_no,
    d.payment_id,
    d.refund_id,
    d.reference,
    d.theirs,
    d.ours,
    d.task_no,
    t.biz_type AS task_type,
    t.state AS task_status,
    d.opened_at,
    d.ended_at,
    d.ended_by,
    d.conclusion
   FROM (postrider.recon_difference d
     LEFT JOIN LATERAL ( SELECT x.biz_type,
            x.state
           FROM postrider.task x
          WHERE (x.id = d.task_id)
         LIMIT 1) t ON (true));

ALTER TABLE postrider.recon_differences OWNER TO postrider_owner;

--
-- Name: recon_difference_list(text, text, text, text, text, bigint, bigint, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_difference_list(channel text, class text, status text, merchant_id text, order_no text, file_id bigint, before bigint, most integer) RETURNS SETOF postrider.recon_differences
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $_$
    SELECT d.* FROM postrider.recon_differences AS d
    WHERE d.difference_id < coalesce($7, 9223372036854775807) AND ($1 IS NULL OR d.channel = $1) AND ($2 IS NULL OR d.class = $2)
      AND ($3 IS NULL OR d.status = $3) AND ($4 IS NULL OR d.merchant_id = $4) AND ($5 IS NULL OR d.order_no = $5) AND ($6 IS NULL OR d.file_id = $6)
    ORDER BY d.difference_id DESC LIMIT least(greatest($8, 0), 1000)
$_$;

ALTER FUNCTION postrider.recon_difference_list(channel text, class text, status text, merchant_id text, order_no text, file_id bigint, before bigint, most integer) OWNER TO postrider_owner;

--
-- Name: recon_due(text, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_due(claimed_by text, most integer) RETURNS TABLE(channel text, statement_date date, source text, format text, tries integer, late boolean, correct boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_column
DECLARE
    one record;
BEGIN
    INSERT INTO postrider.recon_run AS r (channel, statement_date, due_at, next_at)
    SELECT s.channel, d.day::date, postrider.recon_due_at(s.zone, s.ready, d.day::date), now()
    FROM postrider.recon_channel AS s
    CROSS JOIN LATERAL generate_series(greatest(s.starts, postrider.recon_last_day(s.zone, s.ready, now()) - 31)::timestamp,
                                       postrider.recon_last_day(s.zone, s.ready, now())::timestamp, '1 day') AS d (day)
    WHERE s.source <> 'none'
    ON CONFLICT DO NOTHING;
    UPDATE postrider.recon_run AS r SET done_at = now()
    WHERE r.done_at IS NULL AND r.asked_by IS NULL AND postrider.recon_has_come(r.channel, r.statement_date);
    FOR one IN SELECT r.channel, r.statement_date, r.tries, r.due_at, r.asked_by, r.asked_correct, coalesce(r.asked_source, s.source) AS source,
                      coalesce(r.asked_format, s.format) AS format, s.late, coalesce(s.source, 'none') <> 'none' AS expected
               FROM postrider.recon_run AS r LEFT JOIN postrider.recon_channel AS s ON s.channel = r.channel
               WHERE r.done_at IS NULL AND r.next_at <= now() AND coalesce(r.claimed_until <= now(), true)
                 AND (r.asked_by IS NOT NULL OR s.source <> 'none')
               ORDER BY r.asked_by IS NULL, r.statement_date, r.channel LIMIT most FOR UPDATE OF r SKIP LOCKED LOOP
        UPDATE postrider.recon_run AS r SET claimed_until = now() + interval '10 min', claimed_by = left(recon_due.claimed_by, 128), tries = r.tries + 1,
               next_at = now() + postrider.recon_again(r.tries + 1), last_at = now(), asked_taken = CASE WHEN r.asked_by IS NOT NULL THEN true END
        WHERE r.channel = one.channel AND r.statement_date = one.statement_date;
        channel := one.channel;
        statement_date := one.statement_date;
        source := one.source;
        format := one.format;
        tries := one.tries + 1;
        late := one.expected AND now() > one.due_at + one.late;
        correct := coalesce(one.asked_correct, false);
        IF late THEN
            PERFORM postrider.alert_raise('statement_late', one.channel, 'warn',
                format('the statement for %s was due at %s and has not come (%s tries)', one.statement_date, postrider.json_time(one.due_at), tries));
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

ALTER FUNCTION postrider.recon_due(claimed_by text, most integer) OWNER TO postrider_owner;

--
-- Name: recon_due_at(text, interval, date); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_due_at(zone text, ready interval, day date) RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT ((day + 1)::timestamp + ready) AT TIME ZONE zone
$$;

ALTER FUNCTION postrider.recon_due_at(zone text, ready interval, day date) OWNER TO postrider_owner;

--
-- Name: recon_explain(bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_explain(difference_id bigint, why text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    d postrider.recon_difference;
BEGIN
    UPDATE postrider.recon_difference AS x SET state = 'explained', ended_at = now(), ended_by = 'postrider', conclusion = why
    WHERE x.id = $1 AND x.state = 'open' RETURNING x.* INTO d;
    IF FOUND AND NOT EXISTS (SELECT FROM postrider.recon_difference AS o WHERE o.task_id = d.task_id AND o.state = 'open') THEN
        PERFORM postrider.task_done(t.biz_type, t.biz_id, 'EXPLAINED', jsonb_build_object('explained', why))
        FROM postrider.task AS t WHERE t.id = d.task_id;
    END IF;
END $_$;

ALTER FUNCTION postrider.recon_explain(difference_id bigint, why text) OWNER TO postrider_owner;

--
-- Name: recon_file_close(text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_file_close(who text, file_id bigint, reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    f CONSTANT postrider.recon_file := postrider.recon_file_locked(file_id);
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the reason is missing', HINT = 'Say what is wrong with it: it is written down.';
    END IF;
    UPDATE postrider.recon_file AS x SET state = 'closed', updated_at = now() WHERE x.id = f.id;
    PERFORM postrider.audit_add(who, 'recon.close', f.id::text, reason, jsonb_build_object('was', f.reason, 'channel', f.channel, 'date', f.statement_date));
END $$;

ALTER FUNCTION postrider.recon_file_close(who text, file_id bigint, reason text) OWNER TO postrider_owner;

--
-- Name: recon_file; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.recon_file (
    id bigint NOT NULL,
    channel text NOT NULL,
    channel_no integer NOT NULL,
    statement_date date NOT NULL,
    from_at timestamp with time zone NOT NULL,
    to_at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    source text NOT NULL,
    who text NOT NULL,
    corrects bigint,
    state text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    sha256 text DEFAULT ''::text NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    rows bigint DEFAULT 0 NOT NULL,
    items bigint DEFAULT 0 NOT NULL,
    bad bigint DEFAULT 0 NOT NULL,
    proof text DEFAULT ''::text NOT NULL,
    sums jsonb DEFAULT '[]'::jsonb NOT NULL,
    facts jsonb DEFAULT '{}'::jsonb NOT NULL,
    matched_to bigint DEFAULT 0 NOT NULL,
    matched bigint DEFAULT 0 NOT NULL,
    differences bigint DEFAULT 0 NOT NULL,
    waiting bigint DEFAULT 0 NOT NULL,
    ignored bigint DEFAULT 0 NOT NULL,
    no_limit boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    matched_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT recon_file_kind_check CHECK ((kind ~ '^[a-z0-9-]{1,64}$'::text)),
    CONSTRAINT recon_file_name_check CHECK ((length(name) <= 255)),
    CONSTRAINT recon_file_source_check CHECK ((source = ANY (ARRAY['file'::text, 'directory'::text, 'download'::text])))
);

ALTER TABLE postrider.recon_file OWNER TO postrider_owner;

--
-- Name: recon_files; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.recon_files AS
 SELECT f.id AS file_id,
    f.channel,
    f.statement_date,
    f.kind,
    f.name,
    f.source,
    f.state AS status,
    f.reason,
    f.who,
    f.corrects,
    f.sha256,
    f.bytes,
    f.rows,
    f.items,
    f.bad,
    f.proof,
    f.sums,
    f.facts,
    f.matched_to,
    f.matched,
    f.differences,
    f.waiting,
    f.ignored,
    f.created_at,
    f.matched_at,
    f.updated_at
   FROM postrider.recon_file f;

ALTER TABLE postrider.recon_files OWNER TO postrider_owner;

--
-- Name: recon_file_list(text, text, bigint, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_file_list(channel text, status text, before bigint, most integer) RETURNS SETOF postrider.recon_files
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT f.* FROM postrider.recon_files AS f
    WHERE f.file_id < coalesce($3, 9223372036854775807) AND ($1 IS NULL OR f.channel = $1) AND ($2 IS NULL OR f.status = $2)
    ORDER BY f.file_id DESC LIMIT least(greatest($4, 0), 1000)
$_$;

ALTER FUNCTION postrider.recon_file_list(channel text, status text, before bigint, most integer) OWNER TO postrider_owner;

--
-- Name: recon_file_locked(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_file_locked(id bigint) RETURNS postrider.recon_file
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    f postrider.recon_file;
BEGIN
    SELECT x.* INTO f FROM postrider.recon_file AS x WHERE x.id = $1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no statement %s', coalesce(id::text, 'without an id')),
            HINT = 'postrider recon list shows those that are.';
    END IF;
    RETURN f;
END $_$;

ALTER FUNCTION postrider.recon_file_locked(id bigint) OWNER TO postrider_owner;

--
-- Name: recon_file_release(text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_file_release(who text, file_id bigint, reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    f CONSTANT postrider.recon_file := postrider.recon_file_locked(file_id);
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the reason is missing', HINT = 'Say why it may be trusted: it is written down.';
    ELSIF f.state <> 'held' OR f.reason LIKE 'UNREADABLE%' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('statement %s is %s', f.id, CASE f.state WHEN 'held' THEN 'unreadable' ELSE f.state END),
            HINT = 'Only one that is held, and could be read, is released. Import a correction instead.';
    END IF;
    UPDATE postrider.recon_file AS x SET state = 'imported', no_limit = x.no_limit OR x.reason LIKE 'TOO_MANY%', updated_at = now() WHERE x.id = f.id;
    PERFORM postrider.audit_add(who, 'recon.release', f.id::text, reason, jsonb_build_object('was', f.reason, 'channel', f.channel, 'date', f.statement_date));
END $$;

ALTER FUNCTION postrider.recon_file_release(who text, file_id bigint, reason text) OWNER TO postrider_owner;

--
-- Name: recon_finish(bigint, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_finish(file_id bigint, facts jsonb, OUT state text, OUT reason text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
#variable_conflict use_variable
DECLARE
    f CONSTANT postrider.recon_file := postrider.recon_file_locked(file_id);
    c postrider.channel;
    items CONSTANT bigint := (SELECT count(*) FROM postrider.recon_item AS i WHERE i.file_id = f.id);
    bad CONSTANT bigint := (SELECT count(*) FROM postrider.recon_bad_row AS b WHERE b.file_id = f.id);
    known bigint;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = f.channel;
    IF facts ->> 'error' IS NULL AND (items, bad) IS DISTINCT FROM ((facts ->> 'records')::bigint, (facts ->> 'bad')::bigint) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = format('%s rows and %s bad ones came, %s and %s were read', items, bad, facts ->> 'records', facts ->> 'bad'),
            HINT = 'Import it again.';
    END IF;
    SELECT x.id INTO known FROM postrider.recon_file AS x
    WHERE x.channel_no = f.channel_no AND x.sha256 = facts ->> 'sha256' AND x.rows > 0 AND x.state <> 'closed' AND x.id <> f.id ORDER BY x.id LIMIT 1;
    IF FOUND AND (facts ->> 'rows')::bigint > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR012', MESSAGE = format('these bytes are here already: statement %s', known), HINT = 'postrider recon show has what came of it.';
    END IF;
    reason := CASE
        WHEN facts ->> 'error' IS NOT NULL THEN 'UNREADABLE: ' || left(facts ->> 'error', 300)
        WHEN facts ->> 'proof' = 'differs' THEN 'TOTALS_DIFFER: ' || left(facts ->> 'difference', 300)
        WHEN bad > 100 AND bad > items THEN format('BAD_ROWS: %s of %s', bad, items + bad)
        WHEN coalesce(facts ->> 'account', '') <> '' AND c.account <> '' AND facts ->> 'account' <> c.account AND 'account' = ANY (c.match)
            THEN format('OTHER_ACCOUNT: it is about %s', left(facts ->> 'account', 128))
        WHEN postrider.time_of_us(facts ->> 'last_us') < f.from_at - interval '1 day' OR postrider.time_of_us(facts ->> 'first_us') > f.to_at + interval '1 day'
            THEN format('OTHER_DAY: from %s to %s', postrider.json_time(postrider.time_of_us(facts ->> 'first_us')), postrider.json_time(postrider.time_of_us(facts ->> 'last_us')))
        ELSE '' END;
    state := CASE WHEN reason = '' THEN 'imported' ELSE 'held' END;
    UPDATE postrider.recon_file AS x
    SET state = state, reason = reason, sha256 = coalesce(facts ->> 'sha256', ''), bytes = coalesce((facts ->> 'bytes')::bigint, 0),
        rows = CASE WHEN facts ->> 'error' IS NULL THEN items + bad ELSE 0 END, items = items, bad = bad, proof = coalesce(facts ->> 'proof', ''),
        sums = coalesce(facts -> 'sums', '[]'), facts = facts - 'sums', updated_at = now()
    WHERE x.id = f.id;
    IF state = 'held' THEN
        PERFORM postrider.alert_raise('statement_held', f.channel, 'warn', format('the statement for %s is held: %s', f.statement_date, reason));
    END IF;
    IF bad > 0 THEN
        PERFORM postrider.alert_raise('statement_rows', f.channel, 'warn', format('%s rows of the statement for %s could not be read', bad, f.statement_date));
    END IF;
    UPDATE postrider.recon_run AS r
    SET done_at = now(), last_error = NULL, claimed_until = NULL, file_id = f.id, asked_by = NULL, asked_source = NULL, asked_format = NULL, asked_correct = NULL,
        asked_taken = NULL
    WHERE r.channel = f.channel AND r.statement_date = f.statement_date;
    PERFORM postrider.alert_resolve('statement_late', f.channel)
    FROM (SELECT count(*) AS late FROM postrider.recon_run AS r WHERE r.channel = f.channel AND r.done_at IS NULL AND r.tries > 0) AS l WHERE l.late = 0;
END $$;

ALTER FUNCTION postrider.recon_finish(file_id bigint, facts jsonb, OUT state text, OUT reason text) OWNER TO postrider_owner;

--
-- Name: recon_former(postrider.recon_file); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_former(f postrider.recon_file) RETURNS bigint[]
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT ARRAY(WITH RECURSIVE v AS (
        SELECT f.corrects AS id
        UNION ALL
        SELECT x.corrects FROM v JOIN postrider.recon_file AS x ON x.id = v.id)
    SELECT v.id FROM v WHERE v.id IS NOT NULL)
$$;

ALTER FUNCTION postrider.recon_former(f postrider.recon_file) OWNER TO postrider_owner;

--
-- Name: recon_has_come(text, date); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_has_come(channel text, day date) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    SELECT EXISTS (SELECT FROM postrider.recon_file AS f WHERE f.channel_no = (SELECT c.no FROM postrider.channel AS c WHERE c.id = $1)
                   AND f.statement_date = $2 AND f.state NOT IN ('replaced', 'closed'))
$_$;

ALTER FUNCTION postrider.recon_has_come(channel text, day date) OWNER TO postrider_owner;

--
-- Name: recon_hold(text, date, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_hold(channel text, day date, claimed_by text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
#variable_conflict use_column
BEGIN
    UPDATE postrider.recon_run AS r SET claimed_until = now() + interval '10 min'
    WHERE r.channel = $1 AND r.statement_date = $2 AND r.done_at IS NULL AND r.claimed_by = left($3, 128);
    RETURN FOUND;
END $_$;

ALTER FUNCTION postrider.recon_hold(channel text, day date, claimed_by text) OWNER TO postrider_owner;

--
-- Name: recon_imported(integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_imported(most integer) RETURNS TABLE(file_id bigint, channel text, statement_date date)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT f.id, f.channel, f.statement_date FROM postrider.recon_file AS f WHERE f.state = 'imported' ORDER BY f.id LIMIT $1
$_$;

ALTER FUNCTION postrider.recon_imported(most integer) OWNER TO postrider_owner;

--
-- Name: recon_items(postrider.recon_file, bigint, bigint, bigint[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_items(f postrider.recon_file, lo bigint, hi bigint, these bigint[], OUT matched bigint, OUT opened bigint, OUT waiting bigint, OUT ignored bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    s CONSTANT postrider.recon_channel := postrider.recon_settings(f.channel);
    former CONSTANT bigint[] := postrider.recon_former(f);
    one record;
    d postrider.recon_difference;
BEGIN
    matched := 0; opened := 0; waiting := 0; ignored := 0;
    FOR one IN
        WITH seen AS MATERIALIZED (
            SELECT i.*, coalesce(w.id, r.payment_id) AS payment_id, r.id AS rid, r.state AS refund_state, r.amount_minor AS refund_amount
            FROM postrider.recon_item AS i
            CROSS JOIN LATERAL postrider.recon_payment(f.channel_no, i.reference, i.request_no) AS w
            LEFT JOIN LATERAL (SELECT x.id, x.payment_id, x.state, x.amount_minor FROM postrider.refund AS x WHERE i.kind = 'refund' AND x.id = (
                SELECT v.id FROM postrider.recon_refund(f.channel_no, w.id, i.refund_reference, i.refund_no, i.amount_minor) AS v) LIMIT 1) AS r ON true
            WHERE i.file_id = f.id AND i.n > lo AND i.n <= hi AND (these IS NULL OR i.n = ANY (these)) AND i.kind IN ('payment', 'refund')
        ), both_sides AS MATERIALIZED (
            SELECT i.*, p.id IS NOT NULL AS known, p.merchant_id, p.order_no, p.request_no AS our_no, p.gateway_reference AS our_reference, p.state AS our_state,
                   p.currency AS our_currency, CASE WHEN p.state = 'succeeded' THEN p.captured_minor ELSE p.amount_minor END AS our_amount,
                   p.refunded_minor, p.paid_at, p.final_at,
                   CASE WHEN p.id IS NULL OR i.kind = 'refund' AND i.rid IS NULL THEN NULL
                        ELSE postrider.recon_judge(i.kind, i.state, i.amount_minor, i.currency,
                            CASE i.kind WHEN 'payment' THEN p.state ELSE i.refund_state END,
                            CASE i.kind WHEN 'refund' THEN i.refund_amount WHEN 'payment' THEN CASE WHEN p.state = 'succeeded' THEN p.captured_minor ELSE p.amount_minor END END,
                            p.currency, coalesce((s.tolerance ->> i.currency)::bigint, 0)) END AS class
            FROM seen AS i
            LEFT JOIN LATERAL (SELECT x.* FROM postrider.payment AS x WHERE x.id = i.payment_id LIMIT 1) AS p ON true
        ), kept AS (
            INSERT INTO postrider.recon_match AS m (payment_id, refund_id, file_id, n)
            SELECT DISTINCT ON (b.payment_id, coalesce(b.rid, 0)) b.payment_id, coalesce(b.rid, 0), f.id, b.n FROM both_sides AS b
            WHERE b.known AND (b.kind = 'payment' OR b.rid IS NOT NULL)
            ORDER BY b.payment_id, coalesce(b.rid, 0), b.n
            ON CONFLICT (payment_id, refund_id) DO UPDATE SET file_id = excluded.file_id, n = excluded.n WHERE m.file_id = ANY (former)
            RETURNING m.n
        )
        -- IN: a hash, whatever the planner takes the two for; a join of what it does not know the size of would be one loop in the other
        SELECT o.* FROM (SELECT b.*, b.n IN (SELECT k.n FROM kept AS k) AS kept, (SELECT count(*) FROM kept) AS n_kept FROM both_sides AS b OFFSET 0) AS o
        WHERE NOT o.kept OR o.class IS NOT NULL OR o.request_no NOT IN (o.our_no, o.order_no, coalesce(o.our_reference, o.our_no))
        UNION ALL
        -- a row of its own says how many there were when nothing is odd
        SELECT z.*, NULL::boolean, (SELECT count(*) FROM kept) FROM (SELECT 1) AS q LEFT JOIN both_sides AS z ON false
        ORDER BY n NULLS FIRST
    LOOP
        IF one.n IS NULL THEN
            matched := one.n_kept;
            CONTINUE;
        END IF;
        d := NULL;
        d.kind := one.kind;
        d.class := one.class;
        d.reason := CASE one.class WHEN 'amount' THEN 'AMOUNT_MISMATCH' WHEN 'unpaid_here' THEN 'PAID_AT_CHANNEL' WHEN 'state' THEN 'STATE_MISMATCH' END;
        IF one.known AND one.request_no NOT IN (one.our_no, one.order_no, coalesce(one.our_reference, one.our_no)) THEN
            -- the channel's number says one payment, ours says another
            d.class := 'missing_here';
            d.reason := 'NUMBERS_DISAGREE';
        ELSIF one.known AND (one.kind = 'payment' OR one.rid IS NOT NULL) AND NOT one.kept THEN
            CONTINUE WHEN EXISTS (SELECT FROM postrider.recon_match AS m WHERE m.payment_id = one.payment_id AND m.refund_id = coalesce(one.rid, 0)
                                  AND (m.file_id = f.id AND m.n = one.n
                                       OR (SELECT x.kind FROM postrider.recon_file AS x WHERE x.id = m.file_id) <> f.kind));
            d.class := 'duplicate';
            d.reason := 'DUPLICATE_ROW';
        ELSIF one.known AND one.kind = 'refund' AND one.rid IS NULL THEN
            d.class := 'state';
            d.reason := 'REFUND_NOT_HERE';
        ELSIF NOT one.known THEN
            d.class := 'missing_here';
            d.reason := 'NOT_HERE';
        END IF;
        IF one.kept AND d.class IS NOT NULL THEN
            matched := matched - 1;              -- it is accounted for, but does not agree
        END IF;
        IF one.state <> 'SUCCEEDED' AND d.class = 'missing_here' AND d.reason = 'NOT_HERE' OR one.state NOT IN ('SUCCEEDED', 'PENDING') AND d.reason = 'REFUND_NOT_HERE' THEN
            ignored := ignored + 1;              -- no money moved, and nobody here knows of it
            CONTINUE;
        END IF;
        IF d.reason IN ('NOT_HERE', 'REFUND_NOT_HERE') AND coalesce(one.occurred_at, f.to_at) + s.pool_age > now() THEN
            INSERT INTO postrider.recon_open (side, channel_no, file_id, n, since, until)
            VALUES ('theirs', f.channel_no, f.id, one.n, coalesce(one.occurred_at, f.to_at), coalesce(one.occurred_at, f.to_at) + s.pool_age)
            ON CONFLICT DO NOTHING;
            waiting := waiting + 1;
            CONTINUE;
        END IF;
        d.channel := f.channel;
        d.channel_no := f.channel_no;
        d.statement_date := f.statement_date;
        d.file_id := f.id;
        d.n := one.n;
        d.line := one.line;
        d.payment_id := CASE WHEN one.known THEN one.payment_id END;
        d.refund_id := one.rid;
        d.merchant_id := one.merchant_id;
        d.order_no := one.order_no;
        d.reference := coalesce(one.refund_reference, one.reference, one.request_no);
        d.theirs := jsonb_strip_nulls(jsonb_build_object('kind', one.kind, 'state', one.state, 'native', one.native, 'reference', one.reference,
            'request_no', one.request_no, 'refund_reference', one.refund_reference, 'refund_no', one.refund_no, 'amount_minor', one.amount_minor,
            'currency', one.currency, 'occurred_at', postrider.json_time(one.occurred_at), 'line', one.line, 'entry', one.entry, 'raw', left(one.raw, 1000),
            'tolerance', coalesce((s.tolerance ->> one.currency)::bigint, 0)));
        d.ours := CASE WHEN one.known THEN jsonb_strip_nulls(jsonb_build_object('state', CASE WHEN one.rid IS NOT NULL THEN one.refund_state ELSE one.our_state END,
            'amount_minor', CASE WHEN one.rid IS NOT NULL THEN one.refund_amount ELSE one.our_amount END, 'currency', one.our_currency,
            'request_no', one.our_no, 'reference', one.our_reference, 'refunded_minor', one.refunded_minor, 'final_at', postrider.json_time(one.final_at))) ELSE '{}' END;
        -- where a number names it, a correction finds the same one again
        d.key := concat_ws(':', f.channel_no, f.statement_date, f.kind, d.class, one.kind,
            coalesce(one.rid::text, CASE WHEN one.kind = 'payment' AND d.class <> 'duplicate' THEN d.payment_id::text END,
                     coalesce(one.refund_reference, one.refund_no, one.reference, one.request_no, '') || CASE WHEN d.class = 'duplicate' THEN '#' || one.line
                         WHEN coalesce(one.refund_reference, one.refund_no, one.reference, one.request_no) IS NULL THEN '#' || one.line ELSE '' END));
        IF postrider.recon_differ(d) THEN
            opened := opened + 1;
        END IF;
    END LOOP;
END $$;

ALTER FUNCTION postrider.recon_items(f postrider.recon_file, lo bigint, hi bigint, these bigint[], OUT matched bigint, OUT opened bigint, OUT waiting bigint, OUT ignored bigint) OWNER TO postrider_owner;

--
-- Name: recon_judge(text, text, bigint, text, text, bigint, text, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_judge(kind text, theirs text, their_amount bigint, their_currency text, ours text, our_amount bigint, our_currency text, tolerance bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE
        WHEN theirs IN ('SUCCEEDED', 'UNKNOWN') AND their_currency <> our_currency THEN 'amount'
        WHEN (theirs = 'SUCCEEDED' OR ours = 'succeeded') AND abs(their_amount - our_amount) > tolerance THEN 'amount'
        WHEN theirs = 'SUCCEEDED' THEN CASE WHEN ours = 'succeeded' THEN NULL WHEN ours IN ('created', 'processing') AND kind = 'payment' THEN 'unpaid_here' ELSE 'state' END
        WHEN theirs = 'UNKNOWN' THEN CASE WHEN ours IN ('created', 'processing') THEN 'state' END
        -- a refund that was under way when the statement was made may have arrived since
        WHEN theirs = 'PENDING' THEN CASE WHEN ours = 'succeeded' AND kind = 'payment' THEN 'state' END
        ELSE CASE WHEN ours IN ('failed', 'cancelled', 'reversed') THEN NULL ELSE 'state' END
    END
$$;

ALTER FUNCTION postrider.recon_judge(kind text, theirs text, their_amount bigint, their_currency text, ours text, our_amount bigint, our_currency text, tolerance bigint) OWNER TO postrider_owner;

--
-- Name: recon_last_day(text, interval, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_last_day(zone text, ready interval, at timestamp with time zone) RETURNS date
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
    -- a day is due long before the day after next: two candidates are enough, one more costs nothing
    SELECT max(d.day) FROM (SELECT (at AT TIME ZONE zone - ready)::date - n AS day FROM generate_series(0, 2) AS n) AS d
    WHERE postrider.recon_due_at(zone, ready, d.day) <= at
$$;

ALTER FUNCTION postrider.recon_last_day(zone text, ready interval, at timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: recon_match_step(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_match_step(file_id bigint, most integer, OUT state text, OUT matched_to bigint, OUT items bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    f postrider.recon_file := postrider.recon_file_locked(recon_match_step.file_id);
    s CONSTANT postrider.recon_channel := postrider.recon_settings(f.channel);
    room bigint := CASE WHEN f.no_limit THEN 9223372036854775807 ELSE s.max_differences END;
    got record;
    one record;
BEGIN
    state := f.state; matched_to := f.matched_to; items := f.items;
    IF f.state <> 'imported' THEN
        RETURN;
    END IF;
    -- one step of a channel at a time: a payment may stand in two files of it
    PERFORM pg_advisory_xact_lock(hashtextextended('postrider.recon ' || f.channel_no, 1));
    BEGIN
        IF f.matched_to < f.items THEN
            got := postrider.recon_items(f, f.matched_to, f.matched_to + most, NULL);
            UPDATE postrider.recon_file AS x
            SET matched_to = least(f.matched_to + most, f.items), matched = x.matched + got.matched, differences = x.differences + got.opened,
                waiting = x.waiting + got.waiting, ignored = x.ignored + got.ignored, updated_at = now()
            WHERE x.id = f.id RETURNING x.* INTO f;
        ELSE
            UPDATE postrider.recon_file AS x SET state = 'matched', matched_at = now(), updated_at = now() WHERE x.id = f.id;
            got := postrider.recon_other_side(f, room - f.differences);
            IF got.opened IS NULL THEN
                RAISE SQLSTATE 'PR011';
            END IF;
            UPDATE postrider.recon_file AS x SET differences = x.differences + got.opened, waiting = x.waiting + got.waiting WHERE x.id = f.id;
            -- of what this one corrects, what it does not say again is explained
            FOR one IN SELECT d.id FROM postrider.recon_difference AS d
                       WHERE d.file_id = ANY (postrider.recon_former(f)) AND d.state = 'open' AND d.n IS NOT NULL ORDER BY d.id LOOP
                PERFORM postrider.recon_explain(one.id, format('the corrected statement (%s) does not say it', f.id));
            END LOOP;
            PERFORM postrider.recon_pool_step(f.channel, 10000);
        END IF;
        IF f.differences > room THEN
            RAISE SQLSTATE 'PR011';
        END IF;
    EXCEPTION WHEN SQLSTATE 'PR011' THEN
        -- what this step has opened is undone: a person looks first
        UPDATE postrider.recon_file AS x SET state = 'held', reason = format('TOO_MANY_DIFFERENCES: more than %s', room), updated_at = now()
        WHERE x.id = f.id;
        PERFORM postrider.alert_raise('statement_held', f.channel, 'warn', format('the statement for %s is held: more than %s differences', f.statement_date, room));
    END;
    SELECT x.state, x.matched_to, x.items INTO state, matched_to, items FROM postrider.recon_file AS x WHERE x.id = f.id;
END $$;

ALTER FUNCTION postrider.recon_match_step(file_id bigint, most integer, OUT state text, OUT matched_to bigint, OUT items bigint) OWNER TO postrider_owner;

--
-- Name: recon_missed(text, date, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_missed(channel text, day date, error text) RETURNS timestamp with time zone
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    UPDATE postrider.recon_run AS r
    SET last_error = left($3, 500), last_at = now(), claimed_until = NULL,
        done_at = CASE WHEN r.asked_taken AND (postrider.recon_has_come($1, $2) OR NOT EXISTS (SELECT FROM postrider.recon_channel AS s
                       WHERE s.channel = $1 AND s.source <> 'none' AND s.starts <= $2)) THEN now() END,
        asked_by = CASE WHEN NOT r.asked_taken THEN r.asked_by END, asked_source = CASE WHEN NOT r.asked_taken THEN r.asked_source END,
        asked_format = CASE WHEN NOT r.asked_taken THEN r.asked_format END, asked_correct = CASE WHEN NOT r.asked_taken THEN r.asked_correct END,
        asked_taken = CASE WHEN NOT r.asked_taken THEN false END
    WHERE r.channel = $1 AND r.statement_date = $2 AND r.done_at IS NULL RETURNING r.next_at
$_$;

ALTER FUNCTION postrider.recon_missed(channel text, day date, error text) OWNER TO postrider_owner;

--
-- Name: recon_not_there(postrider.recon_file, bigint, bigint, timestamp with time zone); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_not_there(f postrider.recon_file, payment_id bigint, refund_id bigint, since timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    d postrider.recon_difference;
    p postrider.payment;
    r postrider.refund;
BEGIN
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = $2;
    SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = $3;
    d := NULL;
    d.class := 'missing_there';
    d.reason := 'NOT_IN_STATEMENT';
    d.kind := CASE WHEN r.id IS NULL THEN 'payment' ELSE 'refund' END;
    d.channel := p.channel;
    d.channel_no := p.channel_no;
    d.statement_date := (since AT TIME ZONE (postrider.recon_settings(p.channel)).zone)::date;
    d.file_id := f.id;
    d.merchant_id := p.merchant_id;
    d.order_no := p.order_no;
    d.payment_id := p.id;
    d.refund_id := r.id;
    d.reference := coalesce(r.gateway_reference, r.gateway_no, p.gateway_reference, p.request_no);
    d.theirs := '{}';
    d.ours := jsonb_strip_nulls(jsonb_build_object('state', coalesce(r.state, p.state), 'amount_minor', coalesce(r.amount_minor, p.captured_minor),
        'currency', p.currency, 'request_no', p.request_no, 'reference', p.gateway_reference, 'refund_no', r.gateway_no, 'since', postrider.json_time(since)));
    d.key := concat_ws(':', p.channel_no, 'missing_there', p.id, r.id);
    RETURN postrider.recon_differ(d);
END $_$;

ALTER FUNCTION postrider.recon_not_there(f postrider.recon_file, payment_id bigint, refund_id bigint, since timestamp with time zone) OWNER TO postrider_owner;

--
-- Name: recon_nothing(text, text, date, text, text, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_nothing(who text, channel text, day date, kind text, source text, correct boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    c postrider.channel;
    s CONSTANT postrider.recon_channel := postrider.recon_settings(channel);
    span CONSTANT record := postrider.recon_day(s.zone, day);
    ours bigint;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = channel;
    SELECT count(*) INTO ours FROM (
        SELECT FROM postrider.payment AS p WHERE p.channel_no = c.no AND p.final_at >= span.from_at AND p.final_at < span.to_at AND p.state = 'succeeded'
            AND p.amount_minor > 0 AND 'payment' = ANY (s.proves) LIMIT 1000) AS o;
    IF ours > 0 THEN
        RETURN format('the channel says that it has nothing for that day, but %s payments were paid here: its statement may not be made yet',
                      CASE WHEN ours = 1000 THEN '1000 or more' ELSE ours::text END);
    END IF;
    PERFORM postrider.recon_finish(postrider.recon_begin(who, channel, day, kind, 'nothing on that day', source, correct),
        '{"rows": 0, "records": 0, "bad": 0, "bytes": 0, "proof": "not_given", "said": "nothing on that day"}');
    RETURN NULL;
END $$;

ALTER FUNCTION postrider.recon_nothing(who text, channel text, day date, kind text, source text, correct boolean) OWNER TO postrider_owner;

--
-- Name: recon_other_side(postrider.recon_file, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_other_side(f postrider.recon_file, most bigint, OUT opened bigint, OUT waiting bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    s CONSTANT postrider.recon_channel := postrider.recon_settings(f.channel);
    one record;
    absent bigint := 0;
    lost jsonb := '[]';
BEGIN
    opened := 0; waiting := 0;
    FOR one IN
        SELECT * FROM (
            SELECT p.id AS payment_id, NULL::bigint AS refund_id, coalesce(p.paid_at, p.final_at) AS since FROM postrider.payment AS p
            WHERE p.channel_no = f.channel_no AND p.final_at >= f.from_at AND p.final_at < f.to_at AND p.state = 'succeeded' AND 'payment' = ANY (s.proves)
              AND p.amount_minor > 0
            UNION ALL
            SELECT r.payment_id, r.id, r.final_at FROM postrider.refund AS r
            WHERE r.final_at >= f.from_at AND r.final_at < f.to_at AND r.state = 'succeeded' AND 'refund' = ANY (s.proves)
              AND (SELECT p.channel_no FROM postrider.payment AS p WHERE p.id = r.payment_id) = f.channel_no) AS ours
        WHERE NOT postrider.recon_accounted(ours.payment_id, coalesce(ours.refund_id, 0))
    LOOP
        IF one.since + s.pool_age < f.to_at AND postrider.recon_covered(f.channel_no, one.since) THEN
            absent := absent + 1;
            IF absent > most THEN
                opened := NULL;
                RETURN;
            END IF;
            lost := lost || jsonb_build_array(jsonb_build_array(one.payment_id, one.refund_id, one.since));
        ELSE
            INSERT INTO postrider.recon_open (side, channel_no, file_id, payment_id, refund_id, since, until)
            VALUES ('ours', f.channel_no, f.id, one.payment_id, one.refund_id, one.since, one.since + s.pool_age) ON CONFLICT DO NOTHING;
            waiting := waiting + 1;
        END IF;
    END LOOP;
    FOR one IN SELECT (x.value ->> 0)::bigint AS payment_id, (x.value ->> 1)::bigint AS refund_id, (x.value ->> 2)::timestamptz AS since
               FROM jsonb_array_elements(lost) AS x LOOP
        IF postrider.recon_not_there(f, one.payment_id, one.refund_id, one.since) THEN
            opened := opened + 1;
        END IF;
    END LOOP;
END $$;

ALTER FUNCTION postrider.recon_other_side(f postrider.recon_file, most bigint, OUT opened bigint, OUT waiting bigint) OWNER TO postrider_owner;

--
-- Name: recon_payment(integer, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_payment(channel_no integer, reference text, request_no text) RETURNS TABLE(id bigint)
    LANGUAGE sql STABLE
    AS $_$
    SELECT coalesce(
        (SELECT p.id FROM postrider.payment AS p WHERE p.channel_no = $1 AND p.gateway_reference = $2),
        (SELECT p.id FROM postrider.payment AS p WHERE p.request_no = $3 AND p.channel_no = $1),
        (SELECT p.id FROM postrider.payment AS p WHERE p.channel_no = $1 AND p.gateway_reference = $3),
        -- two merchants' orders may have one number: then it says nothing
        (SELECT CASE WHEN count(*) = 1 THEN min(o.id) END FROM (SELECT p.id FROM postrider.payment AS p
            WHERE p.channel_no = $1 AND p.order_no = $3 AND p.request_no IS NULL LIMIT 2) AS o))
$_$;

ALTER FUNCTION postrider.recon_payment(channel_no integer, reference text, request_no text) OWNER TO postrider_owner;

--
-- Name: recon_pool_step(text, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_pool_step(channel text, most integer, OUT settled bigint, OUT opened bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $_$
DECLARE
    number CONSTANT int := (SELECT c.no FROM postrider.channel AS c WHERE c.id = $1);
    one record;
    f postrider.recon_file;
    got record;
BEGIN
    settled := 0; opened := 0;
    PERFORM pg_advisory_xact_lock(hashtextextended('postrider.recon ' || number, 1));
    -- theirs: those that are old enough, or are known by now
    FOR one IN SELECT o.file_id, array_agg(o.n ORDER BY o.n) AS ns FROM (
                   SELECT x.file_id, x.n FROM postrider.recon_open AS x
                   LEFT JOIN LATERAL (SELECT y.* FROM postrider.recon_item AS y WHERE y.file_id = x.file_id AND y.n = x.n LIMIT 1) AS i ON true
                   CROSS JOIN LATERAL postrider.recon_payment(number, i.reference, i.request_no) AS w
                   CROSS JOIN LATERAL postrider.recon_refund(number, w.id, i.refund_reference, i.refund_no, i.amount_minor) AS v
                   WHERE x.channel_no = number AND x.side = 'theirs'
                     AND (x.until <= now() OR CASE i.kind WHEN 'payment' THEN w.id ELSE v.id END IS NOT NULL) ORDER BY x.id LIMIT most) AS o
               GROUP BY o.file_id ORDER BY o.file_id LOOP
        SELECT x.* INTO f FROM postrider.recon_file AS x WHERE x.id = one.file_id FOR NO KEY UPDATE;
        CONTINUE WHEN f.state <> 'matched';
        DELETE FROM postrider.recon_open AS x WHERE x.file_id = f.id AND x.n = ANY (one.ns);
        got := postrider.recon_items(f, 0, f.items, one.ns);
        settled := settled + got.matched;
        opened := opened + got.opened;
        UPDATE postrider.recon_file AS x SET matched = x.matched + got.matched, differences = x.differences + got.opened,
            waiting = greatest(x.waiting - cardinality(one.ns) + got.waiting, 0) WHERE x.id = f.id;
    END LOOP;
    -- ours
    FOR one IN SELECT o.id, o.file_id, o.payment_id, o.refund_id, o.since, o.until FROM postrider.recon_open AS o
               WHERE o.channel_no = number AND o.side = 'ours' ORDER BY o.id LIMIT most LOOP
        IF postrider.recon_accounted(one.payment_id, coalesce(one.refund_id, 0)) THEN
            settled := settled + 1;
        ELSIF postrider.recon_covered(number, one.since) AND postrider.recon_covered(number, one.until) THEN
            SELECT x.* INTO f FROM postrider.recon_file AS x WHERE x.id = one.file_id;
            IF postrider.recon_not_there(f, one.payment_id, one.refund_id, one.since) THEN
                opened := opened + 1;
                UPDATE postrider.recon_file AS x SET differences = x.differences + 1 WHERE x.id = f.id;
            END IF;
        ELSIF one.until >= (SELECT min(x.from_at) FROM postrider.recon_file AS x WHERE x.channel_no = number AND x.state = 'matched') THEN
            CONTINUE;
        END IF;                                   -- else: before the first statement that ever came
        DELETE FROM postrider.recon_open AS o WHERE o.id = one.id;
        UPDATE postrider.recon_file AS x SET waiting = greatest(x.waiting - 1, 0) WHERE x.id = one.file_id;
    END LOOP;
    -- explained by a later statement, or by time
    FOR one IN SELECT d.id FROM postrider.recon_difference AS d WHERE d.state = 'open' AND d.channel_no = number AND d.class = 'missing_there'
               AND postrider.recon_accounted(d.payment_id, coalesce(d.refund_id, 0)) ORDER BY d.id LIMIT most LOOP
        PERFORM postrider.recon_explain(one.id, 'a later statement has it');
        settled := settled + 1;
    END LOOP;
END $_$;

ALTER FUNCTION postrider.recon_pool_step(channel text, most integer, OUT settled bigint, OUT opened bigint) OWNER TO postrider_owner;

--
-- Name: recon_pools(integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_pools(most integer, OUT settled bigint, OUT opened bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    one text;
    got record;
BEGIN
    settled := 0; opened := 0;
    FOR one IN SELECT c.id FROM postrider.channel AS c WHERE EXISTS (SELECT FROM postrider.recon_open AS o WHERE o.channel_no = c.no)
               OR EXISTS (SELECT FROM postrider.recon_difference AS d WHERE d.channel_no = c.no AND d.state = 'open' AND d.class = 'missing_there')
               ORDER BY c.no LOOP
        got := postrider.recon_pool_step(one, most);
        settled := settled + got.settled;
        opened := opened + got.opened;
    END LOOP;
END $$;

ALTER FUNCTION postrider.recon_pools(most integer, OUT settled bigint, OUT opened bigint) OWNER TO postrider_owner;

--
-- Name: recon_purge(interval, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_purge(retention interval, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    one bigint;
    gone bigint;
    total bigint := 0;
BEGIN
    FOR one IN SELECT f.id FROM postrider.recon_file AS f WHERE f.state IN ('matched', 'replaced', 'closed') AND f.updated_at < now() - retention
               AND EXISTS (SELECT FROM postrider.recon_item AS i WHERE i.file_id = f.id) ORDER BY f.id LIMIT 10 LOOP
        DELETE FROM postrider.recon_item AS i WHERE i.file_id = one
           AND i.n = ANY (ARRAY(SELECT x.n FROM postrider.recon_item AS x WHERE x.file_id = one ORDER BY x.n LIMIT most - total));
        GET DIAGNOSTICS gone = ROW_COUNT;
        total := total + gone;
        EXIT WHEN total >= most;
    END LOOP;
    RETURN total;
END $$;

ALTER FUNCTION postrider.recon_purge(retention interval, most integer) OWNER TO postrider_owner;

--
-- Name: recon_bad_row; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.recon_bad_row (
    id bigint NOT NULL,
    file_id bigint NOT NULL,
    line bigint NOT NULL,
    reason text NOT NULL,
    detail text,
    raw text NOT NULL,
    closed_at timestamp with time zone,
    closed_by text,
    conclusion text
);

ALTER TABLE postrider.recon_bad_row OWNER TO postrider_owner;

--
-- Name: recon_quarantine; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.recon_quarantine AS
 SELECT b.id AS row_id,
    b.file_id,
    f.channel,
    f.statement_date,
    f.name,
    b.line,
    b.reason,
    b.detail,
    b.raw,
    f.created_at,
    b.closed_at,
    b.closed_by,
    b.conclusion
   FROM (postrider.recon_bad_row b
     JOIN LATERAL ( SELECT x.channel,
            x.statement_date,
            x.name,
            x.created_at
           FROM postrider.recon_file x
          WHERE (x.id = b.file_id)
         LIMIT 1) f ON (true));

ALTER TABLE postrider.recon_quarantine OWNER TO postrider_owner;

--
-- Name: recon_quarantine_list(bigint, boolean, bigint, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_quarantine_list(file_id bigint, open boolean, before bigint, most integer) RETURNS SETOF postrider.recon_quarantine
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $_$
    SELECT q.* FROM postrider.recon_quarantine AS q
    WHERE q.row_id < coalesce($3, 9223372036854775807) AND ($1 IS NULL OR q.file_id = $1) AND (NOT coalesce($2, false) OR q.closed_at IS NULL)
    ORDER BY q.row_id DESC LIMIT least(greatest($4, 0), 1000)
$_$;

ALTER FUNCTION postrider.recon_quarantine_list(file_id bigint, open boolean, before bigint, most integer) OWNER TO postrider_owner;

--
-- Name: recon_refund(integer, bigint, text, text, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_refund(channel_no integer, payment_id bigint, refund_reference text, refund_no text, amount bigint) RETURNS TABLE(id bigint)
    LANGUAGE sql STABLE
    AS $_$
    SELECT coalesce(
        (SELECT r.id FROM postrider.refund AS r WHERE r.gateway_no = $4
            AND (SELECT p.channel_no FROM postrider.payment AS p WHERE p.id = r.payment_id) = $1),
        (SELECT r.id FROM postrider.refund AS r WHERE r.payment_id = $2 AND r.gateway_reference = $3 ORDER BY r.id LIMIT 1),
        (SELECT r.id FROM postrider.refund AS r WHERE r.payment_id = $2 AND r.refund_no = $4),
        (SELECT CASE WHEN count(*) = 1 THEN min(o.id) END FROM (SELECT r.id FROM postrider.refund AS r
            WHERE r.payment_id = $2 AND r.amount_minor = $5 AND $3 IS NULL AND $4 IS NULL LIMIT 2) AS o))
$_$;

ALTER FUNCTION postrider.recon_refund(channel_no integer, payment_id bigint, refund_reference text, refund_no text, amount bigint) OWNER TO postrider_owner;

--
-- Name: recon_release(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_release(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM postrider.args_check(a, 'file_id', 'reason');
    PERFORM postrider.recon_file_release(who, postrider.arg_id(a, 'file_id'), postrider.arg_text(a, 'reason', 500, true));
    RETURN jsonb_build_object('ok', true);
END $$;

ALTER FUNCTION postrider.recon_release(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: recon_report(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_report(file_id bigint) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $_$
    SELECT jsonb_build_object('file_id', f.id, 'channel', f.channel, 'date', f.statement_date, 'kind', f.kind, 'status', f.state, 'reason', f.reason,
        'rows', f.rows, 'items', f.items, 'bad', f.bad, 'proof', f.proof, 'sums', f.sums, 'matched', f.matched, 'waiting', f.waiting, 'ignored', f.ignored,
        'differences', coalesce((SELECT jsonb_object_agg(g.class, g.n) FROM (SELECT d.class, count(*) AS n FROM postrider.recon_difference AS d
                                 WHERE d.file_id = f.id GROUP BY d.class) AS g), '{}'))
    FROM postrider.recon_file AS f WHERE f.id = $1
$_$;

ALTER FUNCTION postrider.recon_report(file_id bigint) OWNER TO postrider_owner;

--
-- Name: recon_row_close(text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_row_close(who text, row_id bigint, reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the reason is missing', HINT = 'Say what came of it: it is written down.';
    ELSIF NOT EXISTS (SELECT FROM postrider.recon_bad_row AS b WHERE b.id = row_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no quarantined row %s', row_id), HINT = 'postrider recon rows lists them.';
    END IF;
    UPDATE postrider.recon_bad_row AS b SET closed_at = now(), closed_by = left(who, 128), conclusion = left(reason, 500)
    WHERE b.id = row_id AND b.closed_at IS NULL;
    IF FOUND THEN
        PERFORM postrider.audit_add(who, 'quarantine.close', row_id::text, reason, '{}');
        RETURN true;
    END IF;
    RETURN false;
END $$;

ALTER FUNCTION postrider.recon_row_close(who text, row_id bigint, reason text) OWNER TO postrider_owner;

--
-- Name: recon_run_ask(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_run_ask(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "DateStyle" TO 'ISO, YMD'
    AS $_$
DECLARE
    day date;
BEGIN
    PERFORM postrider.args_check(a, 'channel', 'date', 'source', 'format', 'correct', 'reason');
    BEGIN
        day := CASE WHEN a ->> 'date' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' THEN (a ->> 'date')::date END;
    EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format THEN
        NULL;
    END;
    IF day IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'date is no day', HINT = 'Write it as 2026-11-30.';
    END IF;
    PERFORM postrider.recon_ask(who, postrider.arg_text(a, 'channel', 56, true), day, a ->> 'source', nullif(a ->> 'format', ''),
                                a -> 'correct' = 'true', postrider.arg_text(a, 'reason', 500, true));
    RETURN jsonb_build_object('ok', true, 'says', 'The reconciler takes it at its next look.');
END $_$;

ALTER FUNCTION postrider.recon_run_ask(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: recon_runs_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_runs_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    day date := 'infinity';
    named text := '';
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'channel', 'open', 'limit', 'after');
    IF a ->> 'after' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}/' THEN
        day := left(a ->> 'after', 10)::date;
        named := substr(a ->> 'after', 12);
    END IF;
    RETURN postrider.page_json(ARRAY(
        SELECT to_jsonb(r) || jsonb_build_object('due_at', postrider.json_time(r.due_at), 'next_at', postrider.json_time(r.next_at), 'last_at', postrider.json_time(r.last_at),
            'done_at', postrider.json_time(r.done_at), 'cursor', r.statement_date || '/' || r.channel)
        FROM postrider.recon_runs AS r
        WHERE (a ->> 'channel' IS NULL OR r.channel = a ->> 'channel') AND ((a ->> 'open')::boolean IS NOT TRUE OR r.done_at IS NULL)
          AND r.statement_date <= day AND (r.statement_date < day OR r.channel > named)
        ORDER BY r.statement_date DESC, r.channel LIMIT most + 1), most);
END $$;

ALTER FUNCTION postrider.recon_runs_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: recon_set(text, text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_set(who text, channel text, settings jsonb, reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    former postrider.recon_channel;
    s postrider.recon_channel;
    bad text;
BEGIN
    PERFORM postrider.channel_locked(channel);
    former := postrider.recon_settings(channel);
    SELECT format('%L is no setting of statements', left(k.key, 80)) INTO bad FROM jsonb_object_keys(settings) AS k (key)
    WHERE k.key NOT IN ('zone', 'format', 'source', 'ready', 'late', 'starts', 'proves', 'pool_age', 'tolerance', 'max_differences') LIMIT 1;
    IF bad IS NULL THEN
        BEGIN
            s := jsonb_populate_record(former, settings);
            bad := CASE
                WHEN NOT EXISTS (SELECT FROM pg_timezone_names AS z WHERE z.name = s.zone) THEN format('%L is no time zone', left(s.zone, 80))
                WHEN s.format !~ '^[a-z0-9-]{1,64}$' THEN 'format is not 1 to 64 of a-z 0-9 -'
                WHEN jsonb_typeof(s.tolerance) <> 'object' OR EXISTS (SELECT FROM jsonb_each(s.tolerance) AS t
                     WHERE t.key !~ '^[A-Z]{3}$' OR t.value::text !~ '^[0-9]{1,9}$') THEN 'tolerance is not an object of currencies to minor units' END;
            IF bad IS NULL THEN
                IF s.source <> 'none' AND s.starts IS NULL THEN
                    s.starts := (now() AT TIME ZONE s.zone)::date;
                END IF;
                INSERT INTO postrider.recon_channel AS x VALUES (s.*)
                ON CONFLICT ON CONSTRAINT recon_channel_pkey DO UPDATE
                SET zone = s.zone, format = s.format, source = s.source, ready = s.ready, late = s.late, starts = s.starts, proves = s.proves,
                    pool_age = s.pool_age, tolerance = s.tolerance, max_differences = s.max_differences, updated_at = now();
            END IF;
        EXCEPTION WHEN data_exception OR invalid_text_representation OR integrity_constraint_violation THEN
            bad := 'a setting has a value that it does not take: ' || SQLERRM;
        END;
    END IF;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = bad, HINT = 'postrider recon set --help lists the settings and their form.';
    END IF;
    PERFORM postrider.audit_add(who, 'recon.set', channel, reason, jsonb_build_object('set', settings, 'before',
        (SELECT jsonb_object_agg(b.key, b.value) FROM jsonb_each(to_jsonb(former)) AS b WHERE settings ? b.key)));
END $_$;

ALTER FUNCTION postrider.recon_set(who text, channel text, settings jsonb, reason text) OWNER TO postrider_owner;

--
-- Name: recon_channel; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.recon_channel (
    channel text NOT NULL,
    zone text DEFAULT 'UTC'::text NOT NULL,
    format text,
    source text DEFAULT 'none'::text NOT NULL,
    ready interval DEFAULT '10:00:00'::interval NOT NULL,
    late interval DEFAULT '04:00:00'::interval NOT NULL,
    starts date,
    proves text[] DEFAULT '{payment,refund}'::text[] NOT NULL,
    pool_age interval DEFAULT '02:00:00'::interval NOT NULL,
    tolerance jsonb DEFAULT '{}'::jsonb NOT NULL,
    max_differences integer DEFAULT 1000 NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT recon_channel_late_check CHECK ((late >= '00:00:00'::interval)),
    CONSTRAINT recon_channel_max_differences_check CHECK ((max_differences > 0)),
    CONSTRAINT recon_channel_pool_age_check CHECK (((pool_age >= '00:00:00'::interval) AND (pool_age <= '7 days'::interval))),
    CONSTRAINT recon_channel_proves_check CHECK ((proves <@ '{payment,refund}'::text[])),
    CONSTRAINT recon_channel_ready_check CHECK (((ready >= '00:00:00'::interval) AND (ready <= '5 days'::interval))),
    CONSTRAINT recon_channel_source_check CHECK ((source = ANY (ARRAY['none'::text, 'directory'::text, 'download'::text])))
);

ALTER TABLE postrider.recon_channel OWNER TO postrider_owner;

--
-- Name: recon_settings(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_settings(channel text) RETURNS postrider.recon_channel
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    s postrider.recon_channel;
BEGIN
    SELECT x.* INTO s FROM postrider.recon_channel AS x WHERE x.channel = $1;
    IF NOT FOUND THEN
        s := ROW ($1, 'UTC', NULL, 'none', '10:00', '4 hours', NULL, '{payment,refund}', '2 hours', '{}', 1000, now());
    END IF;
    RETURN s;
END $_$;

ALTER FUNCTION postrider.recon_settings(channel text) OWNER TO postrider_owner;

--
-- Name: recon_still(postrider.recon_difference); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_still(d postrider.recon_difference) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    p postrider.payment;
    r postrider.refund;
    rid bigint := d.refund_id;
    class text;
BEGIN
    SELECT x.* INTO p FROM postrider.payment AS x WHERE x.id = d.payment_id;
    IF d.class = 'not_delivered' THEN
        class := CASE WHEN NOT EXISTS (SELECT FROM postrider.fulfilment AS f WHERE f.merchant_id = d.merchant_id AND f.order_no = d.order_no AND f.state = 'delivered')
                       AND p.refunded_minor < p.captured_minor THEN d.class END;
    ELSIF d.class = 'missing_there' THEN
        class := CASE WHEN NOT postrider.recon_accounted(d.payment_id, coalesce(d.refund_id, 0)) THEN d.class END;
    ELSIF d.class NOT IN ('state', 'unpaid_here') THEN
        class := d.class;
    ELSIF d.kind = 'payment' AND p.state IN ('failed', 'cancelled') AND d.theirs ->> 'state' = 'SUCCEEDED'
          AND EXISTS (SELECT FROM postrider.task AS t WHERE t.payment_id = p.id AND t.biz_type IN ('late_money', 'second_success')) THEN
        class := NULL;                           -- money after the end: it has a task of its own
    ELSIF d.kind = 'payment' THEN
        class := postrider.recon_judge('payment', d.theirs ->> 'state', (d.theirs ->> 'amount_minor')::bigint, d.theirs ->> 'currency', p.state,
            CASE WHEN p.state = 'succeeded' THEN p.captured_minor ELSE p.amount_minor END, p.currency, (d.theirs ->> 'tolerance')::bigint);
    ELSE
        rid := coalesce(rid, (SELECT x.id FROM postrider.recon_refund(d.channel_no, d.payment_id, d.theirs ->> 'refund_reference',
                                                                      d.theirs ->> 'refund_no', (d.theirs ->> 'amount_minor')::bigint) AS x));
        SELECT x.* INTO r FROM postrider.refund AS x WHERE x.id = rid;
        class := CASE WHEN r.id IS NULL THEN d.class ELSE postrider.recon_judge('refund', d.theirs ->> 'state', (d.theirs ->> 'amount_minor')::bigint,
            d.theirs ->> 'currency', r.state, r.amount_minor, p.currency, (d.theirs ->> 'tolerance')::bigint) END;
    END IF;
    RETURN class || ': ' || d.reason;
END $$;

ALTER FUNCTION postrider.recon_still(d postrider.recon_difference) OWNER TO postrider_owner;

--
-- Name: recon_verdict(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.recon_verdict(task_id bigint) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT s.still FROM (SELECT postrider.recon_still(d) AS still FROM postrider.recon_difference AS d WHERE d.task_id = $1 AND d.state = 'open') AS s
    WHERE s.still IS NOT NULL LIMIT 1
$_$;

ALTER FUNCTION postrider.recon_verdict(task_id bigint) OWNER TO postrider_owner;

--
-- Name: redrive_letters(text, text, jsonb, timestamp with time zone, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.redrive_letters(who text, why text, filter jsonb, before timestamp with time zone, most integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    n bigint;
BEGIN
    WITH m AS MATERIALIZED (
        SELECT * FROM postrider.dead_matching(filter, before, most)
    ), l AS MATERIALIZED (
        SELECT m.outbox_id, m.endpoint FROM m
        CROSS JOIN LATERAL (SELECT FROM postrider.dead AS x WHERE x.outbox_id = m.outbox_id
                            AND CASE WHEN x.endpoint = m.endpoint AND x.state = 'open' THEN true END FOR UPDATE SKIP LOCKED) AS d
    ), u AS (
        UPDATE postrider.dead AS d
        SET state = 'redriven', closed_by = left(who, 128), closed_reason = left(why, 500), closed_at = now()
        WHERE d.outbox_id = ANY (ARRAY(SELECT l.outbox_id FROM l))
          AND CASE WHEN (d.outbox_id, d.endpoint) IN (SELECT l.outbox_id, l.endpoint FROM l) THEN true END
        RETURNING d.outbox_id, d.outbox_at, d.endpoint, d.class
    )
    INSERT INTO postrider.outbox (class, kind, merchant_id, order_no, event, status, version, notify_id, notify_url, body,
                                  ref_at, ref_id, ref_endpoint)
    SELECT u.class, 1, b.merchant_id, b.order_no, b.event, b.status, b.version, b.notify_id, b.notify_url, '',
           u.outbox_at, u.outbox_id, u.endpoint
    FROM u CROSS JOIN LATERAL (
        SELECT o.* FROM postrider.outbox AS o WHERE o.at = u.outbox_at AND o.id = u.outbox_id
        UNION ALL
        SELECT o.* FROM postrider.outbox_kept AS o WHERE o.id = u.outbox_id
        LIMIT 1) AS b
    ORDER BY u.outbox_id, u.endpoint;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;

ALTER FUNCTION postrider.redrive_letters(who text, why text, filter jsonb, before timestamp with time zone, most integer) OWNER TO postrider_owner;

--
-- Name: redrive_request(text, text, jsonb, double precision); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.redrive_request(who text, reason text, filter jsonb, rate_per_s double precision, OUT id bigint, OUT matching bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET extra_float_digits TO '1'
    AS $$
#variable_conflict use_variable
BEGIN
    IF rate_per_s IS NULL OR NOT (rate_per_s > 0 AND rate_per_s <= 1000000) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'rate_per_s is not above 0 and up to 1000000',
            HINT = 'Call dead_redrive to drive them all at once.';
    END IF;
    SELECT count(*) INTO matching FROM postrider.dead_matching(filter, now(), 1000000);
    INSERT INTO postrider.redrive AS r (actor, reason, filter, rate_per_s)
    VALUES (left(who, 128), coalesce(left(reason, 500), ''), filter, rate_per_s) RETURNING r.id INTO id;
    PERFORM postrider.audit_add(who, 'dead.redrive', coalesce(filter ->> 'notify_id', filter::text), reason,
        jsonb_build_object('filter', filter, 'rate_per_s', rate_per_s, 'order', id, 'matching', matching));
END $$;

ALTER FUNCTION postrider.redrive_request(who text, reason text, filter jsonb, rate_per_s double precision, OUT id bigint, OUT matching bigint) OWNER TO postrider_owner;

--
-- Name: redrive_step(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.redrive_step(OUT driven bigint, OUT open_orders integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    r record;
    allowed int;
    n bigint;
BEGIN
    driven := 0;
    FOR r IN SELECT x.* FROM postrider.redrive AS x WHERE x.finished_at IS NULL ORDER BY x.id FOR UPDATE SKIP LOCKED LOOP
        allowed := floor(least(extract(epoch FROM clock_timestamp() - r.stepped_at)::double precision * r.rate_per_s,
                               greatest(r.rate_per_s, 1.0)));
        CONTINUE WHEN allowed < 1;
        n := postrider.redrive_letters(r.actor, r.reason, r.filter, r.requested_at, allowed);
        UPDATE postrider.redrive AS x
        SET done = x.done + n, stepped_at = clock_timestamp(),
            finished_at = CASE WHEN n < allowed
                AND NOT EXISTS (SELECT FROM postrider.dead_matching(r.filter, r.requested_at, 1)) THEN clock_timestamp() END
        WHERE x.id = r.id;
        driven := driven + n;
    END LOOP;
    SELECT count(*) INTO open_orders FROM postrider.redrive AS x WHERE x.finished_at IS NULL;
END $$;

ALTER FUNCTION postrider.redrive_step(OUT driven bigint, OUT open_orders integer) OWNER TO postrider_owner;

--
-- Name: refund_apply(postrider.channel, postrider.payment, postrider.refund, text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.refund_apply(c postrider.channel, p postrider.payment, r postrider.refund, source text, e jsonb, event_id text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.refund_apply(c postrider.channel, p postrider.payment, r postrider.refund, source text, e jsonb, event_id text) OWNER TO postrider_owner;

--
-- Name: refund_before(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.refund_before() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF (NEW.id, NEW.payment_id, NEW.refund_no, NEW.amount_minor, NEW.origin, NEW.created_at)
       <> (OLD.id, OLD.payment_id, OLD.refund_no, OLD.amount_minor, OLD.origin, OLD.created_at)
       OR NEW.gateway_no IS DISTINCT FROM OLD.gateway_no
       OR (OLD.gateway_reference IS NOT NULL AND NEW.gateway_reference IS DISTINCT FROM OLD.gateway_reference)
       OR (OLD.state = 'created' AND NEW.state = 'cancelled' AND NEW.sent_at IS NOT NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = 'a refund stays what it is', HINT = 'Another amount is another refund_no.';
    END IF;
    RETURN NEW;
END $$;

ALTER FUNCTION postrider.refund_before() OWNER TO postrider_owner;

--
-- Name: refund_json(postrider.refund); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.refund_json(r postrider.refund) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT jsonb_build_object('refund_id', r.id, 'payment_id', r.payment_id, 'refund_no', r.refund_no, 'amount', r.amount_minor, 'state', r.state,
        'status', CASE WHEN r.state = 'processing' AND r.manual THEN 'unknown' ELSE r.state END, 'origin', r.origin, 'reason', r.reason,
        'failure', CASE WHEN r.failure_code IS NOT NULL THEN jsonb_build_object('code', r.failure_code, 'message', r.failure_message) END,
        'created_at', postrider.json_time(r.created_at), 'updated_at', postrider.json_time(r.updated_at))
$$;

ALTER FUNCTION postrider.refund_json(r postrider.refund) OWNER TO postrider_owner;

--
-- Name: refund_of(postrider.payment, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.refund_of(p postrider.payment, e jsonb) RETURNS postrider.refund
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.refund_of(p postrider.payment, e jsonb) OWNER TO postrider_owner;

--
-- Name: refund_payment(bigint, text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.refund_payment(payment_id bigint, refund_no text, amount_minor bigint, reason text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.refund_payment(payment_id bigint, refund_no text, amount_minor bigint, reason text) OWNER TO postrider_owner;

--
-- Name: refund_to_person(postrider.payment, postrider.refund, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.refund_to_person(p postrider.payment, r postrider.refund, why text, evidence jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    DELETE FROM postrider.call AS k WHERE k.refund_id = r.id;
    IF NOT r.manual THEN
        UPDATE postrider.refund AS x SET manual = true, manual_reason = why, updated_at = now() WHERE x.id = r.id;
        PERFORM postrider.history_add(p, r.id, 'postrider', NULL, 'manual: ' || why, r.state, r.state, evidence);
    END IF;
    PERFORM postrider.task_open('refund_review', r.id::text, 'MANUAL', 'inspection', p.merchant_id, p.order_no, p.id, why,
                                'what became of this refund is not known', evidence);
END $$;

ALTER FUNCTION postrider.refund_to_person(p postrider.payment, r postrider.refund, why text, evidence jsonb) OWNER TO postrider_owner;

--
-- Name: refunds_of(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.refunds_of(payment_id bigint, OUT gone bigint, OUT open bigint) RETURNS record
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT coalesce(sum(r.amount_minor) FILTER (WHERE r.state = 'succeeded'), 0)::bigint,
           coalesce(sum(r.amount_minor) FILTER (WHERE r.state IN ('created', 'processing')), 0)::bigint
    FROM postrider.refund AS r WHERE r.payment_id = $1
$_$;

ALTER FUNCTION postrider.refunds_of(payment_id bigint, OUT gone bigint, OUT open bigint) OWNER TO postrider_owner;

--
-- Name: release_shards(uuid, smallint[], bigint[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.release_shards(session uuid, nos smallint[], low bigint[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    given int;
BEGIN
    UPDATE postrider.shard AS h
    SET session = NULL, low = ARRAY[greatest(h.low[1], low[1]), greatest(h.low[2], low[2]), greatest(h.low[3], low[3])]
    WHERE h.session = session AND h.no = ANY (nos);
    GET DIAGNOSTICS given = ROW_COUNT;
    RETURN given;
END $$;

ALTER FUNCTION postrider.release_shards(session uuid, nos smallint[], low bigint[]) OWNER TO postrider_owner;

--
-- Name: report_fulfilment(text, text, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.report_fulfilment(merchant_id text, order_no text, state text, reference text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.report_fulfilment(merchant_id text, order_no text, state text, reference text) OWNER TO postrider_owner;

--
-- Name: report_payment(bigint, text, jsonb, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.report_payment(payment_id bigint, state text, evidence jsonb, event_id text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.report_payment(payment_id bigint, state text, evidence jsonb, event_id text) OWNER TO postrider_owner;

--
-- Name: resend_take(text, boolean); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.resend_take(merchant_id text, livemode boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.resend_take(merchant_id text, livemode boolean) OWNER TO postrider_owner;

--
-- Name: response_kept(smallint, bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.response_kept(outcome smallint, response bytea) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    SELECT CASE WHEN $1 <> 1 THEN $2 WHEN $2 = E'\\x53554343455353' THEN NULL ELSE coalesce($2, '') END
$_$;

ALTER FUNCTION postrider.response_kept(outcome smallint, response bytea) OWNER TO postrider_owner;

--
-- Name: resume_session(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.resume_session(session uuid, OUT alive boolean, OUT locked boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    s record;
BEGIN
    PERFORM postrider.follow_timeline();        -- another timeline: no session of the former one goes on
    SELECT x.pid, x.lock_key INTO s FROM postrider.session AS x WHERE x.id = session AND x.ended IS NULL;
    alive := FOUND;
    locked := false;
    IF NOT alive THEN
        RETURN;
    END IF;
    IF s.pid <> pg_backend_pid() AND postrider.session_connected(s.lock_key, s.pid) THEN
        BEGIN       -- before any lock: a batch that it left half done may hold the row
            PERFORM pg_terminate_backend(s.pid);
        EXCEPTION WHEN insufficient_privilege THEN      -- it connected as a superuser, which no actor should
            RAISE WARNING 'backend % of session % cannot be terminated: it is a superuser''s', s.pid, session;
        END;
        RETURN;
    END IF;
    PERFORM FROM postrider.session AS x WHERE x.id = session AND x.ended IS NULL FOR UPDATE;
    alive := FOUND;
    locked := alive AND pg_try_advisory_lock(s.lock_key);
    IF locked THEN
        UPDATE postrider.session AS x SET pid = pg_backend_pid() WHERE x.id = session;
    END IF;
END $$;

ALTER FUNCTION postrider.resume_session(session uuid, OUT alive boolean, OUT locked boolean) OWNER TO postrider_owner;

--
-- Name: retention_step(interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.retention_step(retention interval, OUT dropped text, OUT kept bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $_$
DECLARE
    part record;
    oldest timestamptz;
    needed tid[];
BEGIN
    kept := 0;
    PERFORM pg_advisory_xact_lock(hashtext('postrider.partition'));
    SELECT p.name, p.hi INTO part FROM postrider.partition AS p
    WHERE p.parent = 'outbox' AND p.hi <= now() - retention AND NOT postrider.unmoved_in(format('postrider.%I', p.name)::regclass)
    ORDER BY p.hi LIMIT 1;
    IF FOUND THEN
        EXECUTE format($q$
            INSERT INTO postrider.outbox_kept OVERRIDING SYSTEM VALUE
            SELECT o.* FROM postrider.%I AS o WHERE o.kind = 0 AND o.id IN (
                SELECT j.outbox_id FROM postrider.job AS j
                UNION SELECT d.outbox_id FROM postrider.dead AS d WHERE d.state <> 'closed')$q$, part.name);
        GET DIAGNOSTICS kept = ROW_COUNT;
        EXECUTE format('DROP TABLE postrider.%I', part.name);
        -- A letter that was driven again or a job that was born since the copy was made is not lost: both write-lock nothing
        -- here, so look again now that nobody can read or write the partition.
        IF EXISTS (SELECT FROM postrider.job AS j JOIN postrider.partition AS p ON p.name = part.name
                   WHERE j.outbox_at >= p.lo AND j.outbox_at < p.hi
                     AND NOT EXISTS (SELECT FROM postrider.outbox_kept AS k WHERE k.id = j.outbox_id)) THEN
            RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = 'a job was born meanwhile', HINT = 'Try again.';
        END IF;
    ELSE
        SELECT min(p.lo) INTO oldest FROM postrider.partition AS p WHERE p.parent = 'outbox';
        SELECT p.name, p.hi INTO part FROM postrider.partition AS p
        WHERE p.parent = 'attempt' AND p.hi <= least(now() - retention, oldest) ORDER BY p.hi LIMIT 1;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        EXECUTE format('SELECT array(SELECT a.ctid FROM postrider.%I AS a WHERE a.outbox_id IN ('
                       'SELECT k.id FROM postrider.outbox_kept AS k))', part.name) INTO needed;
        kept := cardinality(needed);
        EXECUTE format('ALTER TABLE postrider.attempt DETACH PARTITION postrider.%I', part.name);
        EXECUTE format('INSERT INTO postrider.attempt SELECT a.* FROM postrider.%I AS a WHERE a.ctid = ANY ($1)', part.name)
            USING needed;
        EXECUTE format('DROP TABLE postrider.%I', part.name);
    END IF;
    DELETE FROM postrider.partition AS p WHERE p.name = part.name;
    dropped := part.name;
END $_$;

ALTER FUNCTION postrider.retention_step(retention interval, OUT dropped text, OUT kept bigint) OWNER TO postrider_owner;

--
-- Name: retry_ok(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.retry_ok(retry text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
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
$_$;

ALTER FUNCTION postrider.retry_ok(retry text) OWNER TO postrider_owner;

--
-- Name: role_rank(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.role_rank(role text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT array_position(ARRAY['viewer', 'operator', 'approver', 'admin'], role)
$$;

ALTER FUNCTION postrider.role_rank(role text) OWNER TO postrider_owner;

--
-- Name: scaled(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.scaled(ms bigint) RETURNS interval
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT ms * coalesce((SELECT s.value::double precision FROM postrider.setting AS s WHERE s.key = 'time_scale'), 1) * interval '1 ms'
$$;

ALTER FUNCTION postrider.scaled(ms bigint) OWNER TO postrider_owner;

--
-- Name: search(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.search(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $_$
DECLARE
    q CONSTANT text := postrider.arg_text(a, 'q', 128, true);
    number CONSTANT bigint := CASE WHEN q ~ '^[0-9]{1,18}$' THEN q::bigint END;
    notify CONSTANT uuid := CASE WHEN q ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN q::uuid END;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'q');
    RETURN jsonb_build_object('items', coalesce((SELECT jsonb_agg(DISTINCT jsonb_build_object('kind', f.kind, 'id', f.id, 'merchant_id', f.merchant_id,
                                                                                            'order_no', f.order_no, 'says', f.says))
        FROM (
            SELECT 'merchant' AS kind, m.id, m.id AS merchant_id, NULL AS order_no, m.tier AS says FROM postrider.merchant AS m WHERE m.id = q
            UNION ALL
            SELECT 'payment', p.id::text, p.merchant_id, p.order_no, p.state || ', ' || p.channel FROM postrider.payment AS p WHERE p.id = number
            UNION ALL
            SELECT 'payment', p.id::text, p.merchant_id, p.order_no, p.state || ', ' || p.channel FROM postrider.payment AS p WHERE p.request_no = q
            UNION ALL
            SELECT 'payment', p.id::text, p.merchant_id, p.order_no, p.state || ', ' || p.channel FROM postrider.channel AS c
            CROSS JOIN LATERAL (SELECT x.* FROM postrider.payment AS x WHERE x.channel_no = c.no AND x.gateway_reference = q LIMIT 1) AS p
            UNION ALL
            SELECT 'task', t.task_no, t.merchant_id, t.order_no, t.biz_type || ', ' || t.state FROM postrider.task AS t WHERE t.task_no = q
            UNION ALL
            SELECT 'notification', o.notify_id::text, o.merchant_id, o.order_no, o.event FROM postrider.notification AS o WHERE o.notify_id = notify AND o.kind = 0
            UNION ALL
            SELECT 'webhook', k.webhook_id::text, NULL, NULL, c.id FROM postrider.channel AS c
            CROSS JOIN LATERAL (SELECT x.webhook_id FROM postrider.webhook_key AS x WHERE x.channel_no = c.no AND x.key = q LIMIT 1) AS k
            UNION ALL
            SELECT 'order', x.order_no, x.merchant_id, x.order_no, 'payments' FROM (SELECT y.id FROM postrider.merchant AS y ORDER BY y.id LIMIT 2000) AS m
            CROSS JOIN LATERAL (SELECT y.merchant_id, y.order_no FROM postrider.payment AS y WHERE y.merchant_id = m.id AND y.order_no = q LIMIT 1) AS x
            UNION ALL
            SELECT 'order', x.order_no, x.merchant_id, x.order_no, 'notifications' FROM (SELECT y.id FROM postrider.merchant AS y ORDER BY y.id LIMIT 2000) AS m
            CROSS JOIN LATERAL (SELECT y.merchant_id, y.order_no FROM postrider.outbox AS y WHERE y.merchant_id = m.id AND y.order_no = q LIMIT 1) AS x) AS f), '[]'));
END $_$;

ALTER FUNCTION postrider.search(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: session_connected(bigint, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.session_connected(lock_key bigint, pid integer) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT EXISTS (SELECT FROM pg_locks AS l
        WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid = $2
          AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
          AND (l.classid::bigint << 32 | l.objid::bigint) = $1)
$_$;

ALTER FUNCTION postrider.session_connected(lock_key bigint, pid integer) OWNER TO postrider_owner;

--
-- Name: sessions_end(text, text, bytea); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.sessions_end(operator text, why text, spared bytea) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
    UPDATE postrider.operator_session AS s SET ended_at = now(), ended_why = $2
    WHERE s.operator = $1 AND s.ended_at IS NULL AND s.hash IS DISTINCT FROM $3
$_$;

ALTER FUNCTION postrider.sessions_end(operator text, why text, spared bytea) OWNER TO postrider_owner;

--
-- Name: sla_set(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.sla_set(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    former interval;
    seconds CONSTANT bigint := postrider.arg_id(a, 'seconds');
BEGIN
    PERFORM postrider.args_check(a, 'kind', 'seconds', 'reason');
    SELECT k.sla INTO former FROM postrider.exception_kind AS k WHERE k.kind = a ->> 'kind' FOR UPDATE;
    IF NOT FOUND OR seconds NOT BETWEEN 60 AND 7776000 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'kind is none of the queue, or seconds is not 60 to 7776000', HINT = 'exceptions_summary lists the kinds.';
    END IF;
    UPDATE postrider.exception_kind AS k SET sla = seconds * interval '1 s' WHERE k.kind = a ->> 'kind';
    PERFORM postrider.audit_add(who, 'sla.set', a ->> 'kind', postrider.arg_text(a, 'reason', 500, true),
        jsonb_build_object('was_s', extract(epoch FROM former)::bigint, 's', seconds));
    RETURN jsonb_build_object('ok', true);
END $$;

ALTER FUNCTION postrider.sla_set(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: status_of(postrider.payment); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.status_of(p postrider.payment) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT postrider.published_status(p.state, p.manual, p.amount_minor, p.captured_minor, p.refunded_minor,
        EXISTS (SELECT FROM postrider.refund AS r WHERE r.payment_id = p.id AND r.state IN ('created', 'processing')),
        EXISTS (SELECT FROM postrider.dispute AS d WHERE d.payment_id = p.id AND d.state <> 'won'))
$$;

ALTER FUNCTION postrider.status_of(p postrider.payment) OWNER TO postrider_owner;

--
-- Name: submit_payment(text, text, text, bigint, text, jsonb, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.submit_payment(merchant_id text, order_no text, channel text, amount_minor bigint, currency text, request jsonb DEFAULT '{}'::jsonb, options jsonb DEFAULT '{}'::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.submit_payment(merchant_id text, order_no text, channel text, amount_minor bigint, currency text, request jsonb, options jsonb) OWNER TO postrider_owner;

--
-- Name: supersede(bigint, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.supersede(after bigint, upto bigint) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    cancelled int;
BEGIN
    IF NOT EXISTS (SELECT FROM postrider.endpoint AS e WHERE e.supersede) THEN
        RETURN 0;
    END IF;
    WITH n AS MATERIALIZED (        -- the newest version of each order among the jobs of the move
        SELECT j.endpoint, o.merchant_id, o.order_no, max(o.version) AS version
        FROM (SELECT x.endpoint, x.outbox_at, x.outbox_id FROM postrider.job AS x WHERE x.seq > after AND x.seq <= upto OFFSET 0) AS j
        CROSS JOIN LATERAL (SELECT FROM postrider.endpoint AS x WHERE x.id = j.endpoint AND x.supersede LIMIT 1) AS e
        CROSS JOIN LATERAL (SELECT x.merchant_id, x.order_no, x.version FROM postrider.outbox AS x
                            WHERE x.at = j.outbox_at AND x.id = j.outbox_id LIMIT 1) AS o
        GROUP BY 1, 2, 3
    ), d AS (
        DELETE FROM postrider.job AS j WHERE j.seq = ANY (ARRAY(
            SELECT x.seq FROM n
            CROSS JOIN LATERAL (SELECT b.id FROM postrider.outbox AS b
                                WHERE b.merchant_id = n.merchant_id AND b.order_no = n.order_no AND b.version < n.version OFFSET 0) AS o
            CROSS JOIN LATERAL (SELECT b.seq FROM postrider.job AS b
                                WHERE b.outbox_id = o.id AND b.endpoint = n.endpoint OFFSET 0) AS x))
        RETURNING j.outbox_id, j.endpoint, j.outbox_at
    ), c AS (
        INSERT INTO postrider.cancelled (outbox_id, endpoint, outbox_at, reason)
        SELECT d.outbox_id, d.endpoint, d.outbox_at, 'superseded' FROM d ON CONFLICT DO NOTHING
    )
    SELECT count(*) INTO cancelled FROM d;
    RETURN cancelled;
END $$;

ALTER FUNCTION postrider.supersede(after bigint, upto bigint) OWNER TO postrider_owner;

--
-- Name: task_after(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_after() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    incident jsonb := '{}';
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.state = 'PROCESSING' AND NEW.state = 'WAITING' THEN
        incident := jsonb_build_object('incident', jsonb_build_object('owner', OLD.lock_owner, 'session', OLD.lock_session,
            'locked_at', postrider.json_time(OLD.locked_at), 'held_s', floor(extract(epoch FROM clock_timestamp() - OLD.locked_at))));
    END IF;
    INSERT INTO postrider.task_log (task_id, from_state, to_state, who, reason, detail)
    VALUES (NEW.id, CASE WHEN TG_OP = 'UPDATE' THEN OLD.state ELSE '' END, NEW.state, NEW.moved_by, NEW.move_reason,
            jsonb_strip_nulls(jsonb_build_object('error_code', NEW.last_error_code, 'error_message', NEW.last_error_message,
                'retry_count', NEW.retry_count, 'conclusion', NEW.conclusion)) || incident);
    RETURN NULL;
END $$;

ALTER FUNCTION postrider.task_after() OWNER TO postrider_owner;

--
-- Name: task_ask(postrider.payment, postrider.refund); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_ask(p postrider.payment, r postrider.refund) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.task_ask(p postrider.payment, r postrider.refund) OWNER TO postrider_owner;

--
-- Name: task_asks(postrider.task, postrider.payment, postrider.refund, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_asks(t postrider.task, p postrider.payment, r postrider.refund, retry_in interval) RETURNS postrider.task_said
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    no CONSTANT text := postrider.task_ask(p, r);
BEGIN
    RETURN CASE WHEN no = 'CANNOT_ASK' THEN postrider.task_say('person', no, 'the channel has no operation query')
                WHEN no IS NOT NULL THEN postrider.task_say('retry', no, 'the channel is not asked now', NULL, retry_in)
                ELSE postrider.task_say('retry', 'ASKED', 'the channel was asked again',
                         jsonb_build_object('asked_at', clock_timestamp(), 'asks', coalesce((t.result ->> 'asks')::int, 0) + 1),
                         CASE WHEN t.result ? 'asks' THEN retry_in ELSE least(retry_in, postrider.scaled(10000)) END) END;
END $$;

ALTER FUNCTION postrider.task_asks(t postrider.task, p postrider.payment, r postrider.refund, retry_in interval) OWNER TO postrider_owner;

--
-- Name: task_callback(postrider.task, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_callback(t postrider.task, retry_in interval) RETURNS postrider.task_said
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    ended record;
BEGIN
    SELECT w.state, w.result INTO ended FROM postrider.webhook_redrive(split_part(t.biz_id, ':', 2)::bigint) AS w;
    RETURN CASE WHEN ended.state IN ('applied', 'ignored') THEN postrider.task_say('success', 'APPLIED', NULL, jsonb_build_object('result', ended.result))
                WHEN ended.result LIKE '%orphan%' THEN postrider.task_say('person', 'ORDER_NOT_FOUND', ended.result)
                ELSE postrider.task_say('retry', 'NOT_APPLIED', ended.result, NULL, retry_in) END;
END $$;

ALTER FUNCTION postrider.task_callback(t postrider.task, retry_in interval) OWNER TO postrider_owner;

--
-- Name: task_close(text, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_close(who text, task_no text, reason text, detail jsonb DEFAULT '{}'::jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    t CONSTANT postrider.task := postrider.task_locked(task_no);
    subject jsonb := (SELECT postrider.payment_json(p) FROM postrider.payment AS p WHERE p.id = t.payment_id);
BEGIN
    IF coalesce(reason, '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'the reason is missing', HINT = 'Say what you concluded: it is written down.';
    ELSIF t.state <> 'MANUAL' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('task %s is %s', t.task_no, t.state), HINT = 'Only what is with a person is closed by one.';
    END IF;
    UPDATE postrider.task AS x SET state = 'CLOSED', moved_by = left(who, 128), move_reason = left(reason, 500), closed_by = left(who, 128),
           conclusion = left(reason, 500), before = coalesce(detail -> 'before', subject), after = subject, updated_at = now()
    WHERE x.id = t.id;
    PERFORM postrider.audit_add(who, 'task.close', t.task_no, reason, jsonb_build_object('biz_type', t.biz_type, 'biz_id', t.biz_id) || coalesce(detail, '{}'));
END $$;

ALTER FUNCTION postrider.task_close(who text, task_no text, reason text, detail jsonb) OWNER TO postrider_owner;

--
-- Name: task_difference(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_difference() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    d postrider.recon_difference;
    next postrider.task;
    still text;
    number text;
BEGIN
    FOR d IN SELECT x.* FROM postrider.recon_difference AS x WHERE x.task_id = NEW.id AND x.state = 'open' ORDER BY x.id FOR NO KEY UPDATE LOOP
        next := NULL;
        still := NULL;
        IF NEW.state = 'CLOSED' THEN
            SELECT t.* INTO next FROM postrider.task AS t
            WHERE t.biz_type = NEW.biz_type AND t.biz_id = NEW.biz_id AND t.follows = NEW.task_no ORDER BY t.id DESC LIMIT 1;
        ELSE
            still := postrider.recon_still(d);
            IF still IS NOT NULL THEN
                number := postrider.task_open('difference_review', d.id::text, 'MANUAL', 'difference', d.merchant_id, d.order_no, d.payment_id, d.reason,
                    'asked again, it is not explained: ' || still, NEW.request || jsonb_build_object('difference_id', d.id, 'result', NEW.result));
                UPDATE postrider.task AS t SET follows = NEW.task_no WHERE t.task_no = number RETURNING t.* INTO next;
            END IF;
        END IF;
        IF next.id IS NOT NULL THEN
            UPDATE postrider.recon_difference AS x SET task_id = next.id, task_no = next.task_no WHERE x.id = d.id;
            UPDATE postrider.task AS t SET difference_id = d.id WHERE t.id = next.id AND t.difference_id IS NULL;
            CONTINUE;
        END IF;
        UPDATE postrider.recon_difference AS x
        SET state = CASE WHEN NEW.state = 'CLOSED' THEN 'closed' WHEN NEW.last_error_code IN ('EXPLAINED', 'ORDER_ALREADY_FINISHED') THEN 'explained' ELSE 'repaired' END,
            ended_at = now(), ended_by = CASE WHEN NEW.state = 'CLOSED' THEN coalesce(NEW.closed_by, 'person') ELSE 'task ' || NEW.task_no END,
            conclusion = left(CASE WHEN NEW.state = 'CLOSED' THEN NEW.conclusion ELSE NEW.last_error_code END, 500)
        WHERE x.id = d.id;
    END LOOP;
    RETURN NULL;
END $$;

ALTER FUNCTION postrider.task_difference() OWNER TO postrider_owner;

--
-- Name: task_done(text, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_done(biz_type text, biz_id text, code text, result jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION postrider.task_done(biz_type text, biz_id text, code text, result jsonb) OWNER TO postrider_owner;

--
-- Name: task_end(postrider.task, text, text, text, jsonb, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_end(t postrider.task, outcome text, code text, message text, result jsonb, retry_in interval) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.task_end(t postrider.task, outcome text, code text, message text, result jsonb, retry_in interval) OWNER TO postrider_owner;

--
-- Name: task_facts(postrider.task); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_facts(t postrider.task) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
    SELECT jsonb_build_object('task_no', t.task_no, 'kind', t.biz_type, 'object', t.biz_id, 'merchant_id', t.merchant_id, 'order_no', t.order_no,
        'source', t.source, 'tries', t.retry_count, 'created_at', postrider.json_time(t.created_at), 'given', t.request,
        'payment', o.payments -> -1, 'payments', o.payments,
        'fulfilment', (SELECT f.state FROM postrider.fulfilment AS f WHERE f.merchant_id = t.merchant_id AND f.order_no = t.order_no))
    FROM (SELECT coalesce(jsonb_agg(postrider.payment_json(p) ORDER BY p.state = 'succeeded', p.id), '[]') AS payments
          FROM (SELECT * FROM postrider.payment AS x WHERE x.id = t.payment_id
                UNION SELECT * FROM postrider.payment AS x WHERE t.payment_id IS NULL AND x.merchant_id = t.merchant_id AND x.order_no = t.order_no) AS p) AS o
$$;

ALTER FUNCTION postrider.task_facts(t postrider.task) OWNER TO postrider_owner;

--
-- Name: task_for_difference(bigint, text, text, text, text, text, bigint, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_for_difference(difference_id bigint, biz_type text, biz_id text, state text, merchant_id text, order_no text, payment_id bigint, code text, message text, request jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    number CONSTANT text := postrider.task_open($2, $3, $4, 'difference', $5, $6, $7, $8, $9, $10);
BEGIN
    UPDATE postrider.task AS t SET difference_id = $1 WHERE t.task_no = number AND t.difference_id IS NULL;
    RETURN number;
END $_$;

ALTER FUNCTION postrider.task_for_difference(difference_id bigint, biz_type text, biz_id text, state text, merchant_id text, order_no text, payment_id bigint, code text, message text, request jsonb) OWNER TO postrider_owner;

--
-- Name: task_held(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_held(token uuid) RETURNS postrider.task
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    t postrider.task;
BEGIN
    SELECT x.* INTO t FROM postrider.task AS x WHERE x.lock_token = $1 AND x.state = 'PROCESSING' FOR NO KEY UPDATE;
    RETURN t;
END $_$;

ALTER FUNCTION postrider.task_held(token uuid) OWNER TO postrider_owner;

--
-- Name: task_json(postrider.task); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_json(t postrider.task) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT jsonb_build_object('task_no', t.task_no, 'biz_type', t.biz_type, 'biz_id', t.biz_id, 'merchant_id', t.merchant_id, 'order_no', t.order_no,
        'payment_id', t.payment_id, 'source', t.source, 'difference_id', t.difference_id, 'status', t.state, 'retry_count', t.retry_count, 'retry_limit', t.retry_limit,
        'next_run_at', postrider.json_time(t.next_run_at), 'last_run_at', postrider.json_time(t.last_run_at), 'last_error_code', t.last_error_code,
        'last_error_message', t.last_error_message, 'lock_owner', t.lock_owner, 'locked_at', postrider.json_time(t.locked_at), 'closed_by', t.closed_by,
        'conclusion', t.conclusion, 'follows', t.follows, 'created_at', postrider.json_time(t.created_at), 'updated_at', postrider.json_time(t.updated_at))
$$;

ALTER FUNCTION postrider.task_json(t postrider.task) OWNER TO postrider_owner;

--
-- Name: task_key_of(postrider.task); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_key_of(t postrider.task) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT encode(sha256(convert_to(string_agg(octet_length(p.part) || ':' || p.part, '' ORDER BY p.at), 'UTF8')), 'hex')
    FROM unnest(ARRAY['TASK', coalesce(t.merchant_id, ''), coalesce(t.order_no, ''), t.biz_type, t.biz_id,
                      coalesce(t.request #>> '{events,-1,version}', '')]) WITH ORDINALITY AS p (part, at)
$$;

ALTER FUNCTION postrider.task_key_of(t postrider.task) OWNER TO postrider_owner;

--
-- Name: task_listed(postrider.task, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_listed(t postrider.task, a jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN CASE coalesce(a ->> 'status', 'open') WHEN 'all' THEN true WHEN 'open' THEN t.state NOT IN ('SUCCESS', 'CLOSED') ELSE t.state = a ->> 'status' END
                AND (a ->> 'biz_type' IS NULL OR t.biz_type = a ->> 'biz_type') AND (a ->> 'merchant_id' IS NULL OR t.merchant_id = a ->> 'merchant_id')
                AND (a ->> 'source' IS NULL OR t.source = a ->> 'source')
           THEN postrider.task_json(t) END
$$;

ALTER FUNCTION postrider.task_listed(t postrider.task, a jsonb) OWNER TO postrider_owner;

--
-- Name: task_locked(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_locked(task_no text) RETURNS postrider.task
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    t postrider.task;
BEGIN
    SELECT x.* INTO t FROM postrider.task AS x WHERE x.task_no = $1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no task %L', left(task_no, 80)), HINT = 'postrider task list shows those that are.';
    END IF;
    RETURN t;
END $_$;

ALTER FUNCTION postrider.task_locked(task_no text) OWNER TO postrider_owner;

--
-- Name: task_look(postrider.task, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_look(t postrider.task, handler text, OUT state text, OUT code text, OUT message text) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.task_look(t postrider.task, handler text, OUT state text, OUT code text, OUT message text) OWNER TO postrider_owner;

--
-- Name: task_moves(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_moves(task_no text) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT coalesce(jsonb_agg(jsonb_build_object('at', postrider.json_time(l.at), 'from', l.from_state, 'to', l.to_state, 'who', l.who, 'reason', l.reason)
                              ORDER BY l.id), '[]')
    FROM postrider.task AS t JOIN postrider.task_log AS l ON l.task_id = t.id WHERE t.task_no = $1
$_$;

ALTER FUNCTION postrider.task_moves(task_no text) OWNER TO postrider_owner;

--
-- Name: task_open(text, text, text, text, text, text, bigint, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_open(biz_type text, biz_id text, state text, source text, merchant_id text, order_no text, payment_id bigint, code text, message text, request jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION postrider.task_open(biz_type text, biz_id text, state text, source text, merchant_id text, order_no text, payment_id bigint, code text, message text, request jsonb) OWNER TO postrider_owner;

--
-- Name: task_refund(postrider.task, postrider.payment, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_refund(t postrider.task, p postrider.payment, retry_in interval) RETURNS postrider.task_said
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.task_refund(t postrider.task, p postrider.payment, retry_in interval) OWNER TO postrider_owner;

--
-- Name: task_refund_review(postrider.task, postrider.payment, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_refund_review(t postrider.task, p postrider.payment, retry_in interval) RETURNS postrider.task_said
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.task_refund_review(t postrider.task, p postrider.payment, retry_in interval) OWNER TO postrider_owner;

--
-- Name: task_rerun(text, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_rerun(who text, task_no text, reason text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    said CONSTANT text := postrider.task_resolve(who, task_no, 'rerun', reason);
BEGIN
    PERFORM postrider.audit_add(who, 'task.rerun', task_no, reason, jsonb_build_object('next', said));
    RETURN said;
END $$;

ALTER FUNCTION postrider.task_rerun(who text, task_no text, reason text) OWNER TO postrider_owner;

--
-- Name: task_resolve(text, text, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_resolve(who text, task_no text, action text, reason text, evidence jsonb DEFAULT '{}'::jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
DECLARE
    t postrider.task;
    before jsonb;
    said text;
BEGIN
    -- payments are locked before what belongs to them
    PERFORM FROM postrider.payment AS p WHERE p.id = (SELECT x.payment_id FROM postrider.task AS x WHERE x.task_no = $2) FOR NO KEY UPDATE;
    t := postrider.task_locked($2);
    before := (SELECT postrider.payment_json(p) FROM postrider.payment AS p WHERE p.id = t.payment_id);
    IF t.state <> 'MANUAL' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('task %s is %s', t.task_no, t.state), HINT = 'Only what is with a person is resolved by one.';
    ELSIF action IN ('succeeded', 'failed', 'cancelled', 'refunded') AND t.payment_id IS NOT NULL THEN
        said := postrider.payment_decide(who, t.payment_id, action, evidence, reason);
        IF said NOT LIKE 'applied%' THEN
            RAISE EXCEPTION USING ERRCODE = 'PR006', MESSAGE = format('the payment does not take it: %s', said), HINT = 'Close the task with what you found.';
        END IF;
    ELSIF action IS DISTINCT FROM 'rerun' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'action is not rerun, or succeeded, failed, cancelled, refunded of a payment',
            HINT = 'A task that is about something else is closed: task_close.';
    END IF;
    PERFORM postrider.task_close(who, task_no, reason, jsonb_build_object('action', action, 'before', before));
    IF action = 'rerun' THEN
        said := postrider.task_open(t.biz_type, t.biz_id, 'WAITING', 'person', t.merchant_id, t.order_no, t.payment_id, NULL, reason, t.request);
        UPDATE postrider.task AS x SET follows = t.task_no WHERE x.task_no = said;
    END IF;
    RETURN said;
END $_$;

ALTER FUNCTION postrider.task_resolve(who text, task_no text, action text, reason text, evidence jsonb) OWNER TO postrider_owner;

--
-- Name: task_say(text, text, text, jsonb, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_say(outcome text, code text, message text DEFAULT NULL::text, result jsonb DEFAULT NULL::jsonb, retry_in interval DEFAULT NULL::interval) RETURNS postrider.task_said
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT ROW($1, $2, $3, $4, $5)::postrider.task_said
$_$;

ALTER FUNCTION postrider.task_say(outcome text, code text, message text, result jsonb, retry_in interval) OWNER TO postrider_owner;

--
-- Name: task_session_end(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_session_end(session uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
BEGIN
    UPDATE postrider.task_session AS s SET ended = clock_timestamp() WHERE s.id = $1 AND s.ended IS NULL;
    RETURN FOUND;
END $_$;

ALTER FUNCTION postrider.task_session_end(session uuid) OWNER TO postrider_owner;

--
-- Name: task_session_live(uuid); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_session_live(session uuid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT EXISTS (SELECT FROM postrider.task_session AS s WHERE s.id = $1 AND s.ended IS NULL
                   AND postrider.session_connected(postrider.call_session_key(s.id), s.pid))
$_$;

ALTER FUNCTION postrider.task_session_live(session uuid) OWNER TO postrider_owner;

--
-- Name: task_session_open(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_session_open(address text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    id CONSTANT uuid := gen_random_uuid();
BEGIN
    PERFORM postrider.task_session_end(s.id) FROM postrider.task_session AS s WHERE s.pid = pg_backend_pid() AND s.ended IS NULL;
    PERFORM pg_advisory_lock(postrider.call_session_key(id));
    INSERT INTO postrider.task_session (id, pid, address) VALUES (id, pg_backend_pid(), left(coalesce(address, ''), 128));
    DELETE FROM postrider.task_session AS s WHERE s.ended < now() - interval '7 days';
    RETURN id;
END $$;

ALTER FUNCTION postrider.task_session_open(address text) OWNER TO postrider_owner;

--
-- Name: task_show(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_show(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    t postrider.task;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'task_no');
    SELECT x.* INTO t FROM postrider.task AS x WHERE x.task_no = a ->> 'task_no';
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no task %L', left(a ->> 'task_no', 80)), HINT = 'tasks_list shows them.';
    END IF;
    RETURN jsonb_build_object('task', postrider.task_json(t) || jsonb_build_object('request', t.request, 'result', t.result, 'before', t.before, 'after', t.after),
        'moves', coalesce((SELECT jsonb_agg(jsonb_build_object('at', postrider.json_time(l.at), 'from', l.from_state, 'to', l.to_state, 'who', l.who, 'reason', l.reason,
            'detail', l.detail) ORDER BY l.id) FROM postrider.task_log AS l WHERE l.task_id = t.id), '[]'),
        'difference', (SELECT to_jsonb(d) FROM postrider.recon_differences AS d WHERE d.difference_id = t.difference_id),
        'kind', postrider.exception_kind_of(t),
        'actions', CASE WHEN t.state = 'MANUAL' THEN postrider.exception_actions(postrider.exception_kind_of(t), t.payment_id) ELSE '[]' END,
        'approvals', coalesce((SELECT jsonb_agg(postrider.approval_json(r) ORDER BY r.id) FROM postrider.approval AS r WHERE r.payment_id = t.payment_id), '[]'));
END $$;

ALTER FUNCTION postrider.task_show(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: task_verify(postrider.task, postrider.payment, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_verify(t postrider.task, p postrider.payment, retry_in interval) RETURNS postrider.task_said
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.task_verify(t postrider.task, p postrider.payment, retry_in interval) OWNER TO postrider_owner;

--
-- Name: task_writeback(postrider.task, interval); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.task_writeback(t postrider.task, retry_in interval) RETURNS postrider.task_said
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.task_writeback(t postrider.task, retry_in interval) OWNER TO postrider_owner;

--
-- Name: tasks_act(uuid, bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.tasks_act(token uuid, retry_ms bigint, OUT state text, OUT code text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.tasks_act(token uuid, retry_ms bigint, OUT state text, OUT code text) OWNER TO postrider_owner;

--
-- Name: tasks_claim(uuid, integer, text[]); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.tasks_claim(session uuid, most integer, own text[]) RETURNS TABLE(task_no text, token uuid, biz_type text, handler text, code text, idempotency_key text, tries integer, retry_limit integer, unknown boolean, order_no text, reference text, amount_minor bigint, currency text, events integer, facts text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.tasks_claim(session uuid, most integer, own text[]) OWNER TO postrider_owner;

--
-- Name: tasks_configure(jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.tasks_configure(kinds jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION postrider.tasks_configure(kinds jsonb) OWNER TO postrider_owner;

--
-- Name: tasks_due(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.tasks_due(OUT due bigint, OUT oldest_s bigint, OUT manual bigint) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
    SELECT (SELECT count(*) FROM postrider.task AS t WHERE t.state IN ('WAITING', 'RETRY') AND t.next_run_at <= now()),
           (SELECT floor(extract(epoch FROM now() - min(t.next_run_at)))::bigint FROM postrider.task AS t WHERE t.state IN ('WAITING', 'RETRY') AND t.next_run_at <= now()),
           (SELECT count(*) FROM postrider.task AS t WHERE t.state = 'MANUAL')
$$;

ALTER FUNCTION postrider.tasks_due(OUT due bigint, OUT oldest_s bigint, OUT manual bigint) OWNER TO postrider_owner;

--
-- Name: tasks_finish(uuid, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.tasks_finish(token uuid, result jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
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
END $_$;

ALTER FUNCTION postrider.tasks_finish(token uuid, result jsonb) OWNER TO postrider_owner;

--
-- Name: tasks_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.tasks_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    upto CONSTANT bigint := postrider.list_before(a);
    wanted CONSTANT text := coalesce(a ->> 'status', 'open');
    states CONSTANT text[] := CASE WHEN wanted = 'open' THEN ARRAY['WAITING', 'PROCESSING', 'RETRY', 'MANUAL', 'FAILED'] ELSE ARRAY[wanted] END;
    looks CONSTANT int := CASE WHEN a ?| ARRAY['biz_type', 'merchant_id', 'source'] OR wanted IN ('SUCCESS', 'CLOSED') THEN 10000 ELSE most END;
    c refcursor;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'status', 'biz_type', 'merchant_id', 'order_no', 'source', 'limit', 'after');
    IF a ->> 'order_no' IS NOT NULL THEN
        OPEN c FOR SELECT x.id, postrider.task_listed(x, a) AS item FROM postrider.task AS x
        WHERE x.merchant_id = a ->> 'merchant_id' AND x.order_no = a ->> 'order_no' AND x.id < upto ORDER BY x.id DESC LIMIT looks + 1;
    ELSIF wanted IN ('all', 'SUCCESS', 'CLOSED') THEN
        OPEN c FOR SELECT x.id, postrider.task_listed(x, a) AS item FROM postrider.task AS x WHERE x.id < upto ORDER BY x.id DESC LIMIT looks + 1;
    ELSE
        OPEN c FOR SELECT y.id, postrider.task_listed(y, a) AS item FROM unnest(states) AS s (state) CROSS JOIN LATERAL (
            SELECT x.* FROM postrider.task AS x WHERE x.state = s.state AND x.state NOT IN ('SUCCESS', 'CLOSED') AND x.id < upto ORDER BY x.id DESC LIMIT looks + 1) AS y
        ORDER BY y.id DESC LIMIT looks + 1;
    END IF;
    RETURN postrider.list_scan(c, upto, looks, most);
END $$;

ALTER FUNCTION postrider.tasks_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: tasks_sweep(uuid, bigint, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.tasks_sweep(session uuid, lock_ms bigint, most integer, OUT lost bigint, OUT webhooks bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.tasks_sweep(session uuid, lock_ms bigint, most integer, OUT lost bigint, OUT webhooks bigint) OWNER TO postrider_owner;

--
-- Name: time_of_us(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.time_of_us(us text) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT CASE WHEN us ~ '^[0-9]{1,17}$' THEN timestamptz '1970-01-01 00:00:00+00' + us::bigint * interval '1 us' END
$_$;

ALTER FUNCTION postrider.time_of_us(us text) OWNER TO postrider_owner;

--
-- Name: token_create(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.token_create(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    o postrider.operator;
    t postrider.operator_token;
BEGIN
    PERFORM postrider.args_check(a, 'operator', 'role', 'label', 'hash', 'expires_at');
    PERFORM postrider.person_check(who, 'token.create', true);
    SELECT x.* INTO o FROM postrider.operator AS x WHERE x.name = coalesce(a ->> 'operator', who);
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'there is no such operator', HINT = 'postrider operator list shows them.';
    ELSIF o.name <> who THEN
        PERFORM postrider.person_check(who, 'operator.set', true);
    END IF;
    t.role := postrider.operator_role(coalesce(a ->> 'role', o.role));
    IF o.name <> who AND postrider.role_rank(t.role) >= postrider.role_rank('approver') THEN    -- or one would be two
        RAISE EXCEPTION USING ERRCODE = 'PR010', MESSAGE = format('a token that may approve is made by %s himself', o.name), HINT = 'Make one of the role operator or viewer.';
    END IF;
    t.expires_at := coalesce((a ->> 'expires_at')::timestamptz, now() + interval '90 days');
    IF postrider.role_rank(t.role) > postrider.role_rank(o.role) OR t.expires_at NOT BETWEEN now() AND now() + interval '366 days'
       OR (a ->> 'hash' ~ '^[0-9a-f]{64}$') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'role is above the operator''s, expires_at is not within a year, or hash is not SHA-256 as hex',
            HINT = 'A token may at most what its operator may.';
    END IF;
    INSERT INTO postrider.operator_token (hash, operator, role, label, expires_at)
    VALUES (decode(a ->> 'hash', 'hex'), o.name, t.role, postrider.arg_text(a, 'label', 128, true), t.expires_at) RETURNING * INTO t;
    PERFORM postrider.audit_add(who, 'token.create', t.id::text, NULL, jsonb_build_object('operator', o.name, 'role', t.role, 'label', t.label));
    RETURN jsonb_build_object('token_id', t.id, 'operator', t.operator, 'role', t.role, 'label', t.label, 'expires_at', postrider.json_time(t.expires_at));
END $_$;

ALTER FUNCTION postrider.token_create(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: token_revoke(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.token_revoke(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    t postrider.operator_token;
BEGIN
    PERFORM postrider.args_check(a, 'token_id', 'reason');
    PERFORM postrider.person_check(who, 'token.revoke', true);
    SELECT x.* INTO t FROM postrider.operator_token AS x WHERE x.id = postrider.arg_id(a, 'token_id') FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'there is no such token', HINT = 'postrider operator tokens shows them.';
    ELSIF t.operator <> who THEN
        PERFORM postrider.person_check(who, 'operator.set', true);
    END IF;
    UPDATE postrider.operator_token AS x SET revoked_at = now() WHERE x.id = t.id AND x.revoked_at IS NULL;
    PERFORM postrider.audit_add(who, 'token.revoke', t.id::text, postrider.arg_text(a, 'reason', 500, true), jsonb_build_object('operator', t.operator));
    RETURN jsonb_build_object('ok', true, 'token_id', t.id);
END $$;

ALTER FUNCTION postrider.token_revoke(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: tokens_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.tokens_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN jsonb_build_object('next', NULL, 'items', coalesce((
        SELECT jsonb_agg(jsonb_build_object('token_id', t.id, 'operator', t.operator, 'role', t.role, 'label', t.label,
            'created_at', postrider.json_time(t.created_at), 'expires_at', postrider.json_time(t.expires_at), 'used_at', postrider.json_time(t.used_at),
            'revoked_at', postrider.json_time(t.revoked_at)) ORDER BY t.id) FROM postrider.operator_token AS t), '[]'));
END $$;

ALTER FUNCTION postrider.tokens_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: track_payment(text, text, text, text, bigint, text, timestamp with time zone, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.track_payment(merchant_id text, order_no text, channel text, gateway_reference text, amount_minor bigint, currency text, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, options jsonb DEFAULT '{}'::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.track_payment(merchant_id text, order_no text, channel text, gateway_reference text, amount_minor bigint, currency text, expires_at timestamp with time zone, options jsonb) OWNER TO postrider_owner;

--
-- Name: unmoved_in(regclass); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.unmoved_in(part regclass) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    found_one boolean;
BEGIN
    EXECUTE format($q$
        SELECT EXISTS (
            SELECT FROM generate_series(0, 2) AS c (class)
            CROSS JOIN LATERAL (SELECT CASE WHEN k.more THEN k.lo ELSE k.hi END AS lo
                                FROM postrider.tick AS k WHERE k.class = c.class ORDER BY k.n DESC LIMIT 1) AS t
            CROSS JOIN LATERAL (
                SELECT o.tx, o.id FROM %1$s AS o WHERE o.class = c.class AND o.tx >= pg_snapshot_xmax(t.lo)
                UNION ALL
                SELECT o.tx, o.id FROM %1$s AS o
                WHERE o.class = c.class AND o.tx = ANY (ARRAY(SELECT pg_snapshot_xip(t.lo))::xid8[])) AS o
            WHERE NOT postrider.is_moved(c.class::smallint, o.tx, o.id))$q$, part) INTO found_one;
    RETURN found_one;
END $_$;

ALTER FUNCTION postrider.unmoved_in(part regclass) OWNER TO postrider_owner;

--
-- Name: url_origin(text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.url_origin(url text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $_$
    SELECT lower(m[1]) || '://' || lower(m[2]) || ':' || p.port
    FROM regexp_match(url, '^([Hh][Tt][Tt][Pp][Ss]?)://([A-Za-z0-9._-]+|[[][0-9A-Fa-f:.]+[]])(?::([1-9][0-9]{0,4}))?'
                           '(?:[/?#](?:[]!#$&-;=?-Z[^_a-z{|}~]|%[0-9A-Fa-f][0-9A-Fa-f])*)?$') AS m,
         LATERAL (SELECT coalesce(m[3]::int, CASE lower(m[1]) WHEN 'https' THEN 443 ELSE 80 END) AS port) AS p
    WHERE p.port <= 65535 AND octet_length(url) <= 512
      AND CASE WHEN m[2] ~ '^[[]' THEN postrider.ipv6_ok(btrim(m[2], '[]')) ELSE postrider.host_ok(m[2]) END
$_$;

ALTER FUNCTION postrider.url_origin(url text) OWNER TO postrider_owner;

--
-- Name: watch_force(bigint, text, text, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.watch_force(id bigint, forced text, who text, reason text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    merchant text;
BEGIN
    SELECT e.merchant_id INTO merchant FROM postrider.endpoint AS e WHERE e.id = watch_force.id;
    IF FOUND THEN
        PERFORM postrider.breaker_force(who, id, forced, reason);
    END IF;
    RETURN merchant;
END $$;

ALTER FUNCTION postrider.watch_force(id bigint, forced text, who text, reason text) OWNER TO postrider_owner;

--
-- Name: watch_load(); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.watch_load() RETURNS TABLE(endpoint bigint, merchant_id text, forced text, failing boolean, since_ms bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT e.id, e.merchant_id, e.forced, f.endpoint IS NOT NULL,
           coalesce(greatest(0, extract(epoch FROM clock_timestamp() - f.since) * 1000), 0)::bigint
    FROM postrider.endpoint AS e LEFT JOIN postrider.endpoint_failing AS f ON f.endpoint = e.id
    WHERE e.forced IS NOT NULL OR f.endpoint IS NOT NULL
    ORDER BY e.id
$$;

ALTER FUNCTION postrider.watch_load() OWNER TO postrider_owner;

--
-- Name: webhook_item(integer, bigint, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhook_item(channel_no integer, webhook_id bigint, item jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    e CONSTANT jsonb := item -> 'evidence';
    payment CONSTANT bigint := postrider.evidence_payment(channel_no, e);
    key text;
    fresh text[] := '{}';
    verdict text;
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
        IF FOUND THEN
            fresh := fresh || key;
        ELSIF (SELECT k.webhook_id FROM postrider.webhook_key AS k WHERE k.channel_no = channel_no AND k.key = key) IS DISTINCT FROM webhook_id THEN
            verdict := 'ignored: duplicate';
        END IF;
    END LOOP;
    verdict := coalesce(verdict, postrider.apply_evidence(payment, NULL, 'webhook', e, NULL));
    IF verdict LIKE 'held:%' THEN
        DELETE FROM postrider.webhook_key AS k WHERE k.channel_no = channel_no AND k.key = ANY (fresh);
    END IF;
    RETURN verdict;
END $$;

ALTER FUNCTION postrider.webhook_item(channel_no integer, webhook_id bigint, item jsonb) OWNER TO postrider_owner;

--
-- Name: webhook_items(integer, bigint, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhook_items(channel_no integer, webhook_id bigint, items jsonb, OUT state text, OUT result text) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.webhook_items(channel_no integer, webhook_id bigint, items jsonb, OUT state text, OUT result text) OWNER TO postrider_owner;

--
-- Name: webhook; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.webhook (
    id bigint NOT NULL,
    channel_no integer NOT NULL,
    received_at timestamp with time zone NOT NULL,
    method text NOT NULL,
    query text DEFAULT ''::text NOT NULL,
    headers jsonb NOT NULL,
    body bytea NOT NULL,
    verdict text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    items jsonb DEFAULT '[]'::jsonb NOT NULL,
    state text NOT NULL,
    result text DEFAULT ''::text NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    payment_id bigint,
    at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE postrider.webhook OWNER TO postrider_owner;

--
-- Name: webhook_json(postrider.webhook); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhook_json(w postrider.webhook) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT jsonb_build_object('webhook_id', w.id, 'channel', (SELECT c.id FROM postrider.channel AS c WHERE c.no = w.channel_no), 'received_at', postrider.json_time(w.received_at),
        'method', w.method, 'query', w.query, 'bytes', octet_length(w.body), 'verdict', w.verdict, 'reason', w.reason, 'status', w.state, 'result', w.result,
        'tries', w.tries, 'payment_id', w.payment_id, 'updated_at', postrider.json_time(w.at))
$$;

ALTER FUNCTION postrider.webhook_json(w postrider.webhook) OWNER TO postrider_owner;

--
-- Name: webhook_listed(postrider.webhook, jsonb, integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhook_listed(w postrider.webhook, a jsonb, no integer) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN (a ->> 'channel' IS NULL OR w.channel_no = no) AND (a ->> 'status' IS NULL OR w.state = a ->> 'status')
           THEN postrider.webhook_json(w) END
$$;

ALTER FUNCTION postrider.webhook_listed(w postrider.webhook, a jsonb, no integer) OWNER TO postrider_owner;

--
-- Name: webhook_raw(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhook_raw(webhook_id bigint) RETURNS TABLE(headers jsonb, body bytea, items jsonb)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
    SELECT w.headers, w.body, w.items FROM postrider.webhook AS w WHERE w.id = $1
$_$;

ALTER FUNCTION postrider.webhook_raw(webhook_id bigint) OWNER TO postrider_owner;

--
-- Name: webhook_receive(text, timestamp with time zone, text, text, jsonb, bytea, text, text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhook_receive(channel text, received_at timestamp with time zone, method text, query text, headers jsonb, body bytea, verdict text, reason text, items jsonb, OUT reply text, OUT webhook_id bigint, OUT result text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.webhook_receive(channel text, received_at timestamp with time zone, method text, query text, headers jsonb, body bytea, verdict text, reason text, items jsonb, OUT reply text, OUT webhook_id bigint, OUT result text) OWNER TO postrider_owner;

--
-- Name: webhook_redrive(bigint); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhook_redrive(webhook_id bigint, OUT state text, OUT result text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.webhook_redrive(webhook_id bigint, OUT state text, OUT result text) OWNER TO postrider_owner;

--
-- Name: webhook_redrive_by(text, bigint, text); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhook_redrive_by(who text, webhook_id bigint, reason text, OUT state text, OUT result text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    SELECT r.state, r.result INTO state, result FROM postrider.webhook_redrive(webhook_id) AS r;
    IF state IS NOT NULL THEN
        PERFORM postrider.audit_add(who, 'webhook.redrive', webhook_id::text, reason, jsonb_build_object('state', state, 'result', result));
    END IF;
END $$;

ALTER FUNCTION postrider.webhook_redrive_by(who text, webhook_id bigint, reason text, OUT state text, OUT result text) OWNER TO postrider_owner;

--
-- Name: webhook_show(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhook_show(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    w postrider.webhook;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'webhook_id');
    SELECT x.* INTO w FROM postrider.webhook AS x WHERE x.id = postrider.arg_id(a, 'webhook_id');
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no webhook %s', a ->> 'webhook_id'), HINT = 'webhooks_list shows them.';
    END IF;
    RETURN jsonb_build_object('webhook', postrider.webhook_json(w), 'headers', w.headers, 'body', postrider.bytes_json(w.body), 'items', w.items);
END $$;

ALTER FUNCTION postrider.webhook_show(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: webhooks_list(text, jsonb); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhooks_list(who text, a jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    most CONSTANT int := postrider.arg_limit(a);
    upto CONSTANT bigint := postrider.list_before(a);
    no CONSTANT int := (SELECT c.no FROM postrider.channel AS c WHERE c.id = a ->> 'channel');
    looks CONSTANT int := 10000;
    c refcursor;
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a, 'channel', 'status', 'payment_id', 'limit', 'after');
    IF a ->> 'payment_id' IS NOT NULL THEN
        OPEN c FOR SELECT x.id, postrider.webhook_listed(x, a, no) AS item FROM postrider.webhook AS x
        WHERE x.id = ANY (ARRAY(SELECT y.id FROM postrider.webhook AS y WHERE y.payment_id = postrider.arg_id(a, 'payment_id'))) AND x.id < upto ORDER BY x.id DESC LIMIT looks + 1;
    ELSE
        OPEN c FOR SELECT x.id, postrider.webhook_listed(x, a, no) AS item FROM postrider.webhook AS x
        WHERE x.id < upto ORDER BY x.id DESC LIMIT looks + 1;
    END IF;
    RETURN postrider.list_scan(c, upto, looks, most);
END $$;

ALTER FUNCTION postrider.webhooks_list(who text, a jsonb) OWNER TO postrider_owner;

--
-- Name: webhooks_overdue(integer); Type: FUNCTION; Schema: postrider; Owner: postrider_owner
--

CREATE FUNCTION postrider.webhooks_overdue(most integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

ALTER FUNCTION postrider.webhooks_overdue(most integer) OWNER TO postrider_owner;

--
-- Name: alert; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.alert (
    id bigint NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    severity text NOT NULL,
    message text NOT NULL,
    count bigint DEFAULT 1 NOT NULL,
    first_at timestamp with time zone DEFAULT now() NOT NULL,
    last_at timestamp with time zone DEFAULT now() NOT NULL,
    resolved_at timestamp with time zone,
    announced_at timestamp with time zone,
    CONSTRAINT alert_severity_check CHECK ((severity = ANY (ARRAY['info'::text, 'warn'::text, 'page'::text])))
);

ALTER TABLE postrider.alert OWNER TO postrider_owner;

--
-- Name: alert_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.alert ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.alert_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: alerts; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.alerts AS
 SELECT a.id AS alert_id,
    a.kind,
    a.subject,
    a.severity,
    a.message,
    a.count,
    a.first_at,
    a.last_at,
    a.resolved_at
   FROM postrider.alert a;

ALTER TABLE postrider.alerts OWNER TO postrider_owner;

--
-- Name: approval_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.approval ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.approval_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: attempt_default; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.attempt_default (
    at timestamp with time zone DEFAULT now() NOT NULL,
    outbox_id bigint NOT NULL,
    endpoint bigint NOT NULL,
    before_ms integer NOT NULL,
    ms integer NOT NULL,
    try smallint NOT NULL,
    outcome smallint NOT NULL,
    code smallint NOT NULL,
    worker smallint,
    error text,
    next_due timestamp with time zone,
    response bytea
);

ALTER TABLE postrider.attempt_default OWNER TO postrider_owner;

--
-- Name: worker; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.worker (
    no smallint NOT NULL,
    name text NOT NULL,
    CONSTRAINT worker_no_check CHECK ((no > 0))
);

ALTER TABLE postrider.worker OWNER TO postrider_owner;

--
-- Name: notification_attempts; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.notification_attempts AS
 SELECT 'notification'::text AS job_kind,
    (o.notify_id)::text AS subject,
    (a.try)::integer AS attempt,
    (a.at - ((a.before_ms)::double precision * '00:00:00.001'::interval)) AS started_at,
    a.ms AS duration_ms,
    postrider.outcome_name(a.outcome) AS outcome,
    (NULLIF(a.code, 0))::integer AS http_code,
    a.error,
    postrider.response_text(a.outcome, a.response) AS response,
    o.notify_id,
    a.endpoint AS endpoint_id,
    o.merchant_id,
    o.order_no,
    w.name AS worker,
    a.at AS recorded_at,
    a.next_due AS next_attempt_at
   FROM (((postrider.attempt a
     JOIN postrider.notification o ON ((o.id = a.outbox_id)))
     JOIN postrider.endpoint e ON (((e.id = a.endpoint) AND (e.merchant_id = o.merchant_id))))
     LEFT JOIN postrider.worker w ON ((w.no = a.worker)));

ALTER TABLE postrider.notification_attempts OWNER TO postrider_owner;

--
-- Name: attempt_log; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.attempt_log AS
 SELECT n.job_kind,
    n.subject,
    n.attempt,
    n.started_at,
    n.duration_ms,
    n.outcome,
    n.http_code,
    n.error,
    n.response,
    n.notify_id,
    n.endpoint_id,
    n.merchant_id,
    n.order_no,
    n.worker,
    n.recorded_at,
    n.next_attempt_at
   FROM postrider.notification_attempts n
UNION ALL
 SELECT l.operation AS job_kind,
    (('payment '::text || l.payment_id) || COALESCE((' refund '::text || l.refund_id), ''::text)) AS subject,
    l.attempt,
    COALESCE(l.dispatched_at, l.at) AS started_at,
    l.duration_ms,
    l.verdict AS outcome,
    l.http_status AS http_code,
    COALESCE(NULLIF(l.transport, 'ok'::text), l.reason) AS error,
    l.status AS response,
    NULL::uuid AS notify_id,
    NULL::bigint AS endpoint_id,
    p.merchant_id,
    p.order_no,
    NULL::text AS worker,
    l.at AS recorded_at,
    NULL::timestamp with time zone AS next_attempt_at
   FROM (postrider.call_log l
     JOIN postrider.payment p ON ((p.id = l.payment_id)));

ALTER TABLE postrider.attempt_log OWNER TO postrider_owner;

--
-- Name: VIEW attempt_log; Type: COMMENT; Schema: postrider; Owner: postrider_owner
--

COMMENT ON VIEW postrider.attempt_log IS 'Every attempt. Look up by notify_id, merchant_id and order_no, or endpoint_id.';

--
-- Name: audit_chain; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.audit_chain (
    n bigint NOT NULL,
    audit_id bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_chain_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT audit_chain_n_check CHECK ((n > 0))
);

ALTER TABLE postrider.audit_chain OWNER TO postrider_owner;

--
-- Name: audit_head; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.audit_head (
    one boolean DEFAULT true NOT NULL,
    n bigint NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_head_one_check CHECK (one)
);

ALTER TABLE postrider.audit_head OWNER TO postrider_owner;

--
-- Name: audit_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: call_exchange; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.call_exchange (
    log_id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    payment_id bigint NOT NULL,
    said bytea NOT NULL
);

ALTER TABLE postrider.call_exchange OWNER TO postrider_owner;

--
-- Name: call_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.call ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.call_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: call_log_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.call_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.call_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: call_request; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.call_request (
    payment_id bigint NOT NULL,
    refund_id bigint NOT NULL,
    operation text NOT NULL,
    config bytea NOT NULL,
    built_at timestamp with time zone DEFAULT date_trunc('second'::text, clock_timestamp()) NOT NULL,
    sha256 text,
    CONSTRAINT call_request_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
);

ALTER TABLE postrider.call_request OWNER TO postrider_owner;

--
-- Name: call_session; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.call_session (
    id uuid NOT NULL,
    pid integer NOT NULL,
    address text NOT NULL,
    started timestamp with time zone DEFAULT now() NOT NULL,
    beat_at timestamp with time zone DEFAULT now() NOT NULL,
    ended timestamp with time zone
);

ALTER TABLE postrider.call_session OWNER TO postrider_owner;

--
-- Name: call_shard; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.call_shard (
    no smallint NOT NULL,
    session uuid
);

ALTER TABLE postrider.call_shard OWNER TO postrider_owner;

--
-- Name: channel_no_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.channel ALTER COLUMN no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.channel_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: channel_parameter; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.channel_parameter (
    channel text NOT NULL,
    name text NOT NULL,
    "position" smallint DEFAULT 1 NOT NULL,
    sealed bytea NOT NULL,
    CONSTRAINT channel_parameter_position_check CHECK ((("position" >= 1) AND ("position" <= 4))),
    CONSTRAINT channel_parameter_sealed_check CHECK ((octet_length(sealed) <= 4126))
);

ALTER TABLE postrider.channel_parameter OWNER TO postrider_owner;

--
-- Name: channel_pause; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.channel_pause (
    channel_no integer NOT NULL,
    until timestamp with time zone NOT NULL
);

ALTER TABLE postrider.channel_pause OWNER TO postrider_owner;

--
-- Name: channel_turn; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.channel_turn (
    id bigint NOT NULL,
    channel_no integer NOT NULL,
    who text NOT NULL,
    asked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    given_at timestamp with time zone,
    hold interval NOT NULL,
    until timestamp with time zone NOT NULL
);

ALTER TABLE postrider.channel_turn OWNER TO postrider_owner;

--
-- Name: channel_turn_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.channel_turn ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.channel_turn_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: channels; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.channels AS
 SELECT c.id AS channel,
    c.profile,
    c.base_url,
    c.account,
    c.livemode,
    c.state,
    c.state_reason,
    c.state_at,
    c.version,
    c.shard,
    (c.tls_ca IS NOT NULL) AS private_ca,
    c.notify_url,
    c.match,
    c.failure_final,
    c.unit,
    c.exponents,
    c.not_found,
    c.not_found_grace_ms,
    c.settle_ms,
    c.rate_per_s,
    c.burst,
    c.concurrency,
    c.polls,
    c.max_polls,
    c.first_poll_ms,
    c.charge_retry,
    c.charge_tries,
    c.operations,
    c.number_max,
    c.expires_ms,
    c.order_policy,
    c.late_money,
    c.risk,
    ARRAY( SELECT DISTINCT a.name
           FROM postrider.channel_parameter a
          WHERE (a.channel = c.id)
          ORDER BY a.name) AS parameter_names,
    c.created_at,
    c.updated_at
   FROM postrider.channel c;

ALTER TABLE postrider.channels OWNER TO postrider_owner;

--
-- Name: compensation_tasks; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.compensation_tasks AS
 SELECT t.task_no,
    t.biz_type,
    t.biz_id,
    t.merchant_id,
    t.order_no,
    t.payment_id,
    t.source,
    t.difference_id,
    t.state AS status,
    t.retry_count,
    t.retry_limit,
    t.next_run_at,
    t.last_run_at,
    t.last_error_code,
    t.last_error_message,
    t.request,
    t.result,
    t.lock_owner,
    t.locked_at,
    t.closed_by,
    t.conclusion,
    t.before,
    t.after,
    t.follows,
    t.created_at,
    t.updated_at
   FROM postrider.task t;

ALTER TABLE postrider.compensation_tasks OWNER TO postrider_owner;

--
-- Name: dead_letters; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.dead_letters AS
 SELECT o.notify_id,
    d.endpoint AS endpoint_id,
    o.merchant_id,
    o.order_no,
    o.event,
    (d.class)::integer AS priority,
    d.reason,
    d.tries AS attempts,
    d.at AS dead_at,
    d.state,
    d.closed_by,
    d.closed_reason,
    d.closed_at,
    COALESCE(o.notify_url, e.url) AS notify_url,
    (NULLIF(l.code, 0))::integer AS last_http_code,
    l.error AS last_error,
    postrider.response_text(l.outcome, l.response) AS last_response,
    o.version,
    o.at AS created_at
   FROM (((postrider.dead d
     JOIN postrider.notification o ON (((o.id = d.outbox_id) AND (o.at = d.outbox_at))))
     LEFT JOIN postrider.endpoint e ON ((e.id = d.endpoint)))
     LEFT JOIN LATERAL ( SELECT a.outcome,
            a.code,
            a.error,
            a.response
           FROM postrider.attempt a
          WHERE ((a.endpoint = d.endpoint) AND (a.outbox_id = d.outbox_id))
          ORDER BY a.try DESC
         LIMIT 1) l ON (true));

ALTER TABLE postrider.dead_letters OWNER TO postrider_owner;

--
-- Name: dispute; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.dispute (
    id bigint NOT NULL,
    payment_id bigint NOT NULL,
    reference text NOT NULL,
    state text NOT NULL,
    amount_minor bigint,
    reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE postrider.dispute OWNER TO postrider_owner;

--
-- Name: dispute_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.dispute ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.dispute_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: endpoint_failing; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.endpoint_failing (
    endpoint bigint NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE postrider.endpoint_failing OWNER TO postrider_owner;

--
-- Name: endpoint_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

CREATE SEQUENCE postrider.endpoint_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE postrider.endpoint_id_seq OWNER TO postrider_owner;

--
-- Name: endpoint_id_seq; Type: SEQUENCE OWNED BY; Schema: postrider; Owner: postrider_owner
--

ALTER SEQUENCE postrider.endpoint_id_seq OWNED BY postrider.endpoint.id;

--
-- Name: endpoints; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.endpoints AS
 SELECT e.id AS endpoint_id,
    e.merchant_id,
    e.name,
    e.url,
    e.events,
    e.scheme,
    e.success_rule,
    e.retry,
    e.max_age_ms,
    e.concurrency,
    e.rate_per_s,
    ARRAY( SELECT jsonb_object_keys(e.headers) AS jsonb_object_keys) AS header_names,
    (e.tls_ca IS NOT NULL) AS private_ca,
    regexp_replace(e.egress, '//[^@/]*@'::text, '//***@'::text) AS egress,
    e.http2,
    e.supersede,
    e.state,
    e.state_reason,
    e.state_at,
    e.forced,
    e.rotate_until,
    e.shard,
    e.created_at,
    e.updated_at
   FROM postrider.endpoint e;

ALTER TABLE postrider.endpoints OWNER TO postrider_owner;

--
-- Name: evidence_rule; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.evidence_rule (
    object text NOT NULL,
    state text NOT NULL,
    says text NOT NULL,
    effect text NOT NULL
);

ALTER TABLE postrider.evidence_rule OWNER TO postrider_owner;

--
-- Name: exception_kind; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.exception_kind (
    kind text NOT NULL,
    sla interval NOT NULL,
    says text NOT NULL,
    CONSTRAINT exception_kind_sla_check CHECK (((sla >= '00:01:00'::interval) AND (sla <= '90 days'::interval)))
);

ALTER TABLE postrider.exception_kind OWNER TO postrider_owner;

--
-- Name: fulfilment; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.fulfilment (
    merchant_id text NOT NULL,
    order_no text NOT NULL,
    state text NOT NULL,
    reference text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT fulfilment_state_check CHECK ((state = ANY (ARRAY['delivered'::text, 'failed'::text])))
);

ALTER TABLE postrider.fulfilment OWNER TO postrider_owner;

--
-- Name: fulfilment_rule; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.fulfilment_rule (
    merchant_id text NOT NULL,
    grace interval NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT fulfilment_rule_grace_check CHECK (((grace >= '00:00:00'::interval) AND (grace <= '90 days'::interval)))
);

ALTER TABLE postrider.fulfilment_rule OWNER TO postrider_owner;

--
-- Name: fulfilments; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.fulfilments AS
 SELECT f.merchant_id,
    f.order_no,
    f.state,
    f.reference,
    f.created_at,
    f.updated_at
   FROM postrider.fulfilment f;

ALTER TABLE postrider.fulfilments OWNER TO postrider_owner;

--
-- Name: heartbeat; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.heartbeat (
    session uuid NOT NULL,
    beat bigint NOT NULL,
    low bigint[] NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE postrider.heartbeat OWNER TO postrider_owner;

--
-- Name: http_answer; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.http_answer (
    key_id bigint NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    status integer NOT NULL,
    body text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE postrider.http_answer OWNER TO postrider_owner;

--
-- Name: http_key_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.http_key ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.http_key_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: http_keys; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.http_keys AS
 SELECT k.id AS key_id,
    k.kind,
    k.merchant_id,
    k.livemode,
    k.label,
    k.created_at,
    k.expires_at,
    k.revoked_at
   FROM postrider.http_key k;

ALTER TABLE postrider.http_keys OWNER TO postrider_owner;

--
-- Name: http_nonce; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.http_nonce (
    key_id bigint NOT NULL,
    nonce text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT http_nonce_nonce_check CHECK (((length(nonce) >= 16) AND (length(nonce) <= 64)))
);

ALTER TABLE postrider.http_nonce OWNER TO postrider_owner;

--
-- Name: idempotency; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.idempotency (
    merchant_id text NOT NULL,
    function text NOT NULL,
    key text NOT NULL,
    args_hash bytea NOT NULL,
    notify_id uuid NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE postrider.idempotency OWNER TO postrider_owner;

--
-- Name: login_try; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.login_try (
    key text NOT NULL,
    since timestamp with time zone NOT NULL,
    tries integer NOT NULL
);

ALTER TABLE postrider.login_try OWNER TO postrider_owner;

--
-- Name: manual_actions; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.manual_actions AS
 SELECT a.id AS action_id,
    a.at,
    a.actor,
    a.action,
    a.subject,
    a.reason,
    a.detail
   FROM postrider.audit a
  WHERE (a.action ~ '^(payment|refund|task|channel|webhook|key)[.]'::text);

ALTER TABLE postrider.manual_actions OWNER TO postrider_owner;

--
-- Name: merchant; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.merchant (
    id text NOT NULL,
    tier text DEFAULT 'normal'::text NOT NULL,
    email text,
    shard smallint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT merchant_id_check CHECK ((id ~ '^[A-Za-z0-9._:-]{1,64}$'::text)),
    CONSTRAINT merchant_shard_check CHECK (((shard >= 0) AND (shard <= 255))),
    CONSTRAINT merchant_tier_check CHECK ((tier = ANY (ARRAY['vip'::text, 'normal'::text, 'small'::text])))
);

ALTER TABLE postrider.merchant OWNER TO postrider_owner;

--
-- Name: merchants; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.merchants AS
 SELECT m.id AS merchant_id,
    m.tier,
    m.email,
    m.shard,
    m.created_at
   FROM postrider.merchant m;

ALTER TABLE postrider.merchants OWNER TO postrider_owner;

--
-- Name: notification_timeline; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.notification_timeline AS
 SELECT o.merchant_id,
    o.order_no,
    o.at,
    'notification.enqueued'::text AS kind,
    jsonb_build_object('notify_id', o.notify_id, 'event', o.event, 'version', o.version, 'priority', o.class) AS detail
   FROM postrider.notification o
  WHERE (o.kind = 0)
UNION ALL
 SELECT o.merchant_id,
    o.order_no,
    (a.at - ((a.before_ms)::double precision * '00:00:00.001'::interval)) AS at,
    'notification.attempt'::text AS kind,
    jsonb_build_object('notify_id', o.notify_id, 'endpoint_id', a.endpoint, 'attempt', a.try, 'outcome', postrider.outcome_name(a.outcome), 'http_code', NULLIF(a.code, 0), 'error', a.error, 'duration_ms', a.ms, 'next_attempt_at', a.next_due) AS detail
   FROM ((postrider.attempt a
     JOIN postrider.notification o ON ((o.id = a.outbox_id)))
     JOIN postrider.endpoint e ON (((e.id = a.endpoint) AND (e.merchant_id = o.merchant_id))))
UNION ALL
 SELECT o.merchant_id,
    o.order_no,
    d.at,
    'notification.dead'::text AS kind,
    jsonb_build_object('notify_id', o.notify_id, 'endpoint_id', d.endpoint, 'reason', d.reason, 'attempts', d.tries) AS detail
   FROM (postrider.dead d
     JOIN postrider.notification o ON (((o.id = d.outbox_id) AND (o.at = d.outbox_at))))
UNION ALL
 SELECT o.merchant_id,
    o.order_no,
    d.closed_at AS at,
    ('notification.'::text || d.state) AS kind,
    jsonb_build_object('notify_id', o.notify_id, 'endpoint_id', d.endpoint, 'by', d.closed_by, 'reason', d.closed_reason) AS detail
   FROM (postrider.dead d
     JOIN postrider.notification o ON (((o.id = d.outbox_id) AND (o.at = d.outbox_at))))
  WHERE (d.closed_at IS NOT NULL)
UNION ALL
 SELECT o.merchant_id,
    o.order_no,
    c.at,
    'notification.cancelled'::text AS kind,
    jsonb_build_object('notify_id', o.notify_id, 'endpoint_id', c.endpoint, 'reason', c.reason) AS detail
   FROM (postrider.cancelled c
     JOIN postrider.notification o ON (((o.id = c.outbox_id) AND (o.at = c.outbox_at))));

ALTER TABLE postrider.notification_timeline OWNER TO postrider_owner;

--
-- Name: operator_session; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.operator_session (
    hash bytea NOT NULL,
    operator text NOT NULL,
    address text NOT NULL,
    agent text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    idle interval NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    ended_why text,
    CONSTRAINT operator_session_hash_check CHECK ((octet_length(hash) = 32))
);

ALTER TABLE postrider.operator_session OWNER TO postrider_owner;

--
-- Name: operator_token; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.operator_token (
    id bigint NOT NULL,
    hash bytea NOT NULL,
    operator text NOT NULL,
    role text NOT NULL,
    label text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    used_at timestamp with time zone,
    CONSTRAINT operator_token_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT operator_token_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'approver'::text, 'admin'::text])))
);

ALTER TABLE postrider.operator_token OWNER TO postrider_owner;

--
-- Name: operator_token_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.operator_token ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.operator_token_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: payment_history; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.payment_history (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    payment_id bigint NOT NULL,
    refund_id bigint,
    source text NOT NULL,
    event_id text,
    verdict text NOT NULL,
    from_state text,
    to_state text,
    version bigint,
    evidence jsonb DEFAULT '{}'::jsonb NOT NULL
);

ALTER TABLE postrider.payment_history OWNER TO postrider_owner;

--
-- Name: task_log; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.task_log (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    task_id bigint NOT NULL,
    from_state text NOT NULL,
    to_state text NOT NULL,
    who text NOT NULL,
    reason text NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL
);

ALTER TABLE postrider.task_log OWNER TO postrider_owner;

--
-- Name: order_timeline; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.order_timeline AS
 SELECT n.merchant_id,
    n.order_no,
    n.at,
    n.kind,
    n.detail
   FROM postrider.notification_timeline n
UNION ALL
 SELECT p.merchant_id,
    p.order_no,
    p.created_at AS at,
    'payment.created'::text AS kind,
    jsonb_build_object('payment_id', p.id, 'channel', p.channel, 'amount', p.amount_minor, 'currency', p.currency, 'app_ref', p.app_ref) AS detail
   FROM postrider.payment p
UNION ALL
 SELECT p.merchant_id,
    p.order_no,
    h.at,
    'payment.evidence'::text AS kind,
    jsonb_build_object('payment_id', p.id, 'refund_id', h.refund_id, 'source', h.source, 'verdict', h.verdict, 'from', h.from_state, 'to', h.to_state, 'version', h.version, 'status', (h.evidence ->> 'status'::text), 'reason', (h.evidence ->> 'reason'::text)) AS detail
   FROM (postrider.payment p
     JOIN postrider.payment_history h ON ((h.payment_id = p.id)))
UNION ALL
 SELECT p.merchant_id,
    p.order_no,
    l.at,
    ('payment.'::text || l.operation) AS kind,
    jsonb_build_object('payment_id', p.id, 'refund_id', l.refund_id, 'attempt', l.attempt, 'http_code', l.http_status, 'duration_ms', l.duration_ms, 'status', l.status, 'reason', l.reason, 'verdict', l.verdict, 'next', l.next) AS detail
   FROM (postrider.payment p
     JOIN postrider.call_log l ON ((l.payment_id = p.id)))
UNION ALL
 SELECT p.merchant_id,
    p.order_no,
    w.received_at AS at,
    ('webhook.'::text || w.state) AS kind,
    jsonb_build_object('webhook_id', w.id, 'payment_id', p.id, 'result', w.result) AS detail
   FROM (postrider.payment p
     JOIN postrider.webhook w ON ((w.payment_id = p.id)))
UNION ALL
 SELECT t.merchant_id,
    t.order_no,
    l.at,
    ('task.'::text || lower(l.to_state)) AS kind,
    jsonb_build_object('task_no', t.task_no, 'biz_type', t.biz_type, 'who', l.who, 'reason', l.reason, 'from', l.from_state) AS detail
   FROM (postrider.task t
     JOIN postrider.task_log l ON ((l.task_id = t.id)))
UNION ALL
 SELECT f.merchant_id,
    f.order_no,
    f.updated_at AS at,
    ('fulfilment.'::text || f.state) AS kind,
    jsonb_build_object('reference', f.reference) AS detail
   FROM postrider.fulfilment f;

ALTER TABLE postrider.order_timeline OWNER TO postrider_owner;

--
-- Name: outbox_default; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.outbox_default (
    id bigint NOT NULL,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    class smallint NOT NULL,
    kind smallint DEFAULT 0 NOT NULL,
    merchant_id text NOT NULL,
    order_no text NOT NULL,
    event text NOT NULL,
    status text NOT NULL,
    version bigint NOT NULL,
    notify_id uuid NOT NULL,
    notify_url text,
    body bytea NOT NULL,
    cancel_at timestamp with time zone,
    cancel_reason text,
    ref_at timestamp with time zone,
    ref_id bigint,
    ref_endpoint bigint
);

ALTER TABLE postrider.outbox_default OWNER TO postrider_owner;

--
-- Name: outbox_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: outcome_rule; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.outcome_rule (
    operation text NOT NULL,
    answer text NOT NULL,
    phase text NOT NULL,
    step text NOT NULL,
    why text NOT NULL
);

ALTER TABLE postrider.outcome_rule OWNER TO postrider_owner;

--
-- Name: partition; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.partition (
    parent text NOT NULL,
    name text NOT NULL,
    lo timestamp with time zone NOT NULL,
    hi timestamp with time zone NOT NULL,
    CONSTRAINT partition_check CHECK ((lo < hi)),
    CONSTRAINT partition_parent_check CHECK ((parent = ANY (ARRAY['outbox'::text, 'attempt'::text])))
);

ALTER TABLE postrider.partition OWNER TO postrider_owner;

--
-- Name: payment_event; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.payment_event (
    seq bigint NOT NULL,
    tx xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    payment_id bigint NOT NULL,
    refund_id bigint,
    event text NOT NULL,
    state text NOT NULL,
    status text NOT NULL,
    version bigint NOT NULL,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL
);

ALTER TABLE postrider.payment_event OWNER TO postrider_owner;

--
-- Name: payment_event_seq_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.payment_event ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.payment_event_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: payment_events; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.payment_events AS
 SELECT v.seq,
    v.at,
    v.payment_id,
    v.refund_id,
    p.merchant_id,
    p.order_no,
    p.app_ref,
    v.event,
    v.state,
    v.status,
    v.version,
    COALESCE(((v.detail ->> 'amount'::text))::bigint, p.amount_minor) AS amount_minor,
    p.currency,
    p.livemode,
    v.detail
   FROM (postrider.payment_event v
     JOIN postrider.payment p ON ((p.id = v.payment_id)))
  WHERE (v.tx < pg_snapshot_xmin(pg_current_snapshot()));

ALTER TABLE postrider.payment_events OWNER TO postrider_owner;

--
-- Name: payment_evidence; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.payment_evidence AS
 SELECT h.id AS history_id,
    h.at,
    h.payment_id,
    h.refund_id,
    p.merchant_id,
    p.order_no,
    h.source,
    h.event_id,
    h.verdict,
    h.from_state,
    h.to_state,
    h.version,
    h.evidence
   FROM (postrider.payment_history h
     JOIN postrider.payment p ON ((p.id = h.payment_id)));

ALTER TABLE postrider.payment_evidence OWNER TO postrider_owner;

--
-- Name: payment_history_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.payment_history ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.payment_history_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: payment_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.payment ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.payment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: payment_status; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.payment_status AS
 SELECT p.id AS payment_id,
    p.merchant_id,
    p.order_no,
    p.channel,
    p.gateway_reference,
    p.app_ref,
    p.state,
    postrider.published_status(p.state, p.manual, p.amount_minor, p.captured_minor, p.refunded_minor, (EXISTS ( SELECT
           FROM postrider.refund r
          WHERE ((r.payment_id = p.id) AND (r.state = ANY (ARRAY['created'::text, 'processing'::text]))))), (EXISTS ( SELECT
           FROM postrider.dispute d
          WHERE ((d.payment_id = p.id) AND (d.state <> 'won'::text))))) AS status,
    p.amount_minor,
    p.currency,
    p.captured_minor,
    p.refunded_minor,
    p.version,
    p.failure_code,
        CASE
            WHEN ((p.state = 'processing'::text) AND (p.next_action IS NOT NULL)) THEN jsonb_build_object('kind', p.next_action_kind, 'value', p.next_action)
            ELSE NULL::jsonb
        END AS next_action,
    p.created_at,
    p.updated_at,
    p.expires_at,
    COALESCE(k.due, k.lease_until) AS next_poll_at,
    COALESCE(k.attempt, ( SELECT (count(*))::integer AS count
           FROM postrider.call_log l
          WHERE ((l.payment_id = p.id) AND (l.refund_id IS NULL)))) AS attempts,
        CASE
            WHEN p.manual THEN p.manual_reason
            ELSE NULL::text
        END AS manual_reason,
    p.livemode,
    p.failure_message,
    p.request_no,
    p.final_at,
    p.ended_by,
    p.paid_at,
    k.operation AS next_operation,
    k.reason AS next_reason
   FROM (postrider.payment p
     LEFT JOIN LATERAL ( SELECT x.due,
            x.lease_until,
            x.attempt,
            x.operation,
            x.reason
           FROM postrider.call x
          WHERE ((x.payment_id = p.id) AND (x.refund_id IS NULL))
         LIMIT 1) k ON (true));

ALTER TABLE postrider.payment_status OWNER TO postrider_owner;

--
-- Name: permission; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.permission (
    action text NOT NULL,
    role text NOT NULL,
    four_eyes boolean DEFAULT false NOT NULL,
    says text NOT NULL,
    CONSTRAINT permission_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'approver'::text, 'admin'::text])))
);

ALTER TABLE postrider.permission OWNER TO postrider_owner;

--
-- Name: priority_rule; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.priority_rule (
    currency text NOT NULL,
    large_minor bigint,
    small_minor bigint,
    CONSTRAINT priority_rule_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text))
);

ALTER TABLE postrider.priority_rule OWNER TO postrider_owner;

--
-- Name: recon_bad_row_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.recon_bad_row ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.recon_bad_row_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: recon_difference_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.recon_difference ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.recon_difference_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: recon_file_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.recon_file ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.recon_file_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: recon_item; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.recon_item (
    file_id bigint NOT NULL,
    n bigint NOT NULL,
    line bigint NOT NULL,
    entry text,
    kind text NOT NULL,
    state text NOT NULL,
    native text,
    reference text,
    request_no text,
    refund_reference text,
    refund_no text,
    amount_minor bigint NOT NULL,
    currency text NOT NULL,
    fee_minor bigint,
    occurred_at timestamp with time zone,
    raw text
);

ALTER TABLE postrider.recon_item OWNER TO postrider_owner;

--
-- Name: recon_match; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.recon_match (
    payment_id bigint NOT NULL,
    refund_id bigint DEFAULT 0 NOT NULL,
    file_id bigint NOT NULL,
    n bigint NOT NULL
);

ALTER TABLE postrider.recon_match OWNER TO postrider_owner;

--
-- Name: recon_open; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.recon_open (
    id bigint NOT NULL,
    side text NOT NULL,
    channel_no integer NOT NULL,
    file_id bigint NOT NULL,
    n bigint,
    payment_id bigint,
    refund_id bigint,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT recon_open_check CHECK ((((side = 'theirs'::text) = (n IS NOT NULL)) AND ((side = 'ours'::text) = (payment_id IS NOT NULL)))),
    CONSTRAINT recon_open_side_check CHECK ((side = ANY (ARRAY['ours'::text, 'theirs'::text])))
);

ALTER TABLE postrider.recon_open OWNER TO postrider_owner;

--
-- Name: recon_open_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.recon_open ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.recon_open_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: recon_pool; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.recon_pool AS
 SELECT o.id AS open_id,
    o.side,
    c.id AS channel,
    o.file_id,
    o.n,
    o.payment_id,
    o.refund_id,
    o.since,
    o.until,
    o.created_at
   FROM (postrider.recon_open o
     JOIN postrider.channel c ON ((c.no = o.channel_no)));

ALTER TABLE postrider.recon_pool OWNER TO postrider_owner;

--
-- Name: recon_run; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.recon_run (
    channel text NOT NULL,
    statement_date date NOT NULL,
    due_at timestamp with time zone NOT NULL,
    next_at timestamp with time zone NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    claimed_until timestamp with time zone,
    claimed_by text,
    last_error text,
    last_at timestamp with time zone,
    done_at timestamp with time zone,
    file_id bigint,
    asked_by text,
    asked_source text,
    asked_format text,
    asked_correct boolean,
    asked_taken boolean
);

ALTER TABLE postrider.recon_run OWNER TO postrider_owner;

--
-- Name: recon_runs; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.recon_runs AS
 SELECT r.channel,
    r.statement_date,
    r.due_at,
    r.next_at,
    r.tries,
    r.last_error,
    r.last_at,
    r.done_at,
    r.claimed_by,
    r.claimed_until,
    r.file_id,
    r.asked_by
   FROM postrider.recon_run r;

ALTER TABLE postrider.recon_runs OWNER TO postrider_owner;

--
-- Name: redrive; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.redrive (
    id bigint NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    filter jsonb NOT NULL,
    rate_per_s double precision NOT NULL,
    requested_at timestamp with time zone DEFAULT now() NOT NULL,
    stepped_at timestamp with time zone DEFAULT now() NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT redrive_rate_per_s_check CHECK ((rate_per_s > (0)::double precision))
);

ALTER TABLE postrider.redrive OWNER TO postrider_owner;

--
-- Name: redrive_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.redrive ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.redrive_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: refund_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.refund ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.refund_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: refund_status; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.refund_status AS
 SELECT r.id AS refund_id,
    r.payment_id,
    p.merchant_id,
    p.order_no,
    p.channel,
    r.refund_no,
    r.gateway_reference,
    r.amount_minor,
    p.currency,
    r.state,
        CASE
            WHEN ((r.state = 'processing'::text) AND r.manual) THEN 'unknown'::text
            ELSE r.state
        END AS status,
    r.origin,
    r.reason,
    r.failure_code,
    r.failure_message,
        CASE
            WHEN r.manual THEN r.manual_reason
            ELSE NULL::text
        END AS manual_reason,
    r.created_at,
    r.updated_at,
    r.sent_at,
    r.final_at,
    COALESCE(k.due, k.lease_until) AS next_poll_at
   FROM ((postrider.refund r
     JOIN postrider.payment p ON ((p.id = r.payment_id)))
     LEFT JOIN LATERAL ( SELECT x.due,
            x.lease_until
           FROM postrider.call x
          WHERE (x.refund_id = r.id)
         LIMIT 1) k ON (true));

ALTER TABLE postrider.refund_status OWNER TO postrider_owner;

--
-- Name: resend_allowance; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.resend_allowance (
    merchant_id text NOT NULL,
    livemode boolean NOT NULL,
    rest real NOT NULL,
    at timestamp with time zone NOT NULL
);

ALTER TABLE postrider.resend_allowance OWNER TO postrider_owner;

--
-- Name: resolution; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.resolution (
    kind text NOT NULL,
    action text NOT NULL,
    permission text NOT NULL,
    says text NOT NULL
);

ALTER TABLE postrider.resolution OWNER TO postrider_owner;

--
-- Name: session; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.session (
    id uuid NOT NULL,
    lock_key bigint NOT NULL,
    pid integer NOT NULL,
    address text DEFAULT ''::text NOT NULL,
    started timestamp with time zone DEFAULT now() NOT NULL,
    ended timestamp with time zone
);

ALTER TABLE postrider.session OWNER TO postrider_owner;

--
-- Name: shard; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.shard (
    no smallint NOT NULL,
    session uuid,
    low bigint[] DEFAULT '{0,72057594037927936,144115188075855872}'::bigint[] NOT NULL,
    beat bigint DEFAULT 0 NOT NULL
);

ALTER TABLE postrider.shard OWNER TO postrider_owner;

--
-- Name: transition; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.transition (
    object text NOT NULL,
    from_state text NOT NULL,
    to_state text NOT NULL,
    why text NOT NULL
);

ALTER TABLE postrider.transition OWNER TO postrider_owner;

--
-- Name: state_rules; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.state_rules AS
 SELECT 'transition'::text AS kind,
    t.object,
    t.from_state AS "when",
    ''::text AS says,
    t.to_state AS "then",
    t.why
   FROM postrider.transition t
UNION ALL
 SELECT 'evidence'::text AS kind,
    r.object,
    r.state AS "when",
    r.says,
    r.effect AS "then",
    ''::text AS why
   FROM postrider.evidence_rule r
UNION ALL
 SELECT 'outcome'::text AS kind,
    o.operation AS object,
    o.phase AS "when",
    o.answer AS says,
    o.step AS "then",
    o.why
   FROM postrider.outcome_rule o;

ALTER TABLE postrider.state_rules OWNER TO postrider_owner;

--
-- Name: task_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.task ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.task_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: task_incidents; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.task_incidents AS
 SELECT t.task_no,
    t.biz_type,
    t.merchant_id,
    t.order_no,
    l.at,
    l.reason,
    (l.detail #>> '{incident,owner}'::text[]) AS owner,
    ((l.detail #>> '{incident,locked_at}'::text[]))::timestamp with time zone AS locked_at,
    ((l.detail #>> '{incident,held_s}'::text[]))::bigint AS held_s
   FROM (postrider.task t
     JOIN postrider.task_log l ON ((l.task_id = t.id)))
  WHERE ((l.from_state = 'PROCESSING'::text) AND (l.to_state = 'WAITING'::text));

ALTER TABLE postrider.task_incidents OWNER TO postrider_owner;

--
-- Name: task_key; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.task_key (
    merchant_id text NOT NULL,
    key text NOT NULL,
    args_hash bytea NOT NULL,
    task_no text
);

ALTER TABLE postrider.task_key OWNER TO postrider_owner;

--
-- Name: task_kind; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.task_kind (
    biz_type text NOT NULL,
    handler text NOT NULL,
    retry_limit integer NOT NULL,
    own_handler text,
    own_limit integer,
    CONSTRAINT task_kind_biz_type_check CHECK ((biz_type ~ '^[a-z0-9_]{1,64}$'::text)),
    CONSTRAINT task_kind_handler_check CHECK ((handler = ANY (ARRAY['callback'::text, 'verify'::text, 'repair'::text, 'refund'::text, 'refund_review'::text, 'writeback'::text, 'http'::text, 'person'::text]))),
    CONSTRAINT task_kind_retry_limit_check CHECK (((retry_limit >= 1) AND (retry_limit <= 1000)))
);

ALTER TABLE postrider.task_kind OWNER TO postrider_owner;

--
-- Name: task_log_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.task_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.task_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: task_runs; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.task_runs AS
 SELECT t.task_no,
    t.biz_type,
    t.merchant_id,
    t.order_no,
    (( SELECT count(*) AS count
           FROM postrider.task_log x
          WHERE ((x.task_id = c.task_id) AND (x.to_state = 'PROCESSING'::text) AND (x.id <= c.id))))::integer AS run,
    c.at AS started_at,
    c.who AS worker,
    e.at AS ended_at,
    e.to_state AS ended,
    COALESCE((e.detail ->> 'error_code'::text), e.reason) AS code,
    (e.detail ->> 'error_message'::text) AS message
   FROM ((postrider.task t
     JOIN postrider.task_log c ON (((c.task_id = t.id) AND (c.to_state = 'PROCESSING'::text))))
     LEFT JOIN LATERAL ( SELECT l.at,
            l.to_state,
            l.reason,
            l.detail
           FROM postrider.task_log l
          WHERE ((l.task_id = c.task_id) AND (l.id > c.id))
          ORDER BY l.id
         LIMIT 1) e ON (true));

ALTER TABLE postrider.task_runs OWNER TO postrider_owner;

--
-- Name: VIEW task_runs; Type: COMMENT; Schema: postrider; Owner: postrider_owner
--

COMMENT ON VIEW postrider.task_runs IS 'Every run of every task. Look up by task_no, or by merchant_id and order_no.';

--
-- Name: task_session; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.task_session (
    id uuid NOT NULL,
    pid integer NOT NULL,
    address text NOT NULL,
    started timestamp with time zone DEFAULT now() NOT NULL,
    ended timestamp with time zone
);

ALTER TABLE postrider.task_session OWNER TO postrider_owner;

--
-- Name: webhook_id_seq; Type: SEQUENCE; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE postrider.webhook ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postrider.webhook_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: webhook_journal; Type: VIEW; Schema: postrider; Owner: postrider_owner
--

CREATE VIEW postrider.webhook_journal AS
 SELECT w.id AS webhook_id,
    c.id AS channel,
    w.received_at,
    w.method,
    w.query,
    octet_length(w.body) AS bytes,
    w.verdict,
    w.reason,
    w.state AS status,
    w.result,
    w.tries,
    jsonb_array_length(w.items) AS items,
    w.payment_id,
    p.merchant_id,
    p.order_no,
    w.at AS updated_at
   FROM ((postrider.webhook w
     JOIN postrider.channel c ON ((c.no = w.channel_no)))
     LEFT JOIN postrider.payment p ON ((p.id = w.payment_id)));

ALTER TABLE postrider.webhook_journal OWNER TO postrider_owner;

--
-- Name: webhook_key; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.webhook_key (
    channel_no integer NOT NULL,
    key text NOT NULL,
    webhook_id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE postrider.webhook_key OWNER TO postrider_owner;

--
-- Name: webhook_orphan; Type: TABLE; Schema: postrider; Owner: postrider_owner
--

CREATE TABLE postrider.webhook_orphan (
    channel_no integer NOT NULL,
    number text NOT NULL,
    webhook_id bigint NOT NULL
);

ALTER TABLE postrider.webhook_orphan OWNER TO postrider_owner;

--
-- Name: attempt_default; Type: TABLE ATTACH; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.attempt ATTACH PARTITION postrider.attempt_default DEFAULT;

--
-- Name: outbox_default; Type: TABLE ATTACH; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.outbox ATTACH PARTITION postrider.outbox_default DEFAULT;

--
-- Name: alert alert_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.alert
    ADD CONSTRAINT alert_pkey PRIMARY KEY (id);

--
-- Name: approval approval_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.approval
    ADD CONSTRAINT approval_pkey PRIMARY KEY (id);

--
-- Name: audit_chain audit_chain_audit_id_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.audit_chain
    ADD CONSTRAINT audit_chain_audit_id_key UNIQUE (audit_id);

--
-- Name: audit_chain audit_chain_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.audit_chain
    ADD CONSTRAINT audit_chain_pkey PRIMARY KEY (n);

--
-- Name: audit_head audit_head_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.audit_head
    ADD CONSTRAINT audit_head_pkey PRIMARY KEY (one);

--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

--
-- Name: breaker_open breaker_open_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.breaker_open
    ADD CONSTRAINT breaker_open_pkey PRIMARY KEY (endpoint);

--
-- Name: call call_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.call
    ADD CONSTRAINT call_pkey PRIMARY KEY (id);

--
-- Name: call_request call_request_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.call_request
    ADD CONSTRAINT call_request_pkey PRIMARY KEY (payment_id, refund_id, operation);

--
-- Name: call_session call_session_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.call_session
    ADD CONSTRAINT call_session_pkey PRIMARY KEY (id);

--
-- Name: call_shard call_shard_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.call_shard
    ADD CONSTRAINT call_shard_pkey PRIMARY KEY (no);

--
-- Name: cancelled cancelled_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.cancelled
    ADD CONSTRAINT cancelled_pkey PRIMARY KEY (outbox_id, endpoint);

--
-- Name: channel channel_no_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.channel
    ADD CONSTRAINT channel_no_key UNIQUE (no);

--
-- Name: channel_parameter channel_parameter_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.channel_parameter
    ADD CONSTRAINT channel_parameter_pkey PRIMARY KEY (channel, name, "position");

--
-- Name: channel_pause channel_pause_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.channel_pause
    ADD CONSTRAINT channel_pause_pkey PRIMARY KEY (channel_no);

--
-- Name: channel channel_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.channel
    ADD CONSTRAINT channel_pkey PRIMARY KEY (id);

--
-- Name: channel_turn channel_turn_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.channel_turn
    ADD CONSTRAINT channel_turn_pkey PRIMARY KEY (id);

--
-- Name: dead dead_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.dead
    ADD CONSTRAINT dead_pkey PRIMARY KEY (outbox_id, endpoint);

--
-- Name: dispute dispute_payment_id_reference_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.dispute
    ADD CONSTRAINT dispute_payment_id_reference_key UNIQUE (payment_id, reference);

--
-- Name: dispute dispute_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.dispute
    ADD CONSTRAINT dispute_pkey PRIMARY KEY (id);

--
-- Name: endpoint_failing endpoint_failing_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.endpoint_failing
    ADD CONSTRAINT endpoint_failing_pkey PRIMARY KEY (endpoint);

--
-- Name: endpoint endpoint_merchant_id_name_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.endpoint
    ADD CONSTRAINT endpoint_merchant_id_name_key UNIQUE (merchant_id, name);

--
-- Name: endpoint endpoint_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.endpoint
    ADD CONSTRAINT endpoint_pkey PRIMARY KEY (id);

--
-- Name: evidence_rule evidence_rule_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.evidence_rule
    ADD CONSTRAINT evidence_rule_pkey PRIMARY KEY (object, state, says);

--
-- Name: exception_kind exception_kind_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.exception_kind
    ADD CONSTRAINT exception_kind_pkey PRIMARY KEY (kind);

--
-- Name: fulfilment fulfilment_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.fulfilment
    ADD CONSTRAINT fulfilment_pkey PRIMARY KEY (merchant_id, order_no);

--
-- Name: fulfilment_rule fulfilment_rule_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.fulfilment_rule
    ADD CONSTRAINT fulfilment_rule_pkey PRIMARY KEY (merchant_id);

--
-- Name: heartbeat heartbeat_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.heartbeat
    ADD CONSTRAINT heartbeat_pkey PRIMARY KEY (session);

--
-- Name: http_answer http_answer_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.http_answer
    ADD CONSTRAINT http_answer_pkey PRIMARY KEY (key_id, key);

--
-- Name: http_key http_key_hash_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.http_key
    ADD CONSTRAINT http_key_hash_key UNIQUE (hash);

--
-- Name: http_key http_key_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.http_key
    ADD CONSTRAINT http_key_pkey PRIMARY KEY (id);

--
-- Name: http_nonce http_nonce_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.http_nonce
    ADD CONSTRAINT http_nonce_pkey PRIMARY KEY (key_id, nonce);

--
-- Name: idempotency idempotency_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (merchant_id, function, key);

--
-- Name: job job_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (seq);

--
-- Name: login_try login_try_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.login_try
    ADD CONSTRAINT login_try_pkey PRIMARY KEY (key);

--
-- Name: merchant merchant_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.merchant
    ADD CONSTRAINT merchant_pkey PRIMARY KEY (id);

--
-- Name: operator operator_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.operator
    ADD CONSTRAINT operator_pkey PRIMARY KEY (name);

--
-- Name: operator_session operator_session_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.operator_session
    ADD CONSTRAINT operator_session_pkey PRIMARY KEY (hash);

--
-- Name: operator_token operator_token_hash_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.operator_token
    ADD CONSTRAINT operator_token_hash_key UNIQUE (hash);

--
-- Name: operator_token operator_token_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.operator_token
    ADD CONSTRAINT operator_token_pkey PRIMARY KEY (id);

--
-- Name: outcome_rule outcome_rule_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.outcome_rule
    ADD CONSTRAINT outcome_rule_pkey PRIMARY KEY (operation, answer, phase);

--
-- Name: partition partition_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.partition
    ADD CONSTRAINT partition_pkey PRIMARY KEY (name);

--
-- Name: payment_event payment_event_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.payment_event
    ADD CONSTRAINT payment_event_pkey PRIMARY KEY (seq);

--
-- Name: payment_history payment_history_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.payment_history
    ADD CONSTRAINT payment_history_pkey PRIMARY KEY (id);

--
-- Name: payment payment_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.payment
    ADD CONSTRAINT payment_pkey PRIMARY KEY (id);

--
-- Name: permission permission_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.permission
    ADD CONSTRAINT permission_pkey PRIMARY KEY (action);

--
-- Name: priority_rule priority_rule_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.priority_rule
    ADD CONSTRAINT priority_rule_pkey PRIMARY KEY (currency);

--
-- Name: recon_bad_row recon_bad_row_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_bad_row
    ADD CONSTRAINT recon_bad_row_pkey PRIMARY KEY (id);

--
-- Name: recon_channel recon_channel_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_channel
    ADD CONSTRAINT recon_channel_pkey PRIMARY KEY (channel);

--
-- Name: recon_difference recon_difference_key_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_difference
    ADD CONSTRAINT recon_difference_key_key UNIQUE (key);

--
-- Name: recon_difference recon_difference_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_difference
    ADD CONSTRAINT recon_difference_pkey PRIMARY KEY (id);

--
-- Name: recon_file recon_file_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_file
    ADD CONSTRAINT recon_file_pkey PRIMARY KEY (id);

--
-- Name: recon_item recon_item_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_item
    ADD CONSTRAINT recon_item_pkey PRIMARY KEY (file_id, n);

--
-- Name: recon_match recon_match_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_match
    ADD CONSTRAINT recon_match_pkey PRIMARY KEY (payment_id, refund_id);

--
-- Name: recon_open recon_open_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_open
    ADD CONSTRAINT recon_open_pkey PRIMARY KEY (id);

--
-- Name: recon_run recon_run_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_run
    ADD CONSTRAINT recon_run_pkey PRIMARY KEY (channel, statement_date);

--
-- Name: redrive redrive_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.redrive
    ADD CONSTRAINT redrive_pkey PRIMARY KEY (id);

--
-- Name: refund refund_payment_id_refund_no_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.refund
    ADD CONSTRAINT refund_payment_id_refund_no_key UNIQUE (payment_id, refund_no);

--
-- Name: refund refund_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.refund
    ADD CONSTRAINT refund_pkey PRIMARY KEY (id);

--
-- Name: resend_allowance resend_allowance_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.resend_allowance
    ADD CONSTRAINT resend_allowance_pkey PRIMARY KEY (merchant_id, livemode);

--
-- Name: resolution resolution_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.resolution
    ADD CONSTRAINT resolution_pkey PRIMARY KEY (kind, action);

--
-- Name: session session_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);

--
-- Name: setting setting_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (key);

--
-- Name: shard shard_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.shard
    ADD CONSTRAINT shard_pkey PRIMARY KEY (no);

--
-- Name: task_key task_key_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.task_key
    ADD CONSTRAINT task_key_pkey PRIMARY KEY (merchant_id, key);

--
-- Name: task_kind task_kind_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.task_kind
    ADD CONSTRAINT task_kind_pkey PRIMARY KEY (biz_type);

--
-- Name: task_log task_log_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.task_log
    ADD CONSTRAINT task_log_pkey PRIMARY KEY (id);

--
-- Name: task task_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (id);

--
-- Name: task_session task_session_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.task_session
    ADD CONSTRAINT task_session_pkey PRIMARY KEY (id);

--
-- Name: task task_task_no_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.task
    ADD CONSTRAINT task_task_no_key UNIQUE (task_no);

--
-- Name: tick tick_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.tick
    ADD CONSTRAINT tick_pkey PRIMARY KEY (class, n);

--
-- Name: transition transition_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.transition
    ADD CONSTRAINT transition_pkey PRIMARY KEY (object, from_state, to_state);

--
-- Name: webhook_key webhook_key_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.webhook_key
    ADD CONSTRAINT webhook_key_pkey PRIMARY KEY (channel_no, key);

--
-- Name: webhook_orphan webhook_orphan_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.webhook_orphan
    ADD CONSTRAINT webhook_orphan_pkey PRIMARY KEY (channel_no, number, webhook_id);

--
-- Name: webhook webhook_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.webhook
    ADD CONSTRAINT webhook_pkey PRIMARY KEY (id);

--
-- Name: worker worker_name_key; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.worker
    ADD CONSTRAINT worker_name_key UNIQUE (name);

--
-- Name: worker worker_pkey; Type: CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (no);

--
-- Name: alert_open_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX alert_open_key ON postrider.alert USING btree (kind, subject) WHERE (resolved_at IS NULL);

--
-- Name: alert_unannounced_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX alert_unannounced_idx ON postrider.alert USING btree (id) WHERE (announced_at IS NULL);

--
-- Name: approval_expires_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX approval_expires_idx ON postrider.approval USING btree (expires_at) WHERE (state = 'open'::text);

--
-- Name: approval_open_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX approval_open_key ON postrider.approval USING btree (payment_id) WHERE (state = 'open'::text);

--
-- Name: approval_payment_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX approval_payment_idx ON postrider.approval USING btree (payment_id);

--
-- Name: approval_state_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX approval_state_idx ON postrider.approval USING btree (state, id);

--
-- Name: attempt_outbox_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX attempt_outbox_id_idx ON ONLY postrider.attempt USING btree (outbox_id);

--
-- Name: attempt_default_outbox_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX attempt_default_outbox_id_idx ON postrider.attempt_default USING btree (outbox_id);

--
-- Name: audit_action_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX audit_action_idx ON postrider.audit USING btree (action, id);

--
-- Name: audit_actor_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX audit_actor_idx ON postrider.audit USING btree (actor, id);

--
-- Name: audit_order_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX audit_order_idx ON postrider.audit USING btree (merchant_id, order_no) WHERE (order_no IS NOT NULL);

--
-- Name: audit_subject_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX audit_subject_idx ON postrider.audit USING btree (subject, id);

--
-- Name: call_due_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX call_due_idx ON postrider.call USING btree (channel_no, class, due) WHERE (due IS NOT NULL);

--
-- Name: call_exchange_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX call_exchange_at_idx ON postrider.call_exchange USING btree (at);

--
-- Name: call_exchange_payment_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX call_exchange_payment_idx ON postrider.call_exchange USING btree (payment_id);

--
-- Name: call_lease_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX call_lease_idx ON postrider.call USING btree (channel_no, lease_until) WHERE (lease_until IS NOT NULL);

--
-- Name: call_log_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX call_log_at_idx ON postrider.call_log USING btree (at);

--
-- Name: call_log_channel_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX call_log_channel_idx ON postrider.call_log USING btree (channel_no, at);

--
-- Name: call_log_payment_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX call_log_payment_idx ON postrider.call_log USING btree (payment_id);

--
-- Name: call_payment_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX call_payment_key ON postrider.call USING btree (payment_id) WHERE (refund_id IS NULL);

--
-- Name: call_refund_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX call_refund_key ON postrider.call USING btree (refund_id) WHERE (refund_id IS NOT NULL);

--
-- Name: call_session_live_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX call_session_live_idx ON postrider.call_session USING btree (id) WHERE (ended IS NULL);

--
-- Name: cancelled_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX cancelled_at_idx ON postrider.cancelled USING btree (at);

--
-- Name: cancelled_endpoint_outbox_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX cancelled_endpoint_outbox_id_idx ON postrider.cancelled USING btree (endpoint, outbox_id);

--
-- Name: cancelled_tx_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX cancelled_tx_idx ON postrider.cancelled USING btree (tx) WHERE (endpoint <> 0);

--
-- Name: channel_turn_channel_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX channel_turn_channel_idx ON postrider.channel_turn USING btree (channel_no, id);

--
-- Name: dead_closed_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX dead_closed_at_idx ON postrider.dead USING btree (closed_at) WHERE (closed_at IS NOT NULL);

--
-- Name: dead_endpoint_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX dead_endpoint_at_idx ON postrider.dead USING btree (endpoint, at);

--
-- Name: dead_open_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX dead_open_idx ON postrider.dead USING btree (at, outbox_id, endpoint) WHERE (state = 'open'::text);

--
-- Name: endpoint_disabled_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX endpoint_disabled_idx ON postrider.endpoint USING btree (state_at, id) WHERE (state = 'disabled'::text);

--
-- Name: endpoint_supersede_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX endpoint_supersede_idx ON postrider.endpoint USING btree (id) WHERE supersede;

--
-- Name: endpoint_tx_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX endpoint_tx_idx ON postrider.endpoint USING btree (tx);

--
-- Name: http_answer_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX http_answer_at_idx ON postrider.http_answer USING btree (at);

--
-- Name: http_nonce_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX http_nonce_at_idx ON postrider.http_nonce USING btree (at);

--
-- Name: idempotency_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX idempotency_at_idx ON postrider.idempotency USING btree (at);

--
-- Name: job_due_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX job_due_idx ON postrider.job USING btree (endpoint, class, due, seq) WHERE (due IS NOT NULL);

--
-- Name: job_outbox_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX job_outbox_id_idx ON postrider.job USING btree (outbox_id);

--
-- Name: login_try_since_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX login_try_since_idx ON postrider.login_try USING btree (since);

--
-- Name: operator_session_expires_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX operator_session_expires_at_idx ON postrider.operator_session USING btree (expires_at);

--
-- Name: operator_session_operator_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX operator_session_operator_idx ON postrider.operator_session USING btree (operator) WHERE (ended_at IS NULL);

--
-- Name: outbox_class_tx_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_class_tx_id_idx ON ONLY postrider.outbox USING btree (class, tx, id);

--
-- Name: outbox_default_class_tx_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_default_class_tx_id_idx ON postrider.outbox_default USING btree (class, tx, id);

--
-- Name: outbox_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_id_idx ON ONLY postrider.outbox USING btree (id);

--
-- Name: outbox_default_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_default_id_idx ON postrider.outbox_default USING btree (id);

--
-- Name: outbox_merchant_id_order_no_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_merchant_id_order_no_idx ON ONLY postrider.outbox USING btree (merchant_id, order_no);

--
-- Name: outbox_default_merchant_id_order_no_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_default_merchant_id_order_no_idx ON postrider.outbox_default USING btree (merchant_id, order_no);

--
-- Name: outbox_notify_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_notify_id_idx ON ONLY postrider.outbox USING btree (notify_id);

--
-- Name: outbox_default_notify_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_default_notify_id_idx ON postrider.outbox_default USING btree (notify_id);

--
-- Name: outbox_kept_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_kept_id_idx ON postrider.outbox_kept USING btree (id);

--
-- Name: outbox_kept_merchant_id_order_no_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_kept_merchant_id_order_no_idx ON postrider.outbox_kept USING btree (merchant_id, order_no);

--
-- Name: outbox_kept_notify_id_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX outbox_kept_notify_id_idx ON postrider.outbox_kept USING btree (notify_id);

--
-- Name: payment_channel_reference_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX payment_channel_reference_key ON postrider.payment USING btree (channel_no, gateway_reference) WHERE (gateway_reference IS NOT NULL);

--
-- Name: payment_ended_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX payment_ended_idx ON postrider.payment USING btree (channel_no, final_at) WHERE (final_at IS NOT NULL);

--
-- Name: payment_event_payment_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX payment_event_payment_idx ON postrider.payment_event USING btree (payment_id);

--
-- Name: payment_history_event_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX payment_history_event_key ON postrider.payment_history USING btree (payment_id, event_id) WHERE (event_id IS NOT NULL);

--
-- Name: payment_history_payment_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX payment_history_payment_idx ON postrider.payment_history USING btree (payment_id, id);

--
-- Name: payment_manual_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX payment_manual_idx ON postrider.payment USING btree (id) WHERE (manual AND (state = 'processing'::text));

--
-- Name: payment_open_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX payment_open_idx ON postrider.payment USING btree (id) WHERE (state = ANY (ARRAY['created'::text, 'processing'::text]));

--
-- Name: payment_order_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX payment_order_idx ON postrider.payment USING btree (merchant_id, order_no);

--
-- Name: payment_request_no_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX payment_request_no_key ON postrider.payment USING btree (request_no) WHERE (request_no IS NOT NULL);

--
-- Name: payment_single_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX payment_single_key ON postrider.payment USING btree (merchant_id, order_no) WHERE (single AND (request_no IS NOT NULL) AND (state = ANY (ARRAY['created'::text, 'processing'::text, 'succeeded'::text])));

--
-- Name: payment_tracked_order_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX payment_tracked_order_idx ON postrider.payment USING btree (channel_no, order_no) WHERE (request_no IS NULL);

--
-- Name: payment_untold_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX payment_untold_idx ON postrider.payment USING btree (id) WHERE ((final_at IS NOT NULL) AND (notify_id IS NULL));

--
-- Name: recon_bad_row_file_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_bad_row_file_idx ON postrider.recon_bad_row USING btree (file_id, id);

--
-- Name: recon_bad_row_open_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_bad_row_open_idx ON postrider.recon_bad_row USING btree (id) WHERE (closed_at IS NULL);

--
-- Name: recon_difference_channel_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_difference_channel_idx ON postrider.recon_difference USING btree (channel_no, id);

--
-- Name: recon_difference_file_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_difference_file_idx ON postrider.recon_difference USING btree (file_id, id) WHERE (file_id IS NOT NULL);

--
-- Name: recon_difference_open_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_difference_open_idx ON postrider.recon_difference USING btree (id) WHERE (state = 'open'::text);

--
-- Name: recon_difference_order_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_difference_order_idx ON postrider.recon_difference USING btree (merchant_id, order_no);

--
-- Name: recon_difference_payment_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_difference_payment_idx ON postrider.recon_difference USING btree (payment_id) WHERE (payment_id IS NOT NULL);

--
-- Name: recon_difference_task_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_difference_task_idx ON postrider.recon_difference USING btree (task_id);

--
-- Name: recon_file_content_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX recon_file_content_key ON postrider.recon_file USING btree (channel_no, sha256) WHERE ((rows > 0) AND (state <> 'closed'::text));

--
-- Name: recon_file_day_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX recon_file_day_key ON postrider.recon_file USING btree (channel_no, statement_date, kind) WHERE (state <> ALL (ARRAY['replaced'::text, 'closed'::text]));

--
-- Name: recon_file_open_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_file_open_idx ON postrider.recon_file USING btree (id) WHERE (state = ANY (ARRAY['imported'::text, 'held'::text]));

--
-- Name: recon_file_span_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_file_span_idx ON postrider.recon_file USING btree (channel_no, from_at) WHERE (state = 'matched'::text);

--
-- Name: recon_open_channel_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_open_channel_idx ON postrider.recon_open USING btree (channel_no, id);

--
-- Name: recon_open_ours_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX recon_open_ours_key ON postrider.recon_open USING btree (payment_id, COALESCE(refund_id, (0)::bigint)) WHERE (side = 'ours'::text);

--
-- Name: recon_open_theirs_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX recon_open_theirs_key ON postrider.recon_open USING btree (file_id, n) WHERE (side = 'theirs'::text);

--
-- Name: recon_run_next_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX recon_run_next_idx ON postrider.recon_run USING btree (next_at) WHERE (done_at IS NULL);

--
-- Name: redrive_open_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX redrive_open_idx ON postrider.redrive USING btree (id) WHERE (finished_at IS NULL);

--
-- Name: refund_ended_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX refund_ended_idx ON postrider.refund USING btree (final_at) WHERE (final_at IS NOT NULL);

--
-- Name: refund_gateway_no_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX refund_gateway_no_key ON postrider.refund USING btree (gateway_no) WHERE (gateway_no IS NOT NULL);

--
-- Name: refund_open_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX refund_open_idx ON postrider.refund USING btree (payment_id, id) WHERE (state = ANY (ARRAY['created'::text, 'processing'::text]));

--
-- Name: shard_session_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX shard_session_idx ON postrider.shard USING btree (session);

--
-- Name: task_lock_token_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX task_lock_token_key ON postrider.task USING btree (lock_token) WHERE (lock_token IS NOT NULL);

--
-- Name: task_log_task_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX task_log_task_idx ON postrider.task_log USING btree (task_id);

--
-- Name: task_manual_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX task_manual_idx ON postrider.task USING btree (updated_at, id) WHERE (state = 'MANUAL'::text);

--
-- Name: task_object_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX task_object_idx ON postrider.task USING btree (biz_type, biz_id) WHERE (state = 'SUCCESS'::text);

--
-- Name: task_open_key; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE UNIQUE INDEX task_open_key ON postrider.task USING btree (biz_type, biz_id) WHERE (state <> ALL (ARRAY['SUCCESS'::text, 'CLOSED'::text]));

--
-- Name: task_order_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX task_order_idx ON postrider.task USING btree (merchant_id, order_no);

--
-- Name: task_payment_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX task_payment_idx ON postrider.task USING btree (payment_id) WHERE (payment_id IS NOT NULL);

--
-- Name: task_run_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX task_run_idx ON postrider.task USING btree (next_run_at) WHERE (state = ANY (ARRAY['WAITING'::text, 'RETRY'::text]));

--
-- Name: task_session_live_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX task_session_live_idx ON postrider.task_session USING btree (id) WHERE (ended IS NULL);

--
-- Name: task_state_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX task_state_idx ON postrider.task USING btree (state, id) WHERE (state <> ALL (ARRAY['SUCCESS'::text, 'CLOSED'::text]));

--
-- Name: webhook_key_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX webhook_key_at_idx ON postrider.webhook_key USING btree (at);

--
-- Name: webhook_open_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX webhook_open_idx ON postrider.webhook USING btree (received_at) WHERE (state = ANY (ARRAY['failed'::text, 'orphan'::text]));

--
-- Name: webhook_orphan_webhook_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX webhook_orphan_webhook_idx ON postrider.webhook_orphan USING btree (webhook_id);

--
-- Name: webhook_payment_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX webhook_payment_idx ON postrider.webhook USING btree (payment_id) WHERE (payment_id IS NOT NULL);

--
-- Name: webhook_received_at_idx; Type: INDEX; Schema: postrider; Owner: postrider_owner
--

CREATE INDEX webhook_received_at_idx ON postrider.webhook USING btree (received_at);

--
-- Name: attempt_default_outbox_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: postrider_owner
--

ALTER INDEX postrider.attempt_outbox_id_idx ATTACH PARTITION postrider.attempt_default_outbox_id_idx;

--
-- Name: outbox_default_class_tx_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: postrider_owner
--

ALTER INDEX postrider.outbox_class_tx_id_idx ATTACH PARTITION postrider.outbox_default_class_tx_id_idx;

--
-- Name: outbox_default_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: postrider_owner
--

ALTER INDEX postrider.outbox_id_idx ATTACH PARTITION postrider.outbox_default_id_idx;

--
-- Name: outbox_default_merchant_id_order_no_idx; Type: INDEX ATTACH; Schema: postrider; Owner: postrider_owner
--

ALTER INDEX postrider.outbox_merchant_id_order_no_idx ATTACH PARTITION postrider.outbox_default_merchant_id_order_no_idx;

--
-- Name: outbox_default_notify_id_idx; Type: INDEX ATTACH; Schema: postrider; Owner: postrider_owner
--

ALTER INDEX postrider.outbox_notify_id_idx ATTACH PARTITION postrider.outbox_default_notify_id_idx;

--
-- Name: approval approval_before; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER approval_before BEFORE UPDATE ON postrider.approval FOR EACH ROW EXECUTE FUNCTION postrider.approval_before();

ALTER TABLE postrider.approval ENABLE ALWAYS TRIGGER approval_before;

--
-- Name: approval approval_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER approval_kept BEFORE DELETE OR TRUNCATE ON postrider.approval FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

ALTER TABLE postrider.approval ENABLE ALWAYS TRIGGER approval_kept;

--
-- Name: approval approval_state; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER approval_state BEFORE INSERT OR UPDATE ON postrider.approval FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('approval');

ALTER TABLE postrider.approval ENABLE ALWAYS TRIGGER approval_state;

--
-- Name: audit audit_before; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER audit_before BEFORE INSERT ON postrider.audit FOR EACH ROW EXECUTE FUNCTION postrider.audit_before();

ALTER TABLE postrider.audit ENABLE ALWAYS TRIGGER audit_before;

--
-- Name: audit_chain audit_chain_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER audit_chain_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON postrider.audit_chain FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

ALTER TABLE postrider.audit_chain ENABLE ALWAYS TRIGGER audit_chain_kept;

--
-- Name: audit audit_chained; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE CONSTRAINT TRIGGER audit_chained AFTER INSERT ON postrider.audit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION postrider.audit_after();

ALTER TABLE postrider.audit ENABLE ALWAYS TRIGGER audit_chained;

--
-- Name: audit_head audit_head_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER audit_head_kept BEFORE INSERT OR DELETE OR UPDATE ON postrider.audit_head FOR EACH ROW EXECUTE FUNCTION postrider.audit_head_before();

ALTER TABLE postrider.audit_head ENABLE ALWAYS TRIGGER audit_head_kept;

--
-- Name: audit_head audit_head_there; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER audit_head_there BEFORE TRUNCATE ON postrider.audit_head FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

ALTER TABLE postrider.audit_head ENABLE ALWAYS TRIGGER audit_head_there;

--
-- Name: audit audit_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER audit_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON postrider.audit FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

ALTER TABLE postrider.audit ENABLE ALWAYS TRIGGER audit_kept;

--
-- Name: call_request call_request_before; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER call_request_before BEFORE UPDATE ON postrider.call_request FOR EACH ROW EXECUTE FUNCTION postrider.call_request_before();

--
-- Name: call_request call_request_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER call_request_kept BEFORE DELETE OR TRUNCATE ON postrider.call_request FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

--
-- Name: channel channel_before; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER channel_before BEFORE INSERT OR UPDATE ON postrider.channel FOR EACH ROW EXECUTE FUNCTION postrider.channel_before();

--
-- Name: channel channel_keep_account; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER channel_keep_account BEFORE UPDATE ON postrider.channel FOR EACH ROW WHEN (((old.account IS DISTINCT FROM new.account) OR (old.profile IS DISTINCT FROM new.profile) OR (old.livemode IS DISTINCT FROM new.livemode))) EXECUTE FUNCTION postrider.channel_keep_account();

--
-- Name: channel channel_resumed; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER channel_resumed AFTER UPDATE ON postrider.channel FOR EACH ROW WHEN (((old.state = 'stopped'::text) AND (new.state <> 'stopped'::text))) EXECUTE FUNCTION postrider.channel_after();

--
-- Name: channel channel_state; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER channel_state BEFORE INSERT OR UPDATE ON postrider.channel FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('channel');

--
-- Name: dispute dispute_state; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER dispute_state BEFORE INSERT OR UPDATE ON postrider.dispute FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('dispute');

--
-- Name: endpoint endpoint_before; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER endpoint_before BEFORE INSERT OR UPDATE ON postrider.endpoint FOR EACH ROW EXECUTE FUNCTION postrider.endpoint_before();

--
-- Name: endpoint endpoint_check; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER endpoint_check BEFORE INSERT OR UPDATE OF egress, retry, headers, tls_ca, secret, secret_next ON postrider.endpoint FOR EACH ROW WHEN ((new.id > 0)) EXECUTE FUNCTION postrider.endpoint_check();

--
-- Name: merchant merchant_before; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER merchant_before BEFORE INSERT OR UPDATE OF id, shard ON postrider.merchant FOR EACH ROW EXECUTE FUNCTION postrider.merchant_before();

--
-- Name: merchant merchant_check; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER merchant_check BEFORE INSERT OR UPDATE OF email ON postrider.merchant FOR EACH ROW EXECUTE FUNCTION postrider.merchant_check();

--
-- Name: operator operator_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER operator_kept BEFORE DELETE OR TRUNCATE ON postrider.operator FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

--
-- Name: payment payment_before; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER payment_before BEFORE UPDATE ON postrider.payment FOR EACH ROW EXECUTE FUNCTION postrider.payment_before();

ALTER TABLE postrider.payment ENABLE ALWAYS TRIGGER payment_before;

--
-- Name: payment_history payment_history_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER payment_history_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON postrider.payment_history FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

ALTER TABLE postrider.payment_history ENABLE ALWAYS TRIGGER payment_history_kept;

--
-- Name: payment payment_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER payment_kept BEFORE DELETE OR TRUNCATE ON postrider.payment FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

ALTER TABLE postrider.payment ENABLE ALWAYS TRIGGER payment_kept;

--
-- Name: payment payment_state; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER payment_state BEFORE INSERT OR UPDATE ON postrider.payment FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('payment');

ALTER TABLE postrider.payment ENABLE ALWAYS TRIGGER payment_state;

--
-- Name: recon_difference recon_difference_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER recon_difference_kept BEFORE DELETE OR TRUNCATE ON postrider.recon_difference FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

--
-- Name: recon_difference recon_difference_state; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER recon_difference_state BEFORE INSERT OR UPDATE ON postrider.recon_difference FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('difference');

--
-- Name: recon_file recon_file_state; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER recon_file_state BEFORE INSERT OR UPDATE ON postrider.recon_file FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('recon_file');

--
-- Name: refund refund_before; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER refund_before BEFORE UPDATE ON postrider.refund FOR EACH ROW EXECUTE FUNCTION postrider.refund_before();

ALTER TABLE postrider.refund ENABLE ALWAYS TRIGGER refund_before;

--
-- Name: refund refund_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER refund_kept BEFORE DELETE OR TRUNCATE ON postrider.refund FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

ALTER TABLE postrider.refund ENABLE ALWAYS TRIGGER refund_kept;

--
-- Name: refund refund_state; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER refund_state BEFORE INSERT OR UPDATE ON postrider.refund FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('refund');

ALTER TABLE postrider.refund ENABLE ALWAYS TRIGGER refund_state;

--
-- Name: task task_born; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER task_born AFTER INSERT ON postrider.task FOR EACH ROW EXECUTE FUNCTION postrider.task_after();

--
-- Name: task task_difference; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE CONSTRAINT TRIGGER task_difference AFTER UPDATE ON postrider.task DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((new.state = ANY (ARRAY['SUCCESS'::text, 'CLOSED'::text])) AND (new.state <> old.state))) EXECUTE FUNCTION postrider.task_difference();

--
-- Name: task task_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER task_kept BEFORE DELETE OR TRUNCATE ON postrider.task FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

--
-- Name: task_log task_log_kept; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER task_log_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON postrider.task_log FOR EACH STATEMENT EXECUTE FUNCTION postrider.guard_history();

--
-- Name: task task_moved; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER task_moved AFTER UPDATE ON postrider.task FOR EACH ROW WHEN ((new.state <> old.state)) EXECUTE FUNCTION postrider.task_after();

--
-- Name: task task_state; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER task_state BEFORE INSERT OR UPDATE ON postrider.task FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('task');

--
-- Name: webhook webhook_state; Type: TRIGGER; Schema: postrider; Owner: postrider_owner
--

CREATE TRIGGER webhook_state BEFORE INSERT OR UPDATE ON postrider.webhook FOR EACH ROW EXECUTE FUNCTION postrider.guard_state('webhook');

--
-- Name: approval approval_asked_by_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.approval
    ADD CONSTRAINT approval_asked_by_fkey FOREIGN KEY (asked_by) REFERENCES postrider.operator(name);

--
-- Name: approval approval_decided_by_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.approval
    ADD CONSTRAINT approval_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES postrider.operator(name);

--
-- Name: breaker_open breaker_open_endpoint_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.breaker_open
    ADD CONSTRAINT breaker_open_endpoint_fkey FOREIGN KEY (endpoint) REFERENCES postrider.endpoint(id) ON DELETE CASCADE;

--
-- Name: channel_parameter channel_parameter_channel_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.channel_parameter
    ADD CONSTRAINT channel_parameter_channel_fkey FOREIGN KEY (channel) REFERENCES postrider.channel(id);

--
-- Name: dispute dispute_payment_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.dispute
    ADD CONSTRAINT dispute_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES postrider.payment(id);

--
-- Name: endpoint_failing endpoint_failing_endpoint_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.endpoint_failing
    ADD CONSTRAINT endpoint_failing_endpoint_fkey FOREIGN KEY (endpoint) REFERENCES postrider.endpoint(id) ON DELETE CASCADE;

--
-- Name: endpoint endpoint_merchant_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.endpoint
    ADD CONSTRAINT endpoint_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES postrider.merchant(id) ON DELETE RESTRICT;

--
-- Name: fulfilment_rule fulfilment_rule_merchant_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.fulfilment_rule
    ADD CONSTRAINT fulfilment_rule_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES postrider.merchant(id);

--
-- Name: heartbeat heartbeat_session_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.heartbeat
    ADD CONSTRAINT heartbeat_session_fkey FOREIGN KEY (session) REFERENCES postrider.session(id);

--
-- Name: operator_session operator_session_operator_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.operator_session
    ADD CONSTRAINT operator_session_operator_fkey FOREIGN KEY (operator) REFERENCES postrider.operator(name);

--
-- Name: operator_token operator_token_operator_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.operator_token
    ADD CONSTRAINT operator_token_operator_fkey FOREIGN KEY (operator) REFERENCES postrider.operator(name);

--
-- Name: recon_channel recon_channel_channel_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_channel
    ADD CONSTRAINT recon_channel_channel_fkey FOREIGN KEY (channel) REFERENCES postrider.channel(id);

--
-- Name: recon_file recon_file_channel_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_file
    ADD CONSTRAINT recon_file_channel_fkey FOREIGN KEY (channel) REFERENCES postrider.channel(id);

--
-- Name: recon_file recon_file_corrects_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_file
    ADD CONSTRAINT recon_file_corrects_fkey FOREIGN KEY (corrects) REFERENCES postrider.recon_file(id);

--
-- Name: recon_run recon_run_channel_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.recon_run
    ADD CONSTRAINT recon_run_channel_fkey FOREIGN KEY (channel) REFERENCES postrider.channel(id);

--
-- Name: refund refund_payment_id_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.refund
    ADD CONSTRAINT refund_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES postrider.payment(id);

--
-- Name: resolution resolution_kind_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.resolution
    ADD CONSTRAINT resolution_kind_fkey FOREIGN KEY (kind) REFERENCES postrider.exception_kind(kind);

--
-- Name: resolution resolution_permission_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.resolution
    ADD CONSTRAINT resolution_permission_fkey FOREIGN KEY (permission) REFERENCES postrider.permission(action);

--
-- Name: shard shard_session_fkey; Type: FK CONSTRAINT; Schema: postrider; Owner: postrider_owner
--

ALTER TABLE ONLY postrider.shard
    ADD CONSTRAINT shard_session_fkey FOREIGN KEY (session) REFERENCES postrider.session(id);

--
-- Name: SCHEMA postrider; Type: ACL; Schema: -; Owner: postrider_owner
--

GRANT USAGE ON SCHEMA postrider TO postrider_app;
GRANT USAGE ON SCHEMA postrider TO postrider_relay;
GRANT USAGE ON SCHEMA postrider TO postrider_scheduler;
GRANT USAGE ON SCHEMA postrider TO postrider_breaker;
GRANT USAGE ON SCHEMA postrider TO postrider_dead_letter;
GRANT USAGE ON SCHEMA postrider TO postrider_console;
GRANT USAGE ON SCHEMA postrider TO postrider_ingress;
GRANT USAGE ON SCHEMA postrider TO postrider_gateway_scheduler;
GRANT USAGE ON SCHEMA postrider TO postrider_compensator;
GRANT USAGE ON SCHEMA postrider TO postrider_reconciler;

--
-- Name: FUNCTION acquire_shards(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.acquire_shards(session uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.acquire_shards(session uuid) TO postrider_scheduler;

--
-- Name: FUNCTION alert_announce(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.alert_announce(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.alert_announce(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) TO postrider_dead_letter;

--
-- Name: FUNCTION alert_raise(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.alert_raise(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.alert_raise(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) TO postrider_breaker;
GRANT ALL ON FUNCTION postrider.alert_raise(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) TO postrider_dead_letter;
GRANT ALL ON FUNCTION postrider.alert_raise(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.alert_raise(kind text, subject text, severity text, message text, OUT id bigint, OUT fresh boolean, OUT count bigint) TO postrider_console;

--
-- Name: FUNCTION alert_resolve(kind text, subject text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.alert_resolve(kind text, subject text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.alert_resolve(kind text, subject text) TO postrider_breaker;
GRANT ALL ON FUNCTION postrider.alert_resolve(kind text, subject text) TO postrider_dead_letter;
GRANT ALL ON FUNCTION postrider.alert_resolve(kind text, subject text) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.alert_resolve(kind text, subject text) TO postrider_console;

--
-- Name: FUNCTION alert_take(most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.alert_take(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.alert_take(most integer) TO postrider_dead_letter;

--
-- Name: FUNCTION alerts_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.alerts_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.alerts_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION apply_evidence(payment_id bigint, refund_id bigint, source text, evidence jsonb, event_id text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.apply_evidence(payment_id bigint, refund_id bigint, source text, evidence jsonb, event_id text) FROM PUBLIC;

--
-- Name: FUNCTION approval_ask(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_ask(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.approval_ask(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION approval_before(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_before() FROM PUBLIC;

--
-- Name: FUNCTION approval_content(action text, content jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_content(action text, content jsonb) FROM PUBLIC;

--
-- Name: FUNCTION approval_decide(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_decide(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.approval_decide(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION approval_effect(r postrider.approval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_effect(r postrider.approval) FROM PUBLIC;

--
-- Name: FUNCTION approval_end(r postrider.approval, state text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_end(r postrider.approval, state text) FROM PUBLIC;

--
-- Name: FUNCTION approval_hash(action text, object text, content jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_hash(action text, object text, content jsonb) FROM PUBLIC;

--
-- Name: FUNCTION approval_json(r postrider.approval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_json(r postrider.approval) FROM PUBLIC;

--
-- Name: FUNCTION approval_locked(id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_locked(id bigint) FROM PUBLIC;

--
-- Name: FUNCTION approval_show(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_show(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.approval_show(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION approval_version(payment_id bigint, task_no text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_version(payment_id bigint, task_no text) FROM PUBLIC;

--
-- Name: FUNCTION approval_withdraw(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approval_withdraw(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.approval_withdraw(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION approvals_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.approvals_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.approvals_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION arg_id(a jsonb, key text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.arg_id(a jsonb, key text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.arg_id(a jsonb, key text) TO postrider_console;

--
-- Name: FUNCTION arg_limit(a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.arg_limit(a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.arg_limit(a jsonb) TO postrider_console;

--
-- Name: FUNCTION arg_text(a jsonb, key text, most integer, needed boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.arg_text(a jsonb, key text, most integer, needed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.arg_text(a jsonb, key text, most integer, needed boolean) TO postrider_console;

--
-- Name: FUNCTION args_check(a jsonb, VARIADIC known text[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.args_check(a jsonb, VARIADIC known text[]) FROM PUBLIC;

--
-- Name: FUNCTION audit_add(who text, action text, subject text, reason text, detail jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_add(who text, action text, subject text, reason text, detail jsonb) FROM PUBLIC;

--
-- Name: FUNCTION audit_after(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_after() FROM PUBLIC;

--
-- Name: FUNCTION audit_before(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_before() FROM PUBLIC;

--
-- Name: FUNCTION audit_end(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_end() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.audit_end() TO postrider_console;

--
-- Name: FUNCTION audit_entries(after bigint, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_entries(after bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.audit_entries(after bigint, most integer) TO postrider_console;

--
-- Name: FUNCTION audit_field(value text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_field(value text) FROM PUBLIC;

--
-- Name: TABLE audit; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.audit TO postrider_console;

--
-- Name: FUNCTION audit_hash(n bigint, former bytea, a postrider.audit); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_hash(n bigint, former bytea, a postrider.audit) FROM PUBLIC;

--
-- Name: FUNCTION audit_head_before(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_head_before() FROM PUBLIC;

--
-- Name: FUNCTION audit_head_show(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_head_show(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.audit_head_show(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION audit_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.audit_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.audit_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION before_ms(started_us bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.before_ms(started_us bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.before_ms(started_us bigint) TO postrider_scheduler;

--
-- Name: FUNCTION breaker_force(who text, id bigint, forced text, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.breaker_force(who text, id bigint, forced text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.breaker_force(who text, id bigint, forced text, reason text) TO postrider_breaker;
GRANT ALL ON FUNCTION postrider.breaker_force(who text, id bigint, forced text, reason text) TO postrider_console;

--
-- Name: FUNCTION bytes_json(bytes bytea); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.bytes_json(bytes bytea) FROM PUBLIC;

--
-- Name: FUNCTION call_apply(result jsonb, exchange bytea, OUT verdict text, OUT next text, OUT next_in interval, OUT channel text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_apply(result jsonb, exchange bytea, OUT verdict text, OUT next text, OUT next_in interval, OUT channel text) FROM PUBLIC;

--
-- Name: FUNCTION call_fence(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_fence(session uuid) FROM PUBLIC;

--
-- Name: COLUMN call.id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(id) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.channel_no; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(channel_no) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.class; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(class) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.operation; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(operation) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.payment_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(payment_id) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.refund_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(refund_id) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.due; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(due) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.reason; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(reason) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.session; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(session) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.lease_until; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(lease_until) ON TABLE postrider.call TO postrider_console;

--
-- Name: COLUMN call.dispatched_at; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(dispatched_at) ON TABLE postrider.call TO postrider_console;

--
-- Name: FUNCTION call_follow(c postrider.channel, p postrider.payment, k postrider.call, verdict text, result jsonb, OUT next text, OUT next_in interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_follow(c postrider.channel, p postrider.payment, k postrider.call, verdict text, result jsonb, OUT next text, OUT next_in interval) FROM PUBLIC;

--
-- Name: FUNCTION call_json(l postrider.call_log); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_json(l postrider.call_log) FROM PUBLIC;

--
-- Name: FUNCTION call_put(p postrider.payment, refund_id bigint, operation text, delay interval, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_put(p postrider.payment, refund_id bigint, operation text, delay interval, reason text) FROM PUBLIC;

--
-- Name: FUNCTION call_refuse(c postrider.channel, p postrider.payment, r postrider.refund, k postrider.call); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_refuse(c postrider.channel, p postrider.payment, r postrider.refund, k postrider.call) FROM PUBLIC;

--
-- Name: FUNCTION call_request_before(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_request_before() FROM PUBLIC;

--
-- Name: FUNCTION call_session_beat(session uuid, OUT alive boolean, OUT target integer, OUT owned integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_session_beat(session uuid, OUT alive boolean, OUT target integer, OUT owned integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.call_session_beat(session uuid, OUT alive boolean, OUT target integer, OUT owned integer) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION call_session_end(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_session_end(session uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.call_session_end(session uuid) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION call_session_key(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_session_key(session uuid) FROM PUBLIC;

--
-- Name: FUNCTION call_session_open(address text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_session_open(address text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.call_session_open(address text) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION call_shards(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_shards(session uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.call_shards(session uuid) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION call_shards_free(session uuid, nos smallint[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_shards_free(session uuid, nos smallint[]) FROM PUBLIC;

--
-- Name: FUNCTION call_shards_release(session uuid, nos smallint[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_shards_release(session uuid, nos smallint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.call_shards_release(session uuid, nos smallint[]) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION call_shards_take(session uuid, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.call_shards_take(session uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.call_shards_take(session uuid, most integer) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_apply(session uuid, results jsonb, exchanges bytea[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_apply(session uuid, results jsonb, exchanges bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_apply(session uuid, results jsonb, exchanges bytea[]) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_channels(session uuid, known text[], versions bigint[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_channels(session uuid, known text[], versions bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_channels(session uuid, known text[], versions bigint[]) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_dispatch(session uuid, call_ids bigint[], lease_ms integer[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_dispatch(session uuid, call_ids bigint[], lease_ms integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_dispatch(session uuid, call_ids bigint[], lease_ms integer[]) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_due(session uuid, shards smallint[], most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_due(session uuid, shards smallint[], most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_due(session uuid, shards smallint[], most integer) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_expire_leases(session uuid, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_expire_leases(session uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_expire_leases(session uuid, most integer) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_orphaned(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_orphaned(session uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_orphaned(session uuid) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_pause(session uuid, channel text, ms bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_pause(session uuid, channel text, ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_pause(session uuid, channel text, ms bigint) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_turns(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_turns(session uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_turns(session uuid) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_turns_give(session uuid, channels text[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_turns_give(session uuid, channels text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_turns_give(session uuid, channels text[]) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION calls_webhook_delays(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.calls_webhook_delays(session uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.calls_webhook_delays(session uuid) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION cancel_notification(notify_id uuid, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.cancel_notification(notify_id uuid, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_notification(notify_id uuid, reason text) TO postrider_app;

--
-- Name: FUNCTION cancel_payment(payment_id bigint, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.cancel_payment(payment_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.cancel_payment(payment_id bigint, reason text) TO postrider_app;

--
-- Name: FUNCTION channel_add(who text, id text, settings jsonb, parameters jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_add(who text, id text, settings jsonb, parameters jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_add(who text, id text, settings jsonb, parameters jsonb) TO postrider_console;

--
-- Name: FUNCTION channel_after(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_after() FROM PUBLIC;

--
-- Name: FUNCTION channel_before(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_before() FROM PUBLIC;

--
-- Name: FUNCTION channel_config(c postrider.channel); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_config(c postrider.channel) FROM PUBLIC;

--
-- Name: FUNCTION channel_json(c postrider.channel); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_json(c postrider.channel) FROM PUBLIC;

--
-- Name: FUNCTION channel_keep_account(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_keep_account() FROM PUBLIC;

--
-- Name: FUNCTION channel_locked(id text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_locked(id text) FROM PUBLIC;

--
-- Name: FUNCTION channel_maintain(who text, id text, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_maintain(who text, id text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_maintain(who text, id text, reason text) TO postrider_console;

--
-- Name: FUNCTION channel_move(who text, id text, action text, state text, reason text, detail jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_move(who text, id text, action text, state text, reason text, detail jsonb) FROM PUBLIC;

--
-- Name: FUNCTION channel_parameters(channel text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_parameters(channel text) FROM PUBLIC;

--
-- Name: FUNCTION channel_parameters_set(channel text, parameters jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_parameters_set(channel text, parameters jsonb) FROM PUBLIC;

--
-- Name: FUNCTION channel_patch(c postrider.channel, settings jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_patch(c postrider.channel, settings jsonb) FROM PUBLIC;

--
-- Name: FUNCTION channel_pause(who text, id text, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_pause(who text, id text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_pause(who text, id text, reason text) TO postrider_console;

--
-- Name: FUNCTION channel_resume(who text, id text, reason text, test jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_resume(who text, id text, reason text, test jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_resume(who text, id text, reason text, test jsonb) TO postrider_console;

--
-- Name: FUNCTION channel_sealed(id text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_sealed(id text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_sealed(id text) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.channel_sealed(id text) TO postrider_console;

--
-- Name: FUNCTION channel_set(who text, id text, settings jsonb, parameters jsonb, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_set(who text, id text, settings jsonb, parameters jsonb, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_set(who text, id text, settings jsonb, parameters jsonb, reason text) TO postrider_console;

--
-- Name: FUNCTION channel_show(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_show(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_show(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION channel_stop(c postrider.channel, e jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_stop(c postrider.channel, e jsonb) FROM PUBLIC;

--
-- Name: FUNCTION channel_turn_ask(who text, channel text, patience interval, hold interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_turn_ask(who text, channel text, patience interval, hold interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_turn_ask(who text, channel text, patience interval, hold interval) TO postrider_reconciler;

--
-- Name: FUNCTION channel_turn_end(turn_id bigint, said jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_turn_end(turn_id bigint, said jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_turn_end(turn_id bigint, said jsonb) TO postrider_reconciler;

--
-- Name: FUNCTION channel_turn_state(turn_id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channel_turn_state(turn_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channel_turn_state(turn_id bigint) TO postrider_reconciler;

--
-- Name: FUNCTION channels_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.channels_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.channels_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION check_invariants(since timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.check_invariants(since timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.check_invariants(since timestamp with time zone) TO postrider_console;

--
-- Name: FUNCTION check_notifications(since timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.check_notifications(since timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION check_payments(since timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.check_payments(since timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION configure(priority jsonb, retry_notification text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.configure(priority jsonb, retry_notification text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.configure(priority jsonb, retry_notification text) TO postrider_console;

--
-- Name: FUNCTION configure_payments(time_scale double precision, hook text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.configure_payments(time_scale double precision, hook text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.configure_payments(time_scale double precision, hook text) TO postrider_console;

--
-- Name: FUNCTION create_task(biz_type text, biz_id text, merchant_id text, order_no text, request jsonb, idempotency_key text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.create_task(biz_type text, biz_id text, merchant_id text, order_no text, request jsonb, idempotency_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.create_task(biz_type text, biz_id text, merchant_id text, order_no text, request jsonb, idempotency_key text) TO postrider_app;

--
-- Name: FUNCTION currency_exponent(currency text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.currency_exponent(currency text) FROM PUBLIC;

--
-- Name: FUNCTION dead_close(who text, reason text, filter jsonb, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.dead_close(who text, reason text, filter jsonb, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.dead_close(who text, reason text, filter jsonb, most integer) TO postrider_console;

--
-- Name: TABLE dead; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT,INSERT,UPDATE ON TABLE postrider.dead TO postrider_scheduler;
GRANT SELECT ON TABLE postrider.dead TO postrider_dead_letter;
GRANT SELECT ON TABLE postrider.dead TO postrider_console;

--
-- Name: COLUMN dead.outbox_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(outbox_id) ON TABLE postrider.dead TO postrider_relay;

--
-- Name: COLUMN dead.endpoint; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(endpoint) ON TABLE postrider.dead TO postrider_relay;

--
-- Name: COLUMN dead.tries; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(tries) ON TABLE postrider.dead TO postrider_relay;

--
-- Name: FUNCTION dead_json(d postrider.dead); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.dead_json(d postrider.dead) FROM PUBLIC;

--
-- Name: FUNCTION dead_letters_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.dead_letters_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.dead_letters_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION dead_matching(filter jsonb, before timestamp with time zone, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.dead_matching(filter jsonb, before timestamp with time zone, most integer) FROM PUBLIC;

--
-- Name: FUNCTION dead_redrive(who text, reason text, filter jsonb, most integer, dry_run boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.dead_redrive(who text, reason text, filter jsonb, most integer, dry_run boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.dead_redrive(who text, reason text, filter jsonb, most integer, dry_run boolean) TO postrider_console;

--
-- Name: FUNCTION dead_scan(threshold bigint, OUT open_letters bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.dead_scan(threshold bigint, OUT open_letters bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.dead_scan(threshold bigint, OUT open_letters bigint) TO postrider_dead_letter;

--
-- Name: FUNCTION dispute_apply(p postrider.payment, source text, e jsonb, event_id text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.dispute_apply(p postrider.payment, source text, e jsonb, event_id text) FROM PUBLIC;

--
-- Name: FUNCTION duration_ms(text text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.duration_ms(text text) FROM PUBLIC;

--
-- Name: FUNCTION egress_ok(egress text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.egress_ok(egress text) FROM PUBLIC;

--
-- Name: FUNCTION email_ok(email text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.email_ok(email text) FROM PUBLIC;

--
-- Name: FUNCTION end_dead_sessions(self uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.end_dead_sessions(self uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.end_dead_sessions(self uuid) TO postrider_scheduler;

--
-- Name: FUNCTION end_session(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.end_session(session uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.end_session(session uuid) TO postrider_scheduler;

--
-- Name: FUNCTION endpoint_add(who text, merchant_id text, name text, url text, secret bytea, settings jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_add(who text, merchant_id text, name text, url text, secret bytea, settings jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_add(who text, merchant_id text, name text, url text, secret bytea, settings jsonb) TO postrider_console;

--
-- Name: FUNCTION endpoint_before(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_before() FROM PUBLIC;

--
-- Name: FUNCTION endpoint_check(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_check() FROM PUBLIC;

--
-- Name: FUNCTION endpoint_disable(who text, id bigint, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_disable(who text, id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_disable(who text, id bigint, reason text) TO postrider_breaker;
GRANT ALL ON FUNCTION postrider.endpoint_disable(who text, id bigint, reason text) TO postrider_console;

--
-- Name: FUNCTION endpoint_enable(who text, id bigint, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_enable(who text, id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_enable(who text, id bigint, reason text) TO postrider_breaker;
GRANT ALL ON FUNCTION postrider.endpoint_enable(who text, id bigint, reason text) TO postrider_console;

--
-- Name: FUNCTION endpoint_holds(id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_holds(id bigint) FROM PUBLIC;

--
-- Name: TABLE endpoint; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT,INSERT ON TABLE postrider.endpoint TO postrider_relay;
GRANT SELECT ON TABLE postrider.endpoint TO postrider_scheduler;

--
-- Name: COLUMN endpoint.id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(id) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: COLUMN endpoint.merchant_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(merchant_id) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: COLUMN endpoint.shard; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(shard) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: COLUMN endpoint.name; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(name) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: COLUMN endpoint.url; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(url) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: COLUMN endpoint.state; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(state) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: COLUMN endpoint.state_reason; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(state_reason) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: COLUMN endpoint.state_at; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(state_at) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: COLUMN endpoint.forced; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(forced) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: COLUMN endpoint.tx; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(tx) ON TABLE postrider.endpoint TO postrider_breaker;

--
-- Name: FUNCTION endpoint_json(e postrider.endpoint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_json(e postrider.endpoint) FROM PUBLIC;

--
-- Name: FUNCTION endpoint_listed(e postrider.endpoint, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_listed(e postrider.endpoint, a jsonb) FROM PUBLIC;

--
-- Name: FUNCTION endpoint_locked(id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_locked(id bigint) FROM PUBLIC;

--
-- Name: FUNCTION endpoint_mark_failing(id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_mark_failing(id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_mark_failing(id bigint) TO postrider_breaker;

--
-- Name: FUNCTION endpoint_mark_open(id bigint, open_ms bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_mark_open(id bigint, open_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_mark_open(id bigint, open_ms bigint) TO postrider_breaker;

--
-- Name: FUNCTION endpoint_patch(e postrider.endpoint, settings jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_patch(e postrider.endpoint, settings jsonb) FROM PUBLIC;

--
-- Name: FUNCTION endpoint_pause(id bigint, ms bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_pause(id bigint, ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_pause(id bigint, ms bigint) TO postrider_scheduler;

--
-- Name: FUNCTION endpoint_recovered(id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_recovered(id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_recovered(id bigint) TO postrider_breaker;

--
-- Name: FUNCTION endpoint_rotate_secret(who text, id bigint, secret bytea, overlap interval, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_rotate_secret(who text, id bigint, secret bytea, overlap interval, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_rotate_secret(who text, id bigint, secret bytea, overlap interval, reason text) TO postrider_console;

--
-- Name: FUNCTION endpoint_set(who text, id bigint, settings jsonb, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_set(who text, id bigint, settings jsonb, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_set(who text, id bigint, settings jsonb, reason text) TO postrider_console;

--
-- Name: FUNCTION endpoint_switch_off(id bigint, why text, off_after_ms bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoint_switch_off(id bigint, why text, off_after_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoint_switch_off(id bigint, why text, off_after_ms bigint) TO postrider_breaker;

--
-- Name: FUNCTION endpoints_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.endpoints_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.endpoints_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION enqueue_notification(merchant_id text, order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.enqueue_notification(merchant_id text, order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.enqueue_notification(merchant_id text, order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone) TO postrider_app;

--
-- Name: FUNCTION enqueue_refuse(order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.enqueue_refuse(order_no text, event text, payload jsonb, amount_minor bigint, currency text, priority integer, notify_url text, idempotency_key text, status text, version bigint, occurred_at timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION ensure_partitions(ahead integer, retention interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.ensure_partitions(ahead integer, retention interval) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.ensure_partitions(ahead integer, retention interval) TO postrider_dead_letter;

--
-- Name: FUNCTION evidence_compare(c postrider.channel, p postrider.payment, r postrider.refund, e jsonb, lenient boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.evidence_compare(c postrider.channel, p postrider.payment, r postrider.refund, e jsonb, lenient boolean) FROM PUBLIC;

--
-- Name: FUNCTION evidence_numbers(e jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.evidence_numbers(e jsonb) FROM PUBLIC;

--
-- Name: FUNCTION evidence_payment(channel_no integer, e jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.evidence_payment(channel_no integer, e jsonb) FROM PUBLIC;

--
-- Name: FUNCTION evidence_says(e jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.evidence_says(e jsonb) FROM PUBLIC;

--
-- Name: FUNCTION exception_actions(kind text, payment_id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.exception_actions(kind text, payment_id bigint) FROM PUBLIC;

--
-- Name: FUNCTION exception_json(place postrider.exception_place); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.exception_json(place postrider.exception_place) FROM PUBLIC;

--
-- Name: FUNCTION exception_kind_of(t postrider.task); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.exception_kind_of(t postrider.task) FROM PUBLIC;

--
-- Name: FUNCTION exception_resolve(who text, kind text, id text, action text, reason text, detail jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.exception_resolve(who text, kind text, id text, action text, reason text, detail jsonb) FROM PUBLIC;

--
-- Name: FUNCTION exception_scan(kind text, f jsonb, after postrider.exception_place, most integer, OUT kept postrider.exception_place[], OUT last postrider.exception_place); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.exception_scan(kind text, f jsonb, after postrider.exception_place, most integer, OUT kept postrider.exception_place[], OUT last postrider.exception_place) FROM PUBLIC;

--
-- Name: FUNCTION exceptions_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.exceptions_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.exceptions_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION exceptions_resolve(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.exceptions_resolve(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.exceptions_resolve(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION exceptions_summary(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.exceptions_summary(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.exceptions_summary(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION exchange_json(payment_id bigint, log_id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.exchange_json(payment_id bigint, log_id bigint) FROM PUBLIC;

--
-- Name: FUNCTION expiry_of(c postrider.channel, given timestamp with time zone, options jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.expiry_of(c postrider.channel, given timestamp with time zone, options jsonb) FROM PUBLIC;

--
-- Name: FUNCTION finish_rotations(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.finish_rotations() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.finish_rotations() TO postrider_dead_letter;

--
-- Name: FUNCTION follow_timeline(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.follow_timeline() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.follow_timeline() TO postrider_relay;

--
-- Name: FUNCTION fulfilment_set(who text, merchant_id text, grace interval, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.fulfilment_set(who text, merchant_id text, grace interval, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.fulfilment_set(who text, merchant_id text, grace interval, reason text) TO postrider_console;

--
-- Name: FUNCTION guard_history(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.guard_history() FROM PUBLIC;

--
-- Name: FUNCTION guard_state(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.guard_state() FROM PUBLIC;

--
-- Name: FUNCTION header_ok(name text, value text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.header_ok(name text, value text) FROM PUBLIC;

--
-- Name: FUNCTION heartbeat(session uuid, beat bigint, low bigint[], OUT alive boolean, OUT target integer, OUT owned integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.heartbeat(session uuid, beat bigint, low bigint[], OUT alive boolean, OUT target integer, OUT owned integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.heartbeat(session uuid, beat bigint, low bigint[], OUT alive boolean, OUT target integer, OUT owned integer) TO postrider_scheduler;

--
-- Name: FUNCTION history_add(p postrider.payment, refund_id bigint, source text, event_id text, verdict text, from_state text, to_state text, evidence jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.history_add(p postrider.payment, refund_id bigint, source text, event_id text, verdict text, from_state text, to_state text, evidence jsonb) FROM PUBLIC;

--
-- Name: FUNCTION host_ok(host text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.host_ok(host text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.host_ok(host text) TO postrider_relay;

--
-- Name: FUNCTION http_do(k postrider.http_key, operation text, a jsonb, OUT status integer, OUT body jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.http_do(k postrider.http_key, operation text, a jsonb, OUT status integer, OUT body jsonb) FROM PUBLIC;

--
-- Name: FUNCTION http_key_check(hash bytea); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.http_key_check(hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.http_key_check(hash bytea) TO postrider_ingress;

--
-- Name: FUNCTION http_key_signing(key_id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.http_key_signing(key_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.http_key_signing(key_id bigint) TO postrider_ingress;

--
-- Name: FUNCTION http_nonce_take(key_id bigint, nonce text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.http_nonce_take(key_id bigint, nonce text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.http_nonce_take(key_id bigint, nonce text) TO postrider_ingress;

--
-- Name: FUNCTION http_purge(most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.http_purge(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.http_purge(most integer) TO postrider_ingress;

--
-- Name: FUNCTION http_read(key_id bigint, what text, arguments jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.http_read(key_id bigint, what text, arguments jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.http_read(key_id bigint, what text, arguments jsonb) TO postrider_ingress;

--
-- Name: FUNCTION http_write(key_id bigint, idempotency_key text, request_hash bytea, operation text, arguments jsonb, OUT status integer, OUT body text, OUT replayed boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.http_write(key_id bigint, idempotency_key text, request_hash bytea, operation text, arguments jsonb, OUT status integer, OUT body text, OUT replayed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.http_write(key_id bigint, idempotency_key text, request_hash bytea, operation text, arguments jsonb, OUT status integer, OUT body text, OUT replayed boolean) TO postrider_ingress;

--
-- Name: FUNCTION ingress_channels(known text[], versions bigint[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.ingress_channels(known text[], versions bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.ingress_channels(known text[], versions bigint[]) TO postrider_ingress;

--
-- Name: FUNCTION intent_key(merchant_id text, order_no text, channel text, business text, intent text, number_max integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.intent_key(merchant_id text, order_no text, channel text, business text, intent text, number_max integer) FROM PUBLIC;

--
-- Name: FUNCTION ipv6_ok(address text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.ipv6_ok(address text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.ipv6_ok(address text) TO postrider_relay;

--
-- Name: FUNCTION is_moved(class smallint, tx xid8, id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.is_moved(class smallint, tx xid8, id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.is_moved(class smallint, tx xid8, id bigint) TO postrider_console;

--
-- Name: FUNCTION json_time(at timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.json_time(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.json_time(at timestamp with time zone) TO postrider_console;

--
-- Name: FUNCTION key_create(who text, hash bytea, kind text, merchant_id text, livemode boolean, label text, expires_at timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.key_create(who text, hash bytea, kind text, merchant_id text, livemode boolean, label text, expires_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.key_create(who text, hash bytea, kind text, merchant_id text, livemode boolean, label text, expires_at timestamp with time zone) TO postrider_console;

--
-- Name: FUNCTION key_revoke(who text, id bigint, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.key_revoke(who text, id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.key_revoke(who text, id bigint, reason text) TO postrider_console;

--
-- Name: FUNCTION key_sign(who text, id bigint, signing bytea); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.key_sign(who text, id bigint, signing bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.key_sign(who text, id bigint, signing bytea) TO postrider_console;

--
-- Name: FUNCTION list_before(a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.list_before(a jsonb) FROM PUBLIC;

--
-- Name: FUNCTION list_json(items jsonb[], next text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.list_json(items jsonb[], next text) FROM PUBLIC;

--
-- Name: FUNCTION list_scan(c refcursor, key bigint, looks integer, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.list_scan(c refcursor, key bigint, looks integer, most integer) FROM PUBLIC;

--
-- Name: FUNCTION login_count(key text, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.login_count(key text, most integer) FROM PUBLIC;

--
-- Name: FUNCTION merchant_add(who text, id text, tier text, email text, url text, secret bytea, settings jsonb, endpoint_name text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.merchant_add(who text, id text, tier text, email text, url text, secret bytea, settings jsonb, endpoint_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.merchant_add(who text, id text, tier text, email text, url text, secret bytea, settings jsonb, endpoint_name text) TO postrider_console;

--
-- Name: FUNCTION merchant_before(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.merchant_before() FROM PUBLIC;

--
-- Name: FUNCTION merchant_check(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.merchant_check() FROM PUBLIC;

--
-- Name: FUNCTION merchant_order(merchant_id text, order_no text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.merchant_order(merchant_id text, order_no text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.merchant_order(merchant_id text, order_no text) TO postrider_console;

--
-- Name: FUNCTION merchant_set(who text, id text, settings jsonb, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.merchant_set(who text, id text, settings jsonb, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.merchant_set(who text, id text, settings jsonb, reason text) TO postrider_console;

--
-- Name: FUNCTION merchant_show(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.merchant_show(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.merchant_show(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION merchant_test(who text, merchant_id text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.merchant_test(who text, merchant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.merchant_test(who text, merchant_id text) TO postrider_console;

--
-- Name: FUNCTION merchants_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.merchants_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.merchants_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION metrics(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.metrics() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.metrics() TO postrider_console;

--
-- Name: FUNCTION minor_of(e jsonb, name text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.minor_of(e jsonb, name text) FROM PUBLIC;

--
-- Name: FUNCTION money_too_many(c postrider.channel, p postrider.payment, kind text, amount bigint, evidence jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.money_too_many(c postrider.channel, p postrider.payment, kind text, amount bigint, evidence jsonb) FROM PUBLIC;

--
-- Name: FUNCTION notification_cancel(who text, notify_id uuid, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.notification_cancel(who text, notify_id uuid, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.notification_cancel(who text, notify_id uuid, reason text) TO postrider_console;

--
-- Name: FUNCTION notification_deliveries(id uuid, status text, endpoint bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.notification_deliveries(id uuid, status text, endpoint bigint) FROM PUBLIC;

--
-- Name: TABLE attempt; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT INSERT ON TABLE postrider.attempt TO postrider_scheduler;

--
-- Name: TABLE cancelled; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT INSERT ON TABLE postrider.cancelled TO postrider_relay;
GRANT SELECT,INSERT,DELETE ON TABLE postrider.cancelled TO postrider_scheduler;
GRANT SELECT ON TABLE postrider.cancelled TO postrider_console;

--
-- Name: COLUMN cancelled.outbox_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(outbox_id) ON TABLE postrider.cancelled TO postrider_relay;

--
-- Name: COLUMN cancelled.endpoint; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(endpoint) ON TABLE postrider.cancelled TO postrider_relay;

--
-- Name: TABLE job; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT INSERT,DELETE ON TABLE postrider.job TO postrider_relay;
GRANT SELECT,DELETE,UPDATE ON TABLE postrider.job TO postrider_scheduler;
GRANT SELECT ON TABLE postrider.job TO postrider_console;

--
-- Name: COLUMN job.outbox_at; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(outbox_at) ON TABLE postrider.job TO postrider_relay;

--
-- Name: COLUMN job.outbox_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(outbox_id) ON TABLE postrider.job TO postrider_relay;

--
-- Name: COLUMN job.endpoint; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(endpoint) ON TABLE postrider.job TO postrider_relay;

--
-- Name: TABLE outbox; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.outbox TO postrider_scheduler;

--
-- Name: COLUMN outbox.id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(id) ON TABLE postrider.outbox TO postrider_relay;
GRANT SELECT(id) ON TABLE postrider.outbox TO postrider_console;

--
-- Name: COLUMN outbox.tx; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(tx) ON TABLE postrider.outbox TO postrider_relay;
GRANT SELECT(tx) ON TABLE postrider.outbox TO postrider_console;

--
-- Name: COLUMN outbox.at; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(at) ON TABLE postrider.outbox TO postrider_relay;
GRANT SELECT(at) ON TABLE postrider.outbox TO postrider_console;

--
-- Name: COLUMN outbox.class; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(class) ON TABLE postrider.outbox TO postrider_relay;
GRANT SELECT(class) ON TABLE postrider.outbox TO postrider_console;

--
-- Name: COLUMN outbox.kind; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(kind) ON TABLE postrider.outbox TO postrider_relay;
GRANT SELECT(kind) ON TABLE postrider.outbox TO postrider_console;

--
-- Name: COLUMN outbox.merchant_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(merchant_id) ON TABLE postrider.outbox TO postrider_relay;
GRANT SELECT(merchant_id) ON TABLE postrider.outbox TO postrider_console;

--
-- Name: COLUMN outbox.order_no; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(order_no) ON TABLE postrider.outbox TO postrider_console;

--
-- Name: COLUMN outbox.event; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(event) ON TABLE postrider.outbox TO postrider_relay;
GRANT SELECT(event) ON TABLE postrider.outbox TO postrider_console;

--
-- Name: COLUMN outbox.notify_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(notify_id) ON TABLE postrider.outbox TO postrider_relay;
GRANT SELECT(notify_id) ON TABLE postrider.outbox TO postrider_console;

--
-- Name: COLUMN outbox.notify_url; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(notify_url) ON TABLE postrider.outbox TO postrider_relay;

--
-- Name: COLUMN outbox.cancel_at; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(cancel_at) ON TABLE postrider.outbox TO postrider_relay;

--
-- Name: COLUMN outbox.cancel_reason; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(cancel_reason) ON TABLE postrider.outbox TO postrider_relay;

--
-- Name: COLUMN outbox.ref_at; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(ref_at) ON TABLE postrider.outbox TO postrider_relay;

--
-- Name: COLUMN outbox.ref_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(ref_id) ON TABLE postrider.outbox TO postrider_relay;

--
-- Name: COLUMN outbox.ref_endpoint; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT(ref_endpoint) ON TABLE postrider.outbox TO postrider_relay;

--
-- Name: TABLE outbox_kept; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.outbox_kept TO postrider_scheduler;

--
-- Name: TABLE tick; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT,INSERT ON TABLE postrider.tick TO postrider_relay;
GRANT SELECT ON TABLE postrider.tick TO postrider_scheduler;
GRANT SELECT ON TABLE postrider.tick TO postrider_console;

--
-- Name: TABLE setting; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.setting TO postrider_console;

--
-- Name: TABLE notification_status; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.notification_status TO postrider_app;
GRANT SELECT ON TABLE postrider.notification_status TO postrider_console;

--
-- Name: FUNCTION notification_json(n postrider.notification_status); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.notification_json(n postrider.notification_status) FROM PUBLIC;

--
-- Name: FUNCTION notification_livemode(id uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.notification_livemode(id uuid) FROM PUBLIC;

--
-- Name: FUNCTION notification_resend(k postrider.http_key, notify_id text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.notification_resend(k postrider.http_key, notify_id text) FROM PUBLIC;

--
-- Name: FUNCTION notification_show(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.notification_show(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.notification_show(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION notifications_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.notifications_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.notifications_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION notify_endpoint_id(merchant_id text, origin text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.notify_endpoint_id(merchant_id text, origin text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.notify_endpoint_id(merchant_id text, origin text) TO postrider_relay;

--
-- Name: FUNCTION observe_heartbeats(self uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.observe_heartbeats(self uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.observe_heartbeats(self uuid) TO postrider_scheduler;

--
-- Name: FUNCTION open_session(address text, OUT id uuid, OUT lock_key bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.open_session(address text, OUT id uuid, OUT lock_key bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.open_session(address text, OUT id uuid, OUT lock_key bigint) TO postrider_scheduler;

--
-- Name: FUNCTION operator_add(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_add(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_add(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION operator_admins(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_admins() FROM PUBLIC;

--
-- Name: FUNCTION operator_any(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_any() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_any() TO postrider_console;

--
-- Name: FUNCTION operator_disable(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_disable(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_disable(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION operator_enable(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_enable(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_enable(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION operator_json(o postrider.operator); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_json(o postrider.operator) FROM PUBLIC;

--
-- Name: FUNCTION operator_locked(name text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_locked(name text) FROM PUBLIC;

--
-- Name: FUNCTION operator_login_begin(name text, address text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_login_begin(name text, address text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_login_begin(name text, address text) TO postrider_console;

--
-- Name: FUNCTION operator_login_end(name text, address text, ok boolean, session_hash bytea, user_agent text, idle_s integer, absolute_s integer, step bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_login_end(name text, address text, ok boolean, session_hash bytea, user_agent text, idle_s integer, absolute_s integer, step bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_login_end(name text, address text, ok boolean, session_hash bytea, user_agent text, idle_s integer, absolute_s integer, step bigint) TO postrider_console;

--
-- Name: FUNCTION operator_password(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_password(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_password(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION operator_role(role text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_role(role text) FROM PUBLIC;

--
-- Name: FUNCTION operator_secret(name text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_secret(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_secret(name text) TO postrider_console;

--
-- Name: FUNCTION operator_session_check(hash bytea); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_session_check(hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_session_check(hash bytea) TO postrider_console;

--
-- Name: FUNCTION operator_session_end(hash bytea); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_session_end(hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_session_end(hash bytea) TO postrider_console;

--
-- Name: FUNCTION operator_set(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_set(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_set(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION operator_token_check(hash bytea); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_token_check(hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_token_check(hash bytea) TO postrider_console;

--
-- Name: FUNCTION operator_totp(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operator_totp(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operator_totp(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION operators_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.operators_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.operators_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION order_of_mode(merchant_id text, order_no text, livemode boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.order_of_mode(merchant_id text, order_no text, livemode boolean) FROM PUBLIC;

--
-- Name: FUNCTION order_refuse(order_no text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.order_refuse(order_no text) FROM PUBLIC;

--
-- Name: FUNCTION order_show(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.order_show(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.order_show(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION outcome_answer(c postrider.channel, p postrider.payment, k postrider.call, verdict text, e jsonb, ending boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.outcome_answer(c postrider.channel, p postrider.payment, k postrider.call, verdict text, e jsonb, ending boolean) FROM PUBLIC;

--
-- Name: FUNCTION outcome_delay(c postrider.channel, p postrider.payment, k postrider.call, step text, e jsonb, next_ms bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.outcome_delay(c postrider.channel, p postrider.payment, k postrider.call, step text, e jsonb, next_ms bigint) FROM PUBLIC;

--
-- Name: FUNCTION outcome_step(c postrider.channel, p postrider.payment, k postrider.call, answer text, step text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.outcome_step(c postrider.channel, p postrider.payment, k postrider.call, answer text, step text) FROM PUBLIC;

--
-- Name: FUNCTION overview(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.overview(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.overview(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION page_json(found jsonb[], most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.page_json(found jsonb[], most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.page_json(found jsonb[], most integer) TO postrider_console;

--
-- Name: FUNCTION payment_adopt(payment_id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_adopt(payment_id bigint) FROM PUBLIC;

--
-- Name: FUNCTION payment_apply(c postrider.channel, p postrider.payment, source text, e jsonb, event_id text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_apply(c postrider.channel, p postrider.payment, source text, e jsonb, event_id text) FROM PUBLIC;

--
-- Name: FUNCTION payment_before(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_before() FROM PUBLIC;

--
-- Name: FUNCTION payment_check(merchant_id text, order_no text, channel text, reference text, amount_minor bigint, currency text, request jsonb, options jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_check(merchant_id text, order_no text, channel text, reference text, amount_minor bigint, currency text, request jsonb, options jsonb) FROM PUBLIC;

--
-- Name: FUNCTION payment_decide(who text, payment_id bigint, state text, evidence jsonb, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_decide(who text, payment_id bigint, state text, evidence jsonb, reason text) FROM PUBLIC;

--
-- Name: FUNCTION payment_follow(c postrider.channel, former postrider.payment, p postrider.payment, effect text, e jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_follow(c postrider.channel, former postrider.payment, p postrider.payment, effect text, e jsonb) FROM PUBLIC;

--
-- Name: FUNCTION payment_hook(p postrider.payment, hook text, fed jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_hook(p postrider.payment, hook text, fed jsonb) FROM PUBLIC;

--
-- Name: FUNCTION payment_insert(c postrider.channel, merchant_id text, order_no text, reference text, request_no text, amount_minor bigint, currency text, request jsonb, expires timestamp with time zone, options jsonb, args bytea, OUT id bigint, OUT fresh boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_insert(c postrider.channel, merchant_id text, order_no text, reference text, request_no text, amount_minor bigint, currency text, request jsonb, expires timestamp with time zone, options jsonb, args bytea, OUT id bigint, OUT fresh boolean) FROM PUBLIC;

--
-- Name: FUNCTION payment_json(p postrider.payment); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_json(p postrider.payment) FROM PUBLIC;

--
-- Name: FUNCTION payment_listed(p postrider.payment, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_listed(p postrider.payment, a jsonb) FROM PUBLIC;

--
-- Name: FUNCTION payment_locked(id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_locked(id bigint) FROM PUBLIC;

--
-- Name: FUNCTION payment_poll(who text, payment_id bigint, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_poll(who text, payment_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.payment_poll(who text, payment_id bigint, reason text) TO postrider_console;

--
-- Name: FUNCTION payment_show(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_show(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.payment_show(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION payment_stands(p postrider.payment, said text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_stands(p postrider.payment, said text) FROM PUBLIC;

--
-- Name: FUNCTION payment_tell(p postrider.payment, refund_id bigint, event text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_tell(p postrider.payment, refund_id bigint, event text) FROM PUBLIC;

--
-- Name: FUNCTION payment_to_person(p postrider.payment, why text, evidence jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_to_person(p postrider.payment, why text, evidence jsonb) FROM PUBLIC;

--
-- Name: FUNCTION payment_write(former postrider.payment, p postrider.payment, source text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payment_write(former postrider.payment, p postrider.payment, source text) FROM PUBLIC;

--
-- Name: FUNCTION payments_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payments_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.payments_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION payments_purge(log_retention interval, webhook_retention interval, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payments_purge(log_retention interval, webhook_retention interval, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.payments_purge(log_retention interval, webhook_retention interval, most integer) TO postrider_dead_letter;
GRANT ALL ON FUNCTION postrider.payments_purge(log_retention interval, webhook_retention interval, most integer) TO postrider_reconciler;

--
-- Name: FUNCTION payments_sweep(most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payments_sweep(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.payments_sweep(most integer) TO postrider_dead_letter;
GRANT ALL ON FUNCTION postrider.payments_sweep(most integer) TO postrider_gateway_scheduler;
GRANT ALL ON FUNCTION postrider.payments_sweep(most integer) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.payments_sweep(most integer) TO postrider_console;

--
-- Name: FUNCTION payments_upkeep(session uuid, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.payments_upkeep(session uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.payments_upkeep(session uuid, most integer) TO postrider_gateway_scheduler;

--
-- Name: FUNCTION people_purge(most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.people_purge(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.people_purge(most integer) TO postrider_console;

--
-- Name: FUNCTION permissions_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.permissions_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.permissions_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION person_check(who text, action text, needed boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.person_check(who text, action text, needed boolean) FROM PUBLIC;

--
-- Name: FUNCTION person_reason(p postrider.payment, k postrider.call, answer text, verdict text, step text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.person_reason(p postrider.payment, k postrider.call, answer text, verdict text, step text) FROM PUBLIC;

--
-- Name: FUNCTION purge_step(retention interval, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.purge_step(retention interval, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.purge_step(retention interval, most integer) TO postrider_dead_letter;

--
-- Name: FUNCTION random_salt(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.random_salt() FROM PUBLIC;

--
-- Name: FUNCTION reader(who text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.reader(who text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.reader(who text) TO postrider_console;

--
-- Name: FUNCTION rebase(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.rebase() FROM PUBLIC;

--
-- Name: FUNCTION recon_accounted(payment_id bigint, refund_id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_accounted(payment_id bigint, refund_id bigint) FROM PUBLIC;

--
-- Name: FUNCTION recon_again(tries integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_again(tries integer) FROM PUBLIC;

--
-- Name: FUNCTION recon_ask(who text, channel text, day date, source text, format text, correct boolean, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_ask(who text, channel text, day date, source text, format text, correct boolean, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_ask(who text, channel text, day date, source text, format text, correct boolean, reason text) TO postrider_console;

--
-- Name: FUNCTION recon_begin(who text, channel text, day date, kind text, name text, source text, correct boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_begin(who text, channel text, day date, kind text, name text, source text, correct boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_begin(who text, channel text, day date, kind text, name text, source text, correct boolean) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_begin(who text, channel text, day date, kind text, name text, source text, correct boolean) TO postrider_console;

--
-- Name: FUNCTION recon_close(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_close(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_close(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION recon_covered(channel_no integer, at timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_covered(channel_no integer, at timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION recon_day(zone text, day date, OUT from_at timestamp with time zone, OUT to_at timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_day(zone text, day date, OUT from_at timestamp with time zone, OUT to_at timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION recon_deliveries(most integer, OUT opened bigint, OUT through timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_deliveries(most integer, OUT opened bigint, OUT through timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_deliveries(most integer, OUT opened bigint, OUT through timestamp with time zone) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_deliveries(most integer, OUT opened bigint, OUT through timestamp with time zone) TO postrider_console;

--
-- Name: FUNCTION recon_differ(d postrider.recon_difference); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_differ(d postrider.recon_difference) FROM PUBLIC;

--
-- Name: TABLE recon_differences; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.recon_differences TO postrider_app;
GRANT SELECT ON TABLE postrider.recon_differences TO postrider_reconciler;
GRANT SELECT ON TABLE postrider.recon_differences TO postrider_console;

--
-- Name: FUNCTION recon_difference_list(channel text, class text, status text, merchant_id text, order_no text, file_id bigint, before bigint, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_difference_list(channel text, class text, status text, merchant_id text, order_no text, file_id bigint, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_difference_list(channel text, class text, status text, merchant_id text, order_no text, file_id bigint, before bigint, most integer) TO postrider_console;

--
-- Name: FUNCTION recon_due(claimed_by text, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_due(claimed_by text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_due(claimed_by text, most integer) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_due(claimed_by text, most integer) TO postrider_console;

--
-- Name: FUNCTION recon_due_at(zone text, ready interval, day date); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_due_at(zone text, ready interval, day date) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_due_at(zone text, ready interval, day date) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_due_at(zone text, ready interval, day date) TO postrider_console;

--
-- Name: FUNCTION recon_explain(difference_id bigint, why text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_explain(difference_id bigint, why text) FROM PUBLIC;

--
-- Name: FUNCTION recon_file_close(who text, file_id bigint, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_file_close(who text, file_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_file_close(who text, file_id bigint, reason text) TO postrider_console;

--
-- Name: TABLE recon_files; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.recon_files TO postrider_reconciler;
GRANT SELECT ON TABLE postrider.recon_files TO postrider_console;

--
-- Name: FUNCTION recon_file_list(channel text, status text, before bigint, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_file_list(channel text, status text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_file_list(channel text, status text, before bigint, most integer) TO postrider_console;

--
-- Name: FUNCTION recon_file_locked(id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_file_locked(id bigint) FROM PUBLIC;

--
-- Name: FUNCTION recon_file_release(who text, file_id bigint, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_file_release(who text, file_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_file_release(who text, file_id bigint, reason text) TO postrider_console;

--
-- Name: FUNCTION recon_finish(file_id bigint, facts jsonb, OUT state text, OUT reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_finish(file_id bigint, facts jsonb, OUT state text, OUT reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_finish(file_id bigint, facts jsonb, OUT state text, OUT reason text) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_finish(file_id bigint, facts jsonb, OUT state text, OUT reason text) TO postrider_console;

--
-- Name: FUNCTION recon_former(f postrider.recon_file); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_former(f postrider.recon_file) FROM PUBLIC;

--
-- Name: FUNCTION recon_has_come(channel text, day date); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_has_come(channel text, day date) FROM PUBLIC;

--
-- Name: FUNCTION recon_hold(channel text, day date, claimed_by text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_hold(channel text, day date, claimed_by text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_hold(channel text, day date, claimed_by text) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_hold(channel text, day date, claimed_by text) TO postrider_console;

--
-- Name: FUNCTION recon_imported(most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_imported(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_imported(most integer) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_imported(most integer) TO postrider_console;

--
-- Name: FUNCTION recon_items(f postrider.recon_file, lo bigint, hi bigint, these bigint[], OUT matched bigint, OUT opened bigint, OUT waiting bigint, OUT ignored bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_items(f postrider.recon_file, lo bigint, hi bigint, these bigint[], OUT matched bigint, OUT opened bigint, OUT waiting bigint, OUT ignored bigint) FROM PUBLIC;

--
-- Name: FUNCTION recon_judge(kind text, theirs text, their_amount bigint, their_currency text, ours text, our_amount bigint, our_currency text, tolerance bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_judge(kind text, theirs text, their_amount bigint, their_currency text, ours text, our_amount bigint, our_currency text, tolerance bigint) FROM PUBLIC;

--
-- Name: FUNCTION recon_last_day(zone text, ready interval, at timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_last_day(zone text, ready interval, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_last_day(zone text, ready interval, at timestamp with time zone) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_last_day(zone text, ready interval, at timestamp with time zone) TO postrider_console;

--
-- Name: FUNCTION recon_match_step(file_id bigint, most integer, OUT state text, OUT matched_to bigint, OUT items bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_match_step(file_id bigint, most integer, OUT state text, OUT matched_to bigint, OUT items bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_match_step(file_id bigint, most integer, OUT state text, OUT matched_to bigint, OUT items bigint) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_match_step(file_id bigint, most integer, OUT state text, OUT matched_to bigint, OUT items bigint) TO postrider_console;

--
-- Name: FUNCTION recon_missed(channel text, day date, error text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_missed(channel text, day date, error text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_missed(channel text, day date, error text) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_missed(channel text, day date, error text) TO postrider_console;

--
-- Name: FUNCTION recon_not_there(f postrider.recon_file, payment_id bigint, refund_id bigint, since timestamp with time zone); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_not_there(f postrider.recon_file, payment_id bigint, refund_id bigint, since timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION recon_nothing(who text, channel text, day date, kind text, source text, correct boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_nothing(who text, channel text, day date, kind text, source text, correct boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_nothing(who text, channel text, day date, kind text, source text, correct boolean) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_nothing(who text, channel text, day date, kind text, source text, correct boolean) TO postrider_console;

--
-- Name: FUNCTION recon_other_side(f postrider.recon_file, most bigint, OUT opened bigint, OUT waiting bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_other_side(f postrider.recon_file, most bigint, OUT opened bigint, OUT waiting bigint) FROM PUBLIC;

--
-- Name: FUNCTION recon_payment(channel_no integer, reference text, request_no text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_payment(channel_no integer, reference text, request_no text) FROM PUBLIC;

--
-- Name: FUNCTION recon_pool_step(channel text, most integer, OUT settled bigint, OUT opened bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_pool_step(channel text, most integer, OUT settled bigint, OUT opened bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_pool_step(channel text, most integer, OUT settled bigint, OUT opened bigint) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_pool_step(channel text, most integer, OUT settled bigint, OUT opened bigint) TO postrider_console;

--
-- Name: FUNCTION recon_pools(most integer, OUT settled bigint, OUT opened bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_pools(most integer, OUT settled bigint, OUT opened bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_pools(most integer, OUT settled bigint, OUT opened bigint) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_pools(most integer, OUT settled bigint, OUT opened bigint) TO postrider_console;

--
-- Name: FUNCTION recon_purge(retention interval, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_purge(retention interval, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_purge(retention interval, most integer) TO postrider_reconciler;

--
-- Name: COLUMN recon_bad_row.file_id; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT INSERT(file_id) ON TABLE postrider.recon_bad_row TO postrider_reconciler;
GRANT INSERT(file_id) ON TABLE postrider.recon_bad_row TO postrider_console;

--
-- Name: COLUMN recon_bad_row.line; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT INSERT(line) ON TABLE postrider.recon_bad_row TO postrider_reconciler;
GRANT INSERT(line) ON TABLE postrider.recon_bad_row TO postrider_console;

--
-- Name: COLUMN recon_bad_row.reason; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT INSERT(reason) ON TABLE postrider.recon_bad_row TO postrider_reconciler;
GRANT INSERT(reason) ON TABLE postrider.recon_bad_row TO postrider_console;

--
-- Name: COLUMN recon_bad_row.detail; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT INSERT(detail) ON TABLE postrider.recon_bad_row TO postrider_reconciler;
GRANT INSERT(detail) ON TABLE postrider.recon_bad_row TO postrider_console;

--
-- Name: COLUMN recon_bad_row.raw; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT INSERT(raw) ON TABLE postrider.recon_bad_row TO postrider_reconciler;
GRANT INSERT(raw) ON TABLE postrider.recon_bad_row TO postrider_console;

--
-- Name: TABLE recon_quarantine; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.recon_quarantine TO postrider_reconciler;
GRANT SELECT ON TABLE postrider.recon_quarantine TO postrider_console;

--
-- Name: FUNCTION recon_quarantine_list(file_id bigint, open boolean, before bigint, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_quarantine_list(file_id bigint, open boolean, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_quarantine_list(file_id bigint, open boolean, before bigint, most integer) TO postrider_console;

--
-- Name: FUNCTION recon_refund(channel_no integer, payment_id bigint, refund_reference text, refund_no text, amount bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_refund(channel_no integer, payment_id bigint, refund_reference text, refund_no text, amount bigint) FROM PUBLIC;

--
-- Name: FUNCTION recon_release(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_release(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_release(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION recon_report(file_id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_report(file_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_report(file_id bigint) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_report(file_id bigint) TO postrider_console;

--
-- Name: FUNCTION recon_row_close(who text, row_id bigint, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_row_close(who text, row_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_row_close(who text, row_id bigint, reason text) TO postrider_console;

--
-- Name: FUNCTION recon_run_ask(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_run_ask(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_run_ask(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION recon_runs_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_runs_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_runs_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION recon_set(who text, channel text, settings jsonb, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_set(who text, channel text, settings jsonb, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_set(who text, channel text, settings jsonb, reason text) TO postrider_console;

--
-- Name: FUNCTION recon_settings(channel text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_settings(channel text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.recon_settings(channel text) TO postrider_reconciler;
GRANT ALL ON FUNCTION postrider.recon_settings(channel text) TO postrider_console;

--
-- Name: FUNCTION recon_still(d postrider.recon_difference); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_still(d postrider.recon_difference) FROM PUBLIC;

--
-- Name: FUNCTION recon_verdict(task_id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.recon_verdict(task_id bigint) FROM PUBLIC;

--
-- Name: FUNCTION redrive_letters(who text, why text, filter jsonb, before timestamp with time zone, most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.redrive_letters(who text, why text, filter jsonb, before timestamp with time zone, most integer) FROM PUBLIC;

--
-- Name: FUNCTION redrive_request(who text, reason text, filter jsonb, rate_per_s double precision, OUT id bigint, OUT matching bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.redrive_request(who text, reason text, filter jsonb, rate_per_s double precision, OUT id bigint, OUT matching bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_request(who text, reason text, filter jsonb, rate_per_s double precision, OUT id bigint, OUT matching bigint) TO postrider_console;

--
-- Name: FUNCTION redrive_step(OUT driven bigint, OUT open_orders integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.redrive_step(OUT driven bigint, OUT open_orders integer) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.redrive_step(OUT driven bigint, OUT open_orders integer) TO postrider_dead_letter;

--
-- Name: FUNCTION refund_apply(c postrider.channel, p postrider.payment, r postrider.refund, source text, e jsonb, event_id text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.refund_apply(c postrider.channel, p postrider.payment, r postrider.refund, source text, e jsonb, event_id text) FROM PUBLIC;

--
-- Name: FUNCTION refund_before(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.refund_before() FROM PUBLIC;

--
-- Name: FUNCTION refund_json(r postrider.refund); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.refund_json(r postrider.refund) FROM PUBLIC;

--
-- Name: FUNCTION refund_of(p postrider.payment, e jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.refund_of(p postrider.payment, e jsonb) FROM PUBLIC;

--
-- Name: FUNCTION refund_payment(payment_id bigint, refund_no text, amount_minor bigint, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.refund_payment(payment_id bigint, refund_no text, amount_minor bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.refund_payment(payment_id bigint, refund_no text, amount_minor bigint, reason text) TO postrider_app;

--
-- Name: FUNCTION refund_to_person(p postrider.payment, r postrider.refund, why text, evidence jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.refund_to_person(p postrider.payment, r postrider.refund, why text, evidence jsonb) FROM PUBLIC;

--
-- Name: FUNCTION refunds_of(payment_id bigint, OUT gone bigint, OUT open bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.refunds_of(payment_id bigint, OUT gone bigint, OUT open bigint) FROM PUBLIC;

--
-- Name: FUNCTION release_shards(session uuid, nos smallint[], low bigint[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.release_shards(session uuid, nos smallint[], low bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.release_shards(session uuid, nos smallint[], low bigint[]) TO postrider_scheduler;

--
-- Name: FUNCTION report_fulfilment(merchant_id text, order_no text, state text, reference text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.report_fulfilment(merchant_id text, order_no text, state text, reference text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.report_fulfilment(merchant_id text, order_no text, state text, reference text) TO postrider_app;

--
-- Name: FUNCTION report_payment(payment_id bigint, state text, evidence jsonb, event_id text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.report_payment(payment_id bigint, state text, evidence jsonb, event_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.report_payment(payment_id bigint, state text, evidence jsonb, event_id text) TO postrider_app;

--
-- Name: FUNCTION resend_take(merchant_id text, livemode boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.resend_take(merchant_id text, livemode boolean) FROM PUBLIC;

--
-- Name: FUNCTION response_kept(outcome smallint, response bytea); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.response_kept(outcome smallint, response bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.response_kept(outcome smallint, response bytea) TO postrider_scheduler;

--
-- Name: FUNCTION resume_session(session uuid, OUT alive boolean, OUT locked boolean); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.resume_session(session uuid, OUT alive boolean, OUT locked boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.resume_session(session uuid, OUT alive boolean, OUT locked boolean) TO postrider_scheduler;

--
-- Name: FUNCTION retention_step(retention interval, OUT dropped text, OUT kept bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.retention_step(retention interval, OUT dropped text, OUT kept bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.retention_step(retention interval, OUT dropped text, OUT kept bigint) TO postrider_dead_letter;

--
-- Name: FUNCTION retry_ok(retry text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.retry_ok(retry text) FROM PUBLIC;

--
-- Name: FUNCTION role_rank(role text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.role_rank(role text) FROM PUBLIC;

--
-- Name: FUNCTION scaled(ms bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.scaled(ms bigint) FROM PUBLIC;

--
-- Name: FUNCTION search(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.search(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.search(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION session_connected(lock_key bigint, pid integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.session_connected(lock_key bigint, pid integer) FROM PUBLIC;

--
-- Name: FUNCTION sessions_end(operator text, why text, spared bytea); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.sessions_end(operator text, why text, spared bytea) FROM PUBLIC;

--
-- Name: FUNCTION sla_set(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.sla_set(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.sla_set(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION status_of(p postrider.payment); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.status_of(p postrider.payment) FROM PUBLIC;

--
-- Name: FUNCTION submit_payment(merchant_id text, order_no text, channel text, amount_minor bigint, currency text, request jsonb, options jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.submit_payment(merchant_id text, order_no text, channel text, amount_minor bigint, currency text, request jsonb, options jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.submit_payment(merchant_id text, order_no text, channel text, amount_minor bigint, currency text, request jsonb, options jsonb) TO postrider_app;

--
-- Name: FUNCTION supersede(after bigint, upto bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.supersede(after bigint, upto bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.supersede(after bigint, upto bigint) TO postrider_relay;

--
-- Name: FUNCTION task_after(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_after() FROM PUBLIC;

--
-- Name: FUNCTION task_ask(p postrider.payment, r postrider.refund); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_ask(p postrider.payment, r postrider.refund) FROM PUBLIC;

--
-- Name: FUNCTION task_asks(t postrider.task, p postrider.payment, r postrider.refund, retry_in interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_asks(t postrider.task, p postrider.payment, r postrider.refund, retry_in interval) FROM PUBLIC;

--
-- Name: FUNCTION task_callback(t postrider.task, retry_in interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_callback(t postrider.task, retry_in interval) FROM PUBLIC;

--
-- Name: FUNCTION task_close(who text, task_no text, reason text, detail jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_close(who text, task_no text, reason text, detail jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.task_close(who text, task_no text, reason text, detail jsonb) TO postrider_console;

--
-- Name: FUNCTION task_difference(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_difference() FROM PUBLIC;

--
-- Name: FUNCTION task_done(biz_type text, biz_id text, code text, result jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_done(biz_type text, biz_id text, code text, result jsonb) FROM PUBLIC;

--
-- Name: FUNCTION task_end(t postrider.task, outcome text, code text, message text, result jsonb, retry_in interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_end(t postrider.task, outcome text, code text, message text, result jsonb, retry_in interval) FROM PUBLIC;

--
-- Name: FUNCTION task_facts(t postrider.task); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_facts(t postrider.task) FROM PUBLIC;

--
-- Name: FUNCTION task_for_difference(difference_id bigint, biz_type text, biz_id text, state text, merchant_id text, order_no text, payment_id bigint, code text, message text, request jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_for_difference(difference_id bigint, biz_type text, biz_id text, state text, merchant_id text, order_no text, payment_id bigint, code text, message text, request jsonb) FROM PUBLIC;

--
-- Name: FUNCTION task_held(token uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_held(token uuid) FROM PUBLIC;

--
-- Name: FUNCTION task_json(t postrider.task); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_json(t postrider.task) FROM PUBLIC;

--
-- Name: FUNCTION task_key_of(t postrider.task); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_key_of(t postrider.task) FROM PUBLIC;

--
-- Name: FUNCTION task_listed(t postrider.task, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_listed(t postrider.task, a jsonb) FROM PUBLIC;

--
-- Name: FUNCTION task_locked(task_no text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_locked(task_no text) FROM PUBLIC;

--
-- Name: FUNCTION task_look(t postrider.task, handler text, OUT state text, OUT code text, OUT message text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_look(t postrider.task, handler text, OUT state text, OUT code text, OUT message text) FROM PUBLIC;

--
-- Name: FUNCTION task_moves(task_no text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_moves(task_no text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.task_moves(task_no text) TO postrider_console;

--
-- Name: FUNCTION task_open(biz_type text, biz_id text, state text, source text, merchant_id text, order_no text, payment_id bigint, code text, message text, request jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_open(biz_type text, biz_id text, state text, source text, merchant_id text, order_no text, payment_id bigint, code text, message text, request jsonb) FROM PUBLIC;

--
-- Name: FUNCTION task_refund(t postrider.task, p postrider.payment, retry_in interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_refund(t postrider.task, p postrider.payment, retry_in interval) FROM PUBLIC;

--
-- Name: FUNCTION task_refund_review(t postrider.task, p postrider.payment, retry_in interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_refund_review(t postrider.task, p postrider.payment, retry_in interval) FROM PUBLIC;

--
-- Name: FUNCTION task_rerun(who text, task_no text, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_rerun(who text, task_no text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.task_rerun(who text, task_no text, reason text) TO postrider_console;

--
-- Name: FUNCTION task_resolve(who text, task_no text, action text, reason text, evidence jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_resolve(who text, task_no text, action text, reason text, evidence jsonb) FROM PUBLIC;

--
-- Name: FUNCTION task_say(outcome text, code text, message text, result jsonb, retry_in interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_say(outcome text, code text, message text, result jsonb, retry_in interval) FROM PUBLIC;

--
-- Name: FUNCTION task_session_end(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_session_end(session uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.task_session_end(session uuid) TO postrider_compensator;

--
-- Name: FUNCTION task_session_live(session uuid); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_session_live(session uuid) FROM PUBLIC;

--
-- Name: FUNCTION task_session_open(address text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_session_open(address text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.task_session_open(address text) TO postrider_compensator;

--
-- Name: FUNCTION task_show(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_show(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.task_show(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION task_verify(t postrider.task, p postrider.payment, retry_in interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_verify(t postrider.task, p postrider.payment, retry_in interval) FROM PUBLIC;

--
-- Name: FUNCTION task_writeback(t postrider.task, retry_in interval); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.task_writeback(t postrider.task, retry_in interval) FROM PUBLIC;

--
-- Name: FUNCTION tasks_act(token uuid, retry_ms bigint, OUT state text, OUT code text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.tasks_act(token uuid, retry_ms bigint, OUT state text, OUT code text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tasks_act(token uuid, retry_ms bigint, OUT state text, OUT code text) TO postrider_compensator;

--
-- Name: FUNCTION tasks_claim(session uuid, most integer, own text[]); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.tasks_claim(session uuid, most integer, own text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tasks_claim(session uuid, most integer, own text[]) TO postrider_compensator;

--
-- Name: FUNCTION tasks_configure(kinds jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.tasks_configure(kinds jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tasks_configure(kinds jsonb) TO postrider_compensator;

--
-- Name: FUNCTION tasks_due(OUT due bigint, OUT oldest_s bigint, OUT manual bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.tasks_due(OUT due bigint, OUT oldest_s bigint, OUT manual bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tasks_due(OUT due bigint, OUT oldest_s bigint, OUT manual bigint) TO postrider_console;

--
-- Name: FUNCTION tasks_finish(token uuid, result jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.tasks_finish(token uuid, result jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tasks_finish(token uuid, result jsonb) TO postrider_compensator;

--
-- Name: FUNCTION tasks_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.tasks_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tasks_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION tasks_sweep(session uuid, lock_ms bigint, most integer, OUT lost bigint, OUT webhooks bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.tasks_sweep(session uuid, lock_ms bigint, most integer, OUT lost bigint, OUT webhooks bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tasks_sweep(session uuid, lock_ms bigint, most integer, OUT lost bigint, OUT webhooks bigint) TO postrider_compensator;

--
-- Name: FUNCTION time_of_us(us text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.time_of_us(us text) FROM PUBLIC;

--
-- Name: FUNCTION token_create(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.token_create(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.token_create(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION token_revoke(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.token_revoke(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.token_revoke(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION tokens_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.tokens_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.tokens_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION track_payment(merchant_id text, order_no text, channel text, gateway_reference text, amount_minor bigint, currency text, expires_at timestamp with time zone, options jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.track_payment(merchant_id text, order_no text, channel text, gateway_reference text, amount_minor bigint, currency text, expires_at timestamp with time zone, options jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.track_payment(merchant_id text, order_no text, channel text, gateway_reference text, amount_minor bigint, currency text, expires_at timestamp with time zone, options jsonb) TO postrider_app;

--
-- Name: FUNCTION unmoved_in(part regclass); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.unmoved_in(part regclass) FROM PUBLIC;

--
-- Name: FUNCTION url_origin(url text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.url_origin(url text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.url_origin(url text) TO postrider_relay;

--
-- Name: FUNCTION watch_force(id bigint, forced text, who text, reason text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.watch_force(id bigint, forced text, who text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.watch_force(id bigint, forced text, who text, reason text) TO postrider_breaker;

--
-- Name: FUNCTION watch_load(); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.watch_load() FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.watch_load() TO postrider_breaker;

--
-- Name: FUNCTION webhook_item(channel_no integer, webhook_id bigint, item jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhook_item(channel_no integer, webhook_id bigint, item jsonb) FROM PUBLIC;

--
-- Name: FUNCTION webhook_items(channel_no integer, webhook_id bigint, items jsonb, OUT state text, OUT result text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhook_items(channel_no integer, webhook_id bigint, items jsonb, OUT state text, OUT result text) FROM PUBLIC;

--
-- Name: FUNCTION webhook_json(w postrider.webhook); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhook_json(w postrider.webhook) FROM PUBLIC;

--
-- Name: FUNCTION webhook_listed(w postrider.webhook, a jsonb, no integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhook_listed(w postrider.webhook, a jsonb, no integer) FROM PUBLIC;

--
-- Name: FUNCTION webhook_raw(webhook_id bigint); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhook_raw(webhook_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.webhook_raw(webhook_id bigint) TO postrider_console;

--
-- Name: FUNCTION webhook_receive(channel text, received_at timestamp with time zone, method text, query text, headers jsonb, body bytea, verdict text, reason text, items jsonb, OUT reply text, OUT webhook_id bigint, OUT result text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhook_receive(channel text, received_at timestamp with time zone, method text, query text, headers jsonb, body bytea, verdict text, reason text, items jsonb, OUT reply text, OUT webhook_id bigint, OUT result text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.webhook_receive(channel text, received_at timestamp with time zone, method text, query text, headers jsonb, body bytea, verdict text, reason text, items jsonb, OUT reply text, OUT webhook_id bigint, OUT result text) TO postrider_ingress;

--
-- Name: FUNCTION webhook_redrive(webhook_id bigint, OUT state text, OUT result text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhook_redrive(webhook_id bigint, OUT state text, OUT result text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.webhook_redrive(webhook_id bigint, OUT state text, OUT result text) TO postrider_ingress;

--
-- Name: FUNCTION webhook_redrive_by(who text, webhook_id bigint, reason text, OUT state text, OUT result text); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhook_redrive_by(who text, webhook_id bigint, reason text, OUT state text, OUT result text) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.webhook_redrive_by(who text, webhook_id bigint, reason text, OUT state text, OUT result text) TO postrider_console;

--
-- Name: FUNCTION webhook_show(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhook_show(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.webhook_show(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION webhooks_list(who text, a jsonb); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhooks_list(who text, a jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION postrider.webhooks_list(who text, a jsonb) TO postrider_console;

--
-- Name: FUNCTION webhooks_overdue(most integer); Type: ACL; Schema: postrider; Owner: postrider_owner
--

REVOKE ALL ON FUNCTION postrider.webhooks_overdue(most integer) FROM PUBLIC;

--
-- Name: TABLE alerts; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.alerts TO postrider_app;
GRANT SELECT ON TABLE postrider.alerts TO postrider_dead_letter;
GRANT SELECT ON TABLE postrider.alerts TO postrider_console;

--
-- Name: TABLE worker; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT,INSERT ON TABLE postrider.worker TO postrider_scheduler;

--
-- Name: TABLE attempt_log; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.attempt_log TO postrider_app;
GRANT SELECT ON TABLE postrider.attempt_log TO postrider_console;

--
-- Name: TABLE call_request; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.call_request TO postrider_console;

--
-- Name: TABLE call_session; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.call_session TO postrider_console;

--
-- Name: TABLE call_shard; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.call_shard TO postrider_console;

--
-- Name: TABLE channel_pause; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.channel_pause TO postrider_console;

--
-- Name: TABLE channel_turn; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.channel_turn TO postrider_console;

--
-- Name: TABLE channels; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.channels TO postrider_app;
GRANT SELECT ON TABLE postrider.channels TO postrider_reconciler;
GRANT SELECT ON TABLE postrider.channels TO postrider_console;

--
-- Name: TABLE compensation_tasks; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.compensation_tasks TO postrider_app;
GRANT SELECT ON TABLE postrider.compensation_tasks TO postrider_console;

--
-- Name: TABLE dead_letters; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.dead_letters TO postrider_app;
GRANT SELECT ON TABLE postrider.dead_letters TO postrider_dead_letter;
GRANT SELECT ON TABLE postrider.dead_letters TO postrider_console;

--
-- Name: TABLE endpoints; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.endpoints TO postrider_app;
GRANT SELECT ON TABLE postrider.endpoints TO postrider_console;

--
-- Name: TABLE fulfilments; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.fulfilments TO postrider_app;
GRANT SELECT ON TABLE postrider.fulfilments TO postrider_console;

--
-- Name: TABLE heartbeat; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.heartbeat TO postrider_scheduler;
GRANT SELECT ON TABLE postrider.heartbeat TO postrider_console;

--
-- Name: TABLE http_keys; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.http_keys TO postrider_console;

--
-- Name: TABLE manual_actions; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.manual_actions TO postrider_console;

--
-- Name: TABLE merchant; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.merchant TO postrider_scheduler;

--
-- Name: TABLE merchants; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.merchants TO postrider_console;

--
-- Name: TABLE order_timeline; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.order_timeline TO postrider_app;
GRANT SELECT ON TABLE postrider.order_timeline TO postrider_console;

--
-- Name: TABLE partition; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.partition TO postrider_console;

--
-- Name: TABLE payment_events; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.payment_events TO postrider_app;
GRANT SELECT ON TABLE postrider.payment_events TO postrider_console;

--
-- Name: TABLE payment_evidence; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.payment_evidence TO postrider_app;
GRANT SELECT ON TABLE postrider.payment_evidence TO postrider_console;

--
-- Name: TABLE payment_status; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.payment_status TO postrider_app;
GRANT SELECT ON TABLE postrider.payment_status TO postrider_console;

--
-- Name: TABLE permission; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.permission TO postrider_console;

--
-- Name: TABLE priority_rule; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.priority_rule TO postrider_console;

--
-- Name: TABLE recon_item; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT INSERT ON TABLE postrider.recon_item TO postrider_reconciler;
GRANT INSERT ON TABLE postrider.recon_item TO postrider_console;

--
-- Name: TABLE recon_pool; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.recon_pool TO postrider_reconciler;
GRANT SELECT ON TABLE postrider.recon_pool TO postrider_console;

--
-- Name: TABLE recon_runs; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.recon_runs TO postrider_reconciler;
GRANT SELECT ON TABLE postrider.recon_runs TO postrider_console;

--
-- Name: TABLE redrive; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.redrive TO postrider_dead_letter;
GRANT SELECT ON TABLE postrider.redrive TO postrider_console;

--
-- Name: TABLE refund_status; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.refund_status TO postrider_app;
GRANT SELECT ON TABLE postrider.refund_status TO postrider_console;

--
-- Name: TABLE session; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.session TO postrider_scheduler;
GRANT SELECT ON TABLE postrider.session TO postrider_console;

--
-- Name: COLUMN session.pid; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT UPDATE(pid) ON TABLE postrider.session TO postrider_scheduler;

--
-- Name: TABLE shard; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.shard TO postrider_scheduler;
GRANT SELECT ON TABLE postrider.shard TO postrider_console;

--
-- Name: TABLE state_rules; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.state_rules TO postrider_console;

--
-- Name: TABLE task_incidents; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.task_incidents TO postrider_app;
GRANT SELECT ON TABLE postrider.task_incidents TO postrider_console;

--
-- Name: TABLE task_kind; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.task_kind TO postrider_console;

--
-- Name: TABLE task_runs; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.task_runs TO postrider_app;
GRANT SELECT ON TABLE postrider.task_runs TO postrider_console;

--
-- Name: TABLE task_session; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.task_session TO postrider_console;

--
-- Name: TABLE webhook_journal; Type: ACL; Schema: postrider; Owner: postrider_owner
--

GRANT SELECT ON TABLE postrider.webhook_journal TO postrider_app;
GRANT SELECT ON TABLE postrider.webhook_journal TO postrider_console;

--
-- PostgreSQL database dump complete
--

