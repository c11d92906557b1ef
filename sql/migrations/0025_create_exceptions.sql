-- 0025 create exceptions: one queue of everything that waits for a person, and the ways in which each of it may end.
-- why:   what went wrong is found in one place, by age, with the moves that are allowed; a person's word is typed, with a reason.
-- locks: none that matter, everything is new.
-- undo:  DROP TABLE and FUNCTION for each.
--
-- A payment or refund with a person always has its task: the queue shows that. Lists look at a bounded number of rows and say where to go on;
-- numbers are counted up to 10,000.

SET LOCAL ROLE postrider_owner;

-- How long each kind may wait.
CREATE TABLE postrider.exception_kind (
    kind text PRIMARY KEY, sla interval NOT NULL CHECK (sla BETWEEN interval '1 min' AND interval '90 days'), says text NOT NULL
);
INSERT INTO postrider.exception_kind VALUES
    ('channel', '30 min', 'a channel that was stopped'), ('dead', '24 h', 'a notification that was given up'),
    ('difference', '24 h', 'a difference to a statement, for a person'), ('endpoint', '24 h', 'an endpoint that is switched off'),
    ('payment', '4 h', 'a payment whose end is not known'), ('quarantine', '24 h', 'a row of a statement that could not be read'),
    ('refund', '4 h', 'a refund whose end is not known'), ('task', '8 h', 'a task for a person');

-- How each kind may end, and by whom; anything else is PR006.
CREATE TABLE postrider.resolution (
    kind text NOT NULL REFERENCES postrider.exception_kind, action text NOT NULL, permission text NOT NULL REFERENCES postrider.permission,
    says text NOT NULL, PRIMARY KEY (kind, action)
);
INSERT INTO postrider.resolution VALUES
    ('dead', 'redrive', 'dead.redrive', 'send it again'), ('dead', 'close', 'dead.close', 'nobody will be told'),
    ('quarantine', 'close', 'quarantine.close', 'the row says nothing that is missing'),
    ('endpoint', 'enable', 'endpoint.enable', 'switch it on'),
    ('channel', 'resume', 'channel.resume', 'let its calls go on, after a test call');
INSERT INTO postrider.resolution
SELECT k.kind, r.action, r.permission, r.says FROM unnest(ARRAY['payment', 'refund', 'task', 'difference']) AS k (kind),
    (VALUES ('poll', 'payment.poll', 'ask the channel now'), ('rerun', 'task.rerun', 'let its task run again'), ('close', 'task.close', 'end it with a conclusion'),
            ('succeeded', 'task.resolve', 'it was paid'), ('failed', 'task.resolve', 'it failed for good'), ('cancelled', 'task.resolve', 'it was closed unpaid'),
            ('refunded', 'task.resolve', 'it was paid and sent back')) AS r (action, permission, says)
WHERE k.kind <> 'refund' OR r.action IN ('rerun', 'close', 'refunded');           -- its payment has ended: nothing else can be taken

-- A stopped channel stands for the task about it. No SET: it is inlined where thousands of tasks are looked at.
CREATE FUNCTION postrider.exception_kind_of(t postrider.task) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN (t).difference_id IS NOT NULL OR (t).source = 'difference' THEN 'difference' WHEN (t).biz_type IN ('payment_review', 'evidence_mismatch') THEN 'payment'
                WHEN (t).biz_type IN ('refund_review', 'refund_unclear') THEN 'refund' WHEN (t).biz_type = 'channel_stopped' THEN 'channel' ELSE 'task' END
$$;

-- That task ends with the stop, whoever resumes the channel.
CREATE FUNCTION postrider.channel_after() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE postrider.task AS t SET state = 'CLOSED', moved_by = 'postrider', move_reason = 'the channel is active again', closed_by = 'postrider',
           conclusion = left('the channel is active again: ' || coalesce(NEW.state_reason, ''), 500), updated_at = now()
    WHERE t.biz_type = 'channel_stopped' AND t.biz_id = NEW.id AND t.state = 'MANUAL';
    RETURN NULL;
END $$;
CREATE TRIGGER channel_resumed AFTER UPDATE ON postrider.channel FOR EACH ROW WHEN (OLD.state = 'stopped' AND NEW.state <> 'stopped')
    EXECUTE FUNCTION postrider.channel_after();

CREATE FUNCTION postrider.exception_actions(kind text, payment_id bigint) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object('action', r.action, 'role', p.role, 'four_eyes', p.four_eyes, 'says', r.says) ORDER BY p.four_eyes, r.action), '[]')
    FROM postrider.resolution AS r JOIN postrider.permission AS p ON p.action = r.permission
    WHERE r.kind = $1 AND ($2 IS NOT NULL OR r.permission NOT IN ('payment.poll', 'task.resolve'))
$$;

CREATE TYPE postrider.exception_place AS (since timestamptz, kind text, n bigint, m bigint);

-- One kind's rows behind a place, oldest first: at most `most` are looked at, and those that the filter means are kept. last: the last one that
-- was looked at, when there may be more.
CREATE FUNCTION postrider.exception_scan(kind text, f jsonb, after postrider.exception_place, most int, OUT kept postrider.exception_place[], OUT last postrider.exception_place)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_custom_plan AS $$
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

-- Everything of one exception.
CREATE FUNCTION postrider.exception_json(place postrider.exception_place) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

-- {"kind": text or array, "merchant_id", "channel", "order_no", "reason", "overdue", "older_than_s", "limit", "after"}: oldest first.
CREATE FUNCTION postrider.exceptions_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
END $$;

-- Numbers by kind: how many, how many over their time, how old. Each counted up to 10,000, the oldest ones first.
CREATE FUNCTION postrider.exceptions_summary(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
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

-- Ends one. Returns {"says"} or {"says", "approval_id"}; raises what its door raises.
CREATE FUNCTION postrider.exception_resolve(who text, kind text, id text, action text, reason text, detail jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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
END $$;

-- {"kind", "ids": [1 to 1000], "action", "reason", "detail", "dry_run"}: each by itself, with its own result; one that is refused stops none. dry_run: each
-- is done and taken back.
CREATE FUNCTION postrider.exceptions_resolve(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

-- {"kind", "seconds", "reason"}
CREATE FUNCTION postrider.sla_set(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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

RESET ROLE;
