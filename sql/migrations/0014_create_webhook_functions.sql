-- 0014 create webhook functions: the journal of what gateways send.
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

-- One item: its keys, its payment, the door. 'applied ...', 'ignored: ...', 'held: ...' or 'orphan'. One that was held (another amount, another
-- account ...) changed nothing and uses up no key: a later one with the same key may be the first that is right.
CREATE FUNCTION postrider.webhook_item(channel_no int, webhook_id bigint, item jsonb) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

RESET ROLE;
