-- 0024 create call functions: who owns the channels, what is called when, and what follows an outcome.
-- why:   the statements of sql/queries/gateway-scheduler; the actor plans delays, everything else is decided here, once.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each, DROP TABLE postrider.outcome_rule.

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
               rate_per_s double precision, burst int, concurrency int, polls text, max_polls int, charge_retry text, query_supported boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.id, c.version, c.shard, c.state, c.profile, c.base_url, c.tls_ca, postrider.channel_parameters(c.id), c.exponents, c.rate_per_s, c.burst,
           c.concurrency, c.polls, c.max_polls, c.charge_retry, 'query' = ANY (c.operations)
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

-- handing out ---------------------------------------------------------------------------------------------------

-- Why a call is not to be made now; NULL: make it. Read under the payment's lock (R8). What is not to be charged any more is asked about,
-- or ended, here.
CREATE FUNCTION postrider.call_refuse(c postrider.channel, p postrider.payment, r postrider.refund, k postrider.call) RETURNS text
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
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION postrider.calls_dispatch(session uuid, call_ids bigint[], lease_ms int[])
RETURNS TABLE (call_id bigint, dropped text, salt bigint, attempt int, channel text, class int, operation text, payment_id bigint, refund_id bigint,
               request_no text, reference text, refund_no text, refund_reference text, order_no text, currency text, description text, reason text,
               notify_url text, return_url text, amount_minor bigint, refund_minor bigint, expires_at_us bigint, request text, paid_before boolean,
               age_ms bigint, expires_ms bigint, polls int, sooner int, polled_at_expiry boolean, tries int, failures int)
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
                NULL::bigint, NULL::bigint, NULL::int, NULL::int, NULL::boolean, NULL::int, NULL::int;
            CONTINUE;
        END IF;
        lease := $3[array_position($2, k.id)] * interval '1 ms';
        money := k.operation IN ('charge', 'capture', 'refund');
        UPDATE postrider.call AS x
        SET due = NULL, lease_until = clock_timestamp() + lease, dispatched_at = clock_timestamp(), session = $1, attempt = x.attempt + 1,
            tries = x.tries + money::int,
            settle_at = CASE WHEN money THEN clock_timestamp() + lease + postrider.scaled(c.settle_ms) ELSE x.settle_at END
        WHERE x.id = k.id RETURNING x.* INTO k;
        IF k.operation = 'refund' THEN
            UPDATE postrider.refund AS x SET state = 'processing', sent_at = coalesce(x.sent_at, clock_timestamp()), updated_at = now() WHERE x.id = r.id;
        ELSIF money AND p.sent_at IS NULL THEN
            UPDATE postrider.payment AS x SET state = 'processing', sent_at = clock_timestamp(), updated_at = now(),
                   version = nextval('postrider.outbox_id_seq') WHERE x.id = p.id RETURNING x.* INTO p;
            PERFORM postrider.history_add(p, NULL, 'postrider', NULL, 'sent', 'created', p.state, jsonb_build_object('request_no', p.request_no));
        END IF;
        RETURN QUERY SELECT k.id, NULL::text, k.salt, k.attempt, c.id, k.class::int, k.operation, p.id, r.id, p.request_no, p.gateway_reference, r.gateway_no,
            r.gateway_reference, p.order_no, p.currency, p.request::jsonb ->> 'description', r.reason, p.webhook_url, p.request::jsonb ->> 'return_url',
            p.amount_minor, r.amount_minor, (extract(epoch FROM p.expires_at) * 1000000)::bigint, p.request, p.paid_before,
            (extract(epoch FROM clock_timestamp() - p.created_at) * 1000)::bigint, (extract(epoch FROM p.expires_at - p.created_at) * 1000)::bigint,
            k.polls, k.sooner, k.at_expiry, k.tries, k.failures;
    END LOOP;
END $$;

-- what follows --------------------------------------------------------------------------------------------------

