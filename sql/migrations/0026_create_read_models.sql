-- 0026 create read models: what the console and the command line show, as fast with ten million rows as with ten.
-- why:   every list goes on from a key, looks at a bounded number of rows and says where to go on; no page counts a table.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.
--
-- All are (who, arguments) -> jsonb, for every role. Numbers are counted up to 10,000; rates and percentiles are of the newest notifications.

SET LOCAL ROLE postrider_owner;

CREATE FUNCTION postrider.list_before(a jsonb) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF nullif(a ->> 'after', '') !~ '^-?[0-9]{1,18}$' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'after is no cursor of this list', HINT = 'Pass what next was.';
    END IF;
    RETURN coalesce(nullif(a ->> 'after', '')::bigint, 9223372036854775807);
END $$;

-- What a list gives: its items, and the last key that was looked at when there may be more.
CREATE FUNCTION postrider.list_json(items jsonb[], next text) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('items', coalesce(to_jsonb(items), '[]'), 'next', next)
$$;

-- A list of what a cursor has, in order: rows of (id, item); without an item it is not asked for. It stops at `most` items, or when `looks` rows were
-- looked at. key: after which the cursor begins.
CREATE FUNCTION postrider.list_scan(c refcursor, key bigint, looks int, most int) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
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

-- Bytes as people see them: text, or {"base64"}.
CREATE FUNCTION postrider.bytes_json(bytes bytea) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN to_jsonb(convert_from(bytes, 'UTF8'));
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR untranslatable_character THEN
    RETURN jsonb_build_object('base64', translate(encode(bytes, 'base64'), E'\n', ''));
END $$;

-- notifications -------------------------------------------------------------------------------------------------

-- {"merchant_id", "order_no", "event", "status", "endpoint_id", "limit", "after"}: newest first, one item a delivery; limit counts notifications.
CREATE FUNCTION postrider.notifications_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
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

CREATE FUNCTION postrider.notification_json(n postrider.notification_status) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT to_jsonb(n) || jsonb_build_object('next_attempt_at', postrider.json_time(n.next_attempt_at), 'created_at', postrider.json_time(n.created_at),
        'updated_at', postrider.json_time(n.updated_at), 'delivered_at', postrider.json_time(n.delivered_at))
$$;

