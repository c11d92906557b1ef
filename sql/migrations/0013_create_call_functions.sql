-- 0013 create call functions: who owns the channels, what is called when, and how an outcome is applied.
-- why:   the statements of sql/queries/gateway-scheduler; the actor plans delays, everything else is decided here, once.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.
--
-- A retry sends what was sent before, byte for byte (R6; docs/adr/0023-what-a-retry-sends.md): what determines a request that moves money is
-- committed before it is first made. A 429 and the number of calls at a time are the channel's, not its owner's: both go to the next owner.

SET LOCAL ROLE postrider_owner;

-- owners --------------------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.call_session_key(session uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT ('x' || left(session::text, 8) || right(session::text, 8))::bit(64)::bigint
$$;

-- Gives up the shards of a session; the locks only when they are this connection's.
CREATE FUNCTION postrider.call_shards_free(session uuid, nos smallint[]) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    own CONSTANT boolean := EXISTS (SELECT FROM postrider.call_session AS s WHERE s.id = session AND s.pid = pg_backend_pid());
BEGIN
    nos := ARRAY(SELECT h.no FROM postrider.call_shard AS h WHERE h.session = session AND h.no = ANY (nos));
    UPDATE postrider.call_shard AS h SET session = NULL WHERE h.session = session AND h.no = ANY (nos);
    PERFORM pg_advisory_unlock(1886548336, n.no) FROM unnest(nos) AS n (no) WHERE own;
    RETURN cardinality(nos);
END $$;

CREATE FUNCTION postrider.call_session_end(session uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
BEGIN
    UPDATE postrider.call_session AS s SET ended = clock_timestamp() WHERE s.id = session AND s.ended IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM postrider.call_shards_free(session, ARRAY(SELECT h.no FROM postrider.call_shard AS h WHERE h.session = session));
    RETURN true;
END $$;

CREATE FUNCTION postrider.call_session_open(address text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    id CONSTANT uuid := gen_random_uuid();
BEGIN
    PERFORM postrider.call_session_end(s.id) FROM postrider.call_session AS s WHERE s.pid = pg_backend_pid() AND s.ended IS NULL;
    PERFORM pg_advisory_lock(postrider.call_session_key(id));
    INSERT INTO postrider.call_session (id, pid, address) VALUES (id, pg_backend_pid(), coalesce(address, ''));
    RETURN id;
END $$;

-- Beats, and ends others that are gone: no connection any more, or silent for 15 s (stopped with its connection open: terminated first,
-- so that its locks cannot outlive it).
CREATE FUNCTION postrider.call_session_beat(session uuid, OUT alive boolean, OUT target int, OUT owned int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

-- The fence: holds the session's row against its end until this transaction does.
CREATE FUNCTION postrider.call_fence(session uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    PERFORM FROM postrider.call_session AS s WHERE s.id = session AND s.ended IS NULL FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PR009', MESSAGE = 'this session has ended', HINT = 'Open a new one: another owner may have the channels.';
    END IF;
END $$;

CREATE FUNCTION postrider.call_shards(session uuid) RETURNS SETOF smallint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT h.no FROM postrider.call_shard AS h WHERE h.session = $1
$$;

CREATE FUNCTION postrider.call_shards_release(session uuid, nos smallint[]) RETURNS int
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT postrider.call_shards_free($1, $2)
$$;

CREATE FUNCTION postrider.call_shards_take(session uuid, most int) RETURNS SETOF smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

-- reading -------------------------------------------------------------------------------------------------------

CREATE FUNCTION postrider.channel_parameters(channel text) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object('name', a.name, 'position', a.position, 'sealed', encode(a.sealed, 'hex')) ORDER BY a.name, a.position), '[]')
    FROM postrider.channel_parameter AS a WHERE a.channel = $1
$$;

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

CREATE FUNCTION postrider.calls_webhook_delays(session uuid)
RETURNS TABLE (channel text, samples int, first_permille int, p95_ms bigint, p99_ms bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    SELECT c.id, count(l.webhook_ms)::int, coalesce(1000 * count(*) FILTER (WHERE l.ended_by = 'webhook') / nullif(count(*), 0), 0)::int,
           percentile_disc(0.95) WITHIN GROUP (ORDER BY l.webhook_ms), percentile_disc(0.99) WITHIN GROUP (ORDER BY l.webhook_ms)
    FROM postrider.channel AS c JOIN postrider.call_shard AS h ON h.no = c.shard AND h.session = $1
    CROSS JOIN LATERAL (SELECT p.webhook_ms, p.ended_by FROM postrider.payment AS p
                        WHERE p.channel_no = c.no AND p.final_at IS NOT NULL ORDER BY p.final_at DESC LIMIT 1000) AS l
    GROUP BY c.id ORDER BY c.id
$$;

CREATE FUNCTION postrider.calls_due(session uuid, shards smallint[], most int)
RETURNS TABLE (call_id bigint, channel text, class int, operation text, due_in_ms bigint, priority int)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

CREATE FUNCTION postrider.channel_config(c postrider.channel) RETURNS bytea
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT sha256(convert_to(jsonb_build_array(c.profile, c.base_url, c.account, c.exponents, postrider.channel_parameters(c.id))::text, 'UTF8'))
$$;

-- handing out ---------------------------------------------------------------------------------------------------

-- Why a call is not to be made now; NULL: make it. Read under the payment's lock (R8). What is not to be charged any more is asked about,
-- or ended, here. A question about what has ended is made all the same when it verifies.
CREATE FUNCTION postrider.call_refuse(c postrider.channel, p postrider.payment, r postrider.refund, k postrider.call) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

-- what follows --------------------------------------------------------------------------------------------------

-- A credential or configuration that the gateway refuses stops the channel, not its payments (P13).
CREATE FUNCTION postrider.channel_stop(c postrider.channel, e jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE postrider.channel AS x SET state = 'stopped', state_reason = left(coalesce(e ->> 'reason', 'refused') || coalesce(', http ' || (e ->> 'http_status'), ''), 200)
    WHERE x.id = c.id AND x.state = 'active';
    IF FOUND THEN
        PERFORM postrider.alert_raise('channel_stopped', c.id, 'page', format('channel %s is stopped: %s', c.id, coalesce(e ->> 'reason', 'refused')));
        PERFORM postrider.task_open('channel_stopped', c.id, 'MANUAL', 'inspection', NULL, NULL, NULL, 'CHANNEL_STOPPED', coalesce(e ->> 'reason', 'refused'), e);
    END IF;
END $$;

-- Dates the call that follows, or ends the matter. k is still this outcome's. Returns the step, and when. Of a question about what has ended
-- nothing follows: who asked looks at the answer, or asks again.
CREATE FUNCTION postrider.call_follow(c postrider.channel, p postrider.payment, k postrider.call, verdict text, result jsonb, OUT next text, OUT next_in interval)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

-- One outcome, under the payment's lock.
CREATE FUNCTION postrider.call_apply(result jsonb, exchange bytea, OUT verdict text, OUT next text, OUT next_in interval, OUT channel text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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
END $$;

-- exchanges: one for each result, in the same order, or NULL.
CREATE FUNCTION postrider.calls_apply(session uuid, results jsonb, exchanges bytea[] DEFAULT '{}')
RETURNS TABLE (call_id bigint, verdict text, next text, next_in_ms bigint, channel text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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
END $$;

CREATE FUNCTION postrider.calls_expire_leases(session uuid, most int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

CREATE FUNCTION postrider.calls_pause(session uuid, channel text, ms bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_variable
BEGIN
    PERFORM postrider.call_fence(session);
    INSERT INTO postrider.channel_pause AS p (channel_no, until)
    SELECT c.no, clock_timestamp() + least(ms, 86400000) * interval '1 ms' FROM postrider.channel AS c WHERE c.id = channel
    ON CONFLICT (channel_no) DO UPDATE SET until = greatest(p.until, excluded.until);
END $$;

RESET ROLE;