-- What follows an outcome that ended nothing (R1, R2, R5, R8, P8). answer: what it means for us; phase: open | ending (after expiry, wished by
-- cancel_payment, or no poll is left) | closed (the channel was told); any = whatever the phase.
-- step: charge, capture, refund (send it), poll (ask by the plan), ask (now), ask_later (by the plan, whatever it was), settle (ask when "not
-- found" proves something), again (the same), close, cancel (closed and not there: it is), person.
CREATE TABLE postrider.outcome_rule (
    operation text NOT NULL, answer text NOT NULL, phase text NOT NULL, step text NOT NULL, why text NOT NULL,
    PRIMARY KEY (operation, answer, phase)
);
INSERT INTO postrider.outcome_rule VALUES
    ('charge', 'unpaid', 'any', 'poll', 'accepted, the payer is next'),
    ('charge', 'approved', 'any', 'capture', 'the payer approved'),
    ('charge', 'held', 'any', 'poll', 'not about this money: a person has the evidence'),
    ('charge', 'refused', 'any', 'ask_later', 'nothing happened there, says the channel: asked all the same (R8)'),
    ('charge', 'retryable', 'any', 'ask_later', 'this try failed'),
    ('charge', 'failure', 'any', 'poll', 'a failure that may turn'),
    ('charge', 'not_found', 'any', 'ask_later', 'no answer to a charge'),
    ('charge', 'missing', 'any', 'ask_later', 'no answer to a charge'),
    ('charge', 'unsettled', 'any', 'ask_later', 'no answer to a charge'),
    ('charge', 'unknown', 'any', 'ask_later', 'it may have happened (R2)'),
    ('charge', 'stopped', 'any', 'ask', 'when the channel is back'),
    ('capture', 'unpaid', 'any', 'poll', 'accepted'),
    ('capture', 'approved', 'any', 'ask_later', 'not yet'),
    ('capture', 'held', 'any', 'poll', 'not about this money: a person has the evidence'),
    ('capture', 'refused', 'any', 'ask_later', 'nothing happened there'),
    ('capture', 'retryable', 'any', 'ask_later', 'this try failed'),
    ('capture', 'failure', 'any', 'poll', 'a failure that may turn'),
    ('capture', 'not_found', 'any', 'ask_later', 'no answer to a capture'),
    ('capture', 'missing', 'any', 'ask_later', 'no answer to a capture'),
    ('capture', 'unsettled', 'any', 'ask_later', 'no answer to a capture'),
    ('capture', 'unknown', 'any', 'ask_later', 'it may have happened (R2)'),
    ('capture', 'stopped', 'any', 'ask', 'when the channel is back'),
    ('query', 'unpaid', 'open', 'poll', 'still pending'),
    ('query', 'unpaid', 'ending', 'close', 'explicitly unpaid at its end (P8)'),
    ('query', 'unpaid', 'closed', 'ask_later', 'told to close, not closed yet'),
    ('query', 'approved', 'open', 'capture', 'the payer approved'),
    ('query', 'approved', 'ending', 'close', 'approved, not captured, and over'),
    ('query', 'approved', 'closed', 'ask_later', 'told to close, not closed yet'),
    ('query', 'held', 'open', 'poll', 'not about this money: a person has the evidence'),
    ('query', 'held', 'ending', 'person', 'what the channel says is not about this money'),
    ('query', 'held', 'closed', 'person', 'what the channel says is not about this money'),
    ('query', 'missing', 'open', 'poll', 'not there yet'),
    ('query', 'missing', 'ending', 'close', 'never appeared'),
    ('query', 'missing', 'closed', 'cancel', 'closed, and not there'),
    ('query', 'not_found', 'open', 'charge', 'confirmed: the charge did nothing (R2)'),
    ('query', 'not_found', 'ending', 'close', 'never arrived there'),
    ('query', 'not_found', 'closed', 'cancel', 'closed, and not there'),
    ('query', 'unsettled', 'any', 'settle', '"not found" proves nothing yet'),
    ('query', 'retryable', 'open', 'charge', 'confirmed: the charge failed'),
    ('query', 'retryable', 'ending', 'close', 'failed, and over'),
    ('query', 'retryable', 'closed', 'ask_later', 'told to close, not closed yet'),
    ('query', 'failure', 'open', 'poll', 'a failure that may turn'),
    ('query', 'failure', 'ending', 'close', 'a failure that may turn, and over'),
    ('query', 'failure', 'closed', 'ask_later', 'told to close, not closed yet'),
    ('query', 'refused', 'any', 'ask_later', 'the question was not answered'),
    ('query', 'unknown', 'any', 'ask_later', 'the question was not answered'),
    ('query', 'stopped', 'any', 'ask', 'when the channel is back'),
    ('close', 'unpaid', 'any', 'ask', 'told: is it closed?'),
    ('close', 'approved', 'any', 'ask', 'told: is it closed?'),
    ('close', 'held', 'any', 'ask', 'told: is it closed?'),
    ('close', 'missing', 'any', 'ask', 'told: is it there?'),
    ('close', 'not_found', 'any', 'ask', 'told: is it there?'),
    ('close', 'unsettled', 'any', 'ask', 'told: is it there?'),
    ('close', 'retryable', 'any', 'ask', 'told: is it closed?'),
    ('close', 'failure', 'any', 'ask', 'told: is it closed?'),
    ('close', 'refused', 'any', 'again', 'not taken'),
    ('close', 'unknown', 'any', 'ask_later', 'it may be closed, or paid'),
    ('close', 'stopped', 'any', 'again', 'when the channel is back'),
    ('refund', 'unpaid', 'any', 'poll', 'accepted'),
    ('refund', 'approved', 'any', 'poll', 'accepted'),
    ('refund', 'held', 'any', 'person', 'not about this refund'),
    ('refund', 'refused', 'any', 'ask_later', 'nothing happened there, says the channel: asked all the same (R8)'),
    ('refund', 'retryable', 'any', 'ask_later', 'this try failed'),
    ('refund', 'failure', 'any', 'ask_later', 'this try failed'),
    ('refund', 'not_found', 'any', 'ask_later', 'no answer to a refund'),
    ('refund', 'missing', 'any', 'ask_later', 'no answer to a refund'),
    ('refund', 'unsettled', 'any', 'ask_later', 'no answer to a refund'),
    ('refund', 'unknown', 'any', 'ask_later', 'it may have happened (R2)'),
    ('refund', 'stopped', 'any', 'ask', 'when the channel is back'),
    ('query_refund', 'unpaid', 'any', 'poll', 'still pending'),
    ('query_refund', 'approved', 'any', 'poll', 'still pending'),
    ('query_refund', 'held', 'any', 'person', 'not about this refund'),
    ('query_refund', 'not_found', 'any', 'refund', 'confirmed: the refund did nothing (R2)'),
    ('query_refund', 'missing', 'any', 'refund', 'confirmed: the refund did nothing (R2)'),
    ('query_refund', 'unsettled', 'any', 'settle', '"not found" proves nothing yet'),
    ('query_refund', 'retryable', 'any', 'refund', 'confirmed: the refund failed'),
    ('query_refund', 'failure', 'any', 'poll', 'a failure that may turn'),
    ('query_refund', 'refused', 'any', 'ask_later', 'the question was not answered'),
    ('query_refund', 'unknown', 'any', 'ask_later', 'the question was not answered'),
    ('query_refund', 'stopped', 'any', 'ask', 'when the channel is back');

-- What an outcome means for us. Of a payment that we charge "not found" may mean that nothing happened; one that was there before, or that
-- the application charges, is only missing.
CREATE FUNCTION postrider.outcome_answer(c postrider.channel, p postrider.payment, k postrider.call, verdict text, e jsonb, ending boolean) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
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

-- The step that a rule names, as this channel, this payment and what was tried so far allow it.
CREATE FUNCTION postrider.outcome_step(c postrider.channel, p postrider.payment, k postrider.call, answer text, step text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
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

-- When: the plan's delay (NULL: none is left), never before the gateway's wish, and the last question at expiry.
CREATE FUNCTION postrider.outcome_delay(c postrider.channel, p postrider.payment, k postrider.call, step text, e jsonb, next_ms bigint) RETURNS interval
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
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

-- Dates the call that follows, or ends the matter. k is still this outcome's. Returns the step, and when.
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
    IF said = 'stopped' THEN
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

CREATE FUNCTION postrider.person_reason(p postrider.payment, k postrider.call, answer text, verdict text, step text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT CASE
        WHEN verdict LIKE 'held:%' THEN split_part(verdict, ': ', 2)
        WHEN step IN ('charge', 'capture', 'refund') THEN 'TRIES_EXHAUSTED'
        WHEN step = 'close' THEN CASE WHEN p.on_expiry = 'manual' THEN 'EXPIRED_UNPAID' ELSE 'CANNOT_CLOSE' END
        WHEN p.expires_at <= clock_timestamp() AND k.refund_id IS NULL THEN 'EXPIRED_UNKNOWN'
        ELSE 'ATTEMPTS_EXHAUSTED' END
$$;

-- One outcome, under the payment's lock.
CREATE FUNCTION postrider.call_apply(result jsonb, OUT verdict text, OUT next text, OUT next_in interval, OUT channel text)
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

CREATE FUNCTION postrider.calls_apply(session uuid, results jsonb)
RETURNS TABLE (call_id bigint, verdict text, next text, next_in_ms bigint, channel text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    one jsonb;
BEGIN
    PERFORM postrider.call_fence($1);
    PERFORM FROM postrider.payment AS x WHERE x.id = ANY (ARRAY(SELECT (e.value ->> 'payment_id')::bigint FROM jsonb_array_elements($2) AS e (value)))
    ORDER BY x.id FOR NO KEY UPDATE;
    FOR one IN SELECT e.value FROM jsonb_array_elements($2) WITH ORDINALITY AS e (value, at) ORDER BY (e.value ->> 'payment_id')::bigint, e.at LOOP
        RETURN QUERY SELECT (one ->> 'call_id')::bigint, a.verdict, a.next, (extract(epoch FROM a.next_in) * 1000)::bigint, a.channel
                     FROM postrider.call_apply(one) AS a;
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

RESET ROLE;