-- One notification's deliveries. Planned once for a connection: it is asked for each row of a list.
CREATE FUNCTION postrider.notification_deliveries(id uuid, status text, endpoint bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN (SELECT jsonb_agg(postrider.notification_json(n) ORDER BY n.endpoint_id) FROM postrider.notification_status AS n
            WHERE n.notify_id = id AND ($2 IS NULL OR n.status = $2) AND ($3 IS NULL OR n.endpoint_id = $3));
END $$;

-- {"notify_id"}: what is sent, to whom, and every attempt.
CREATE FUNCTION postrider.notification_show(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
    SET jit = off AS $$
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
END $$;

CREATE FUNCTION postrider.dead_json(d postrider.dead) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
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

-- {"state": open (default) | redriven | closed, "merchant_id", "order_no", "endpoint_id", "reason", "event", "limit", "after"}: the open ones oldest
-- first, the others newest first.
CREATE FUNCTION postrider.dead_letters_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
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
END $$;

-- payments ------------------------------------------------------------------------------------------------------

-- One row of payments_list; NULL: it is not asked for.
CREATE FUNCTION postrider.payment_listed(p postrider.payment, a jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN (a ->> 'merchant_id' IS NULL OR p.merchant_id = a ->> 'merchant_id') AND (a ->> 'channel' IS NULL OR p.channel = a ->> 'channel')
                AND (a ->> 'state' IS NULL OR p.state = a ->> 'state')
           THEN postrider.payment_json(p) END
$$;

-- {"merchant_id", "order_no", "channel", "state", "manual", "limit", "after"}: newest first.
CREATE FUNCTION postrider.payments_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
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

CREATE FUNCTION postrider.webhook_json(w postrider.webhook) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT jsonb_build_object('webhook_id', w.id, 'channel', (SELECT c.id FROM postrider.channel AS c WHERE c.no = w.channel_no), 'received_at', postrider.json_time(w.received_at),
        'method', w.method, 'query', w.query, 'bytes', octet_length(w.body), 'verdict', w.verdict, 'reason', w.reason, 'status', w.state, 'result', w.result,
        'tries', w.tries, 'payment_id', w.payment_id, 'updated_at', postrider.json_time(w.at))
$$;

CREATE FUNCTION postrider.task_json(t postrider.task) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT jsonb_build_object('task_no', t.task_no, 'biz_type', t.biz_type, 'biz_id', t.biz_id, 'merchant_id', t.merchant_id, 'order_no', t.order_no,
        'payment_id', t.payment_id, 'source', t.source, 'difference_id', t.difference_id, 'status', t.state, 'retry_count', t.retry_count, 'retry_limit', t.retry_limit,
        'next_run_at', postrider.json_time(t.next_run_at), 'last_run_at', postrider.json_time(t.last_run_at), 'last_error_code', t.last_error_code,
        'last_error_message', t.last_error_message, 'lock_owner', t.lock_owner, 'locked_at', postrider.json_time(t.locked_at), 'closed_by', t.closed_by,
        'conclusion', t.conclusion, 'follows', t.follows, 'created_at', postrider.json_time(t.created_at), 'updated_at', postrider.json_time(t.updated_at))
$$;

CREATE FUNCTION postrider.call_json(l postrider.call_log) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT jsonb_build_object('at', postrider.json_time(l.at), 'operation', l.operation, 'attempt', l.attempt, 'refund_id', l.refund_id,
        'dispatched_at', postrider.json_time(l.dispatched_at), 'duration_ms', l.duration_ms, 'http_status', l.http_status, 'transport', l.transport,
        'status', l.status, 'action', l.action, 'reason', l.reason, 'verdict', l.verdict, 'next', l.next)
$$;

-- What was sent in a call and what came back; NULL: not kept. Bytes that are none of ours stay visible.
CREATE FUNCTION postrider.exchange_json(payment_id bigint, log_id bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    said CONSTANT bytea := (SELECT x.said FROM postrider.call_exchange AS x WHERE x.payment_id = $1 AND x.log_id = $2 LIMIT 1);
BEGIN
    RETURN convert_from(said, 'UTF8')::jsonb;
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR untranslatable_character THEN
    RETURN jsonb_build_object('request', jsonb_build_object('body', postrider.bytes_json(said)));
END $$;

-- {"payment_id"}: everything of one payment; of what repeats, the newest 200, and what was sent and came back in the newest 50 calls.
CREATE FUNCTION postrider.payment_show(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
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

-- One row of webhooks_list; NULL: it is not asked for.
CREATE FUNCTION postrider.webhook_listed(w postrider.webhook, a jsonb, no int) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN (a ->> 'channel' IS NULL OR w.channel_no = no) AND (a ->> 'status' IS NULL OR w.state = a ->> 'status')
           THEN postrider.webhook_json(w) END
$$;

-- {"channel", "status", "payment_id", "limit", "after"}: newest first.
CREATE FUNCTION postrider.webhooks_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
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

-- {"webhook_id"}: as it came.
CREATE FUNCTION postrider.webhook_show(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
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

-- tasks ---------------------------------------------------------------------------------------------------------

-- One row of tasks_list; NULL: it is not asked for.
CREATE FUNCTION postrider.task_listed(t postrider.task, a jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN CASE coalesce(a ->> 'status', 'open') WHEN 'all' THEN true WHEN 'open' THEN t.state NOT IN ('SUCCESS', 'CLOSED') ELSE t.state = a ->> 'status' END
                AND (a ->> 'biz_type' IS NULL OR t.biz_type = a ->> 'biz_type') AND (a ->> 'merchant_id' IS NULL OR t.merchant_id = a ->> 'merchant_id')
                AND (a ->> 'source' IS NULL OR t.source = a ->> 'source')
           THEN postrider.task_json(t) END
$$;

-- {"status": open (default) | all | STATE, "biz_type", "merchant_id", "order_no", "source", "limit", "after"}: newest first.
CREATE FUNCTION postrider.tasks_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
    SET plan_cache_mode = force_custom_plan AS $$
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

-- {"task_no"}
CREATE FUNCTION postrider.task_show(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
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

-- merchants, endpoints, channels, alerts ------------------------------------------------------------------------

-- {"q": begins with, "limit", "after"}
CREATE FUNCTION postrider.merchants_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off SET plan_cache_mode = force_custom_plan AS $$
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

CREATE FUNCTION postrider.endpoint_json(e postrider.endpoint) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT to_jsonb(x) || jsonb_build_object('state_at', postrider.json_time(x.state_at), 'rotate_until', postrider.json_time(x.rotate_until),
        'created_at', postrider.json_time(x.created_at), 'updated_at', postrider.json_time(x.updated_at),
        'breaker_open_until', (SELECT postrider.json_time(b.until) FROM postrider.breaker_open AS b WHERE b.endpoint = e.id AND b.until > now()))
    FROM postrider.endpoints AS x WHERE x.endpoint_id = e.id
$$;

-- One row of endpoints_list; NULL: it is not asked for.
CREATE FUNCTION postrider.endpoint_listed(e postrider.endpoint, a jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN a ->> 'state' IS NULL OR e.state = a ->> 'state' THEN postrider.endpoint_json(e) END
$$;

-- {"merchant_id", "state": active | disabled, "limit", "after"}
CREATE FUNCTION postrider.endpoints_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
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

-- {"merchant_id"}
CREATE FUNCTION postrider.merchant_show(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
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

CREATE FUNCTION postrider.channel_json(c postrider.channel) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog SET enable_seqscan = off AS $$
    SELECT (to_jsonb(x) - ARRAY['tls_ca']) || jsonb_build_object('state_at', postrider.json_time(x.state_at), 'created_at', postrider.json_time(x.created_at),
        'updated_at', postrider.json_time(x.updated_at),
        'calls_waiting', (SELECT count(*) FROM (SELECT FROM postrider.call AS k WHERE k.channel_no = c.no AND k.class IN (0, 1) AND k.due IS NOT NULL LIMIT 10001) AS k),
        'calls_under_way', (SELECT count(*) FROM (SELECT FROM postrider.call AS k WHERE k.channel_no = c.no AND k.lease_until IS NOT NULL LIMIT 10001) AS k))
    FROM postrider.channels AS x WHERE x.channel = c.id
$$;

CREATE FUNCTION postrider.channels_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    PERFORM postrider.person_check(who, 'console.read');
    PERFORM postrider.args_check(a);
    RETURN jsonb_build_object('next', NULL, 'items', coalesce((SELECT jsonb_agg(postrider.channel_json(c) ORDER BY c.id) FROM postrider.channel AS c), '[]'));
END $$;

-- {"channel"}
CREATE FUNCTION postrider.channel_show(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
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

-- {"open": boolean, "limit", "after"}: newest first.
CREATE FUNCTION postrider.alerts_list(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off SET plan_cache_mode = force_custom_plan AS $$
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

RESET ROLE;
