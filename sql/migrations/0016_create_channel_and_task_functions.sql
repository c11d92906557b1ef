-- 0016 create channel and task functions: what people do with channels, payments, tasks and webhooks.
-- why:   every action of a person goes through one of these doors and leaves a row in audit, as in 0006.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.

SET LOCAL ROLE postrider_owner;

-- channels ------------------------------------------------------------------------------------------------------

-- settings, by the names of the columns; match, operations as arrays, exponents as object. Unknown names and wrong kinds are PR003.
CREATE FUNCTION postrider.channel_patch(c postrider.channel, settings jsonb) RETURNS postrider.channel
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
END $$;

-- Replaces the parameters that are named: [{"name", "position" (1), "sealed": hex}]; with "sealed": null a name is removed.
CREATE FUNCTION postrider.channel_parameters_set(channel text, parameters jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
END $$;

CREATE FUNCTION postrider.channel_add(who text, id text, settings jsonb, parameters jsonb DEFAULT '[]') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
END $$;

CREATE FUNCTION postrider.channel_locked(id text) RETURNS postrider.channel
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c postrider.channel;
BEGIN
    SELECT x.* INTO c FROM postrider.channel AS x WHERE x.id = $1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR004', MESSAGE = format('channel %L is not known', left(id, 80)), HINT = 'postrider channel list shows those that are.';
    END IF;
    RETURN c;
END $$;

CREATE FUNCTION postrider.channel_set(who text, id text, settings jsonb, parameters jsonb DEFAULT '[]', reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
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
END $$;

CREATE FUNCTION postrider.channel_move(who text, id text, action text, state text, reason text, detail jsonb) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
END $$;

-- Its calls wait from now on; webhooks are taken all the same. False: it was paused. Errors: PR006 it is stopped.
CREATE FUNCTION postrider.channel_pause(who text, id text, reason text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT postrider.channel_move(who, id, 'channel.pause', 'paused', reason, NULL)
$$;

-- The gateway rests until it is resumed (announced maintenance).
CREATE FUNCTION postrider.channel_maintain(who text, id text, reason text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT postrider.channel_move(who, id, 'channel.maintain', 'maintenance', reason, NULL)
$$;

-- A stopped channel needs the result of a test call: {"http_status", "status", ...}, none of it a refusal of the credential. False: it was active.
CREATE FUNCTION postrider.channel_resume(who text, id text, reason text, test jsonb DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

-- Sealed as they are: of no use without the master key.
CREATE FUNCTION postrider.channel_sealed(id text) RETURNS TABLE (version bigint, exponents jsonb, tls_ca text, parameters jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.version, c.exponents, c.tls_ca, postrider.channel_parameters(c.id) FROM postrider.channel AS c WHERE c.id = $1
$$;

-- What SQL must know of the configuration.
CREATE FUNCTION postrider.configure_payments(time_scale double precision, hook text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
BEGIN
    IF (time_scale BETWEEN 0.0001 AND 1 AND hook ~ '^([a-z_][a-z0-9_]*[.][a-z_][a-z0-9_]*)?$') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'time_scale is not 0.0001 to 1, or hooks.payment is not schema.function',
            HINT = 'See time_scale and hooks.payment in docs/configuration.md.';
    END IF;
    UPDATE postrider.setting AS s SET value = v.value FROM (VALUES ('time_scale', time_scale::text), ('hooks.payment', hook)) AS v (key, value)
    WHERE s.key = v.key AND s.value <> v.value;
END $$;

-- payments ------------------------------------------------------------------------------------------------------

-- Asks the channel about it now, also while a person has it: under the channel's one budget. False: there is a call for it under way.
CREATE FUNCTION postrider.payment_poll(who text, payment_id bigint, reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

-- A person decides how a payment ended: evidence like any other, compared where it names something. state as for report_payment.
CREATE FUNCTION postrider.payment_decide(who text, payment_id bigint, state text, evidence jsonb, reason text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

-- tasks ---------------------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.task_locked(task_no text) RETURNS postrider.task
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    t postrider.task;
BEGIN
    SELECT x.* INTO t FROM postrider.task AS x WHERE x.task_no = $1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = format('there is no task %L', left(task_no, 80)), HINT = 'postrider task list shows those that are.';
    END IF;
    RETURN t;
END $$;

-- A person ends a MANUAL task: what was concluded, with the state before and after. Errors: PR006 it is not with a person.
CREATE FUNCTION postrider.task_close(who text, task_no text, reason text, detail jsonb DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

-- action: succeeded | failed | cancelled | refunded (of its payment: payment_decide, then closed), rerun (closed, and a linked new one WAITING).
-- Returns the verdict, or the new task's number.
CREATE FUNCTION postrider.task_resolve(who text, task_no text, action text, reason text, evidence jsonb DEFAULT '{}') RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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
END $$;

CREATE FUNCTION postrider.task_moves(task_no text) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object('at', postrider.json_time(l.at), 'from', l.from_state, 'to', l.to_state, 'who', l.who, 'reason', l.reason)
                              ORDER BY l.id), '[]')
    FROM postrider.task AS t JOIN postrider.task_log AS l ON l.task_id = t.id WHERE t.task_no = $1
$$;

-- webhooks and history ------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.webhook_redrive_by(who text, webhook_id bigint, reason text, OUT state text, OUT result text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    SELECT r.state, r.result INTO state, result FROM postrider.webhook_redrive(webhook_id) AS r;
    IF state IS NOT NULL THEN
        PERFORM postrider.audit_add(who, 'webhook.redrive', webhook_id::text, reason, jsonb_build_object('state', state, 'result', result));
    END IF;
END $$;

-- The raw bytes, for people.
CREATE FUNCTION postrider.webhook_raw(webhook_id bigint) RETURNS TABLE (headers jsonb, body bytea, items jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT w.headers, w.body, w.items FROM postrider.webhook AS w WHERE w.id = $1
$$;

-- Deletes at most `most` rows of each kind that are older: calls' log by retention, webhooks (and their keys) by theirs (3 years, C9).
CREATE FUNCTION postrider.payments_purge(log_retention interval, webhook_retention interval, most int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

RESET ROLE;
