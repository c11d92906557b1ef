-- 0027 create overview: an order's timeline with what was sent and answered, the search, the figures of the first page.
-- why:   C8 (everything of an order on one timeline), and what people look at first.
-- locks: none that matter, everything is new.
-- undo:  DROP FUNCTION for each.

SET LOCAL ROLE postrider_owner;

-- {"merchant_id", "order_no"}: at most 300 entries of each kind, oldest first. What went out and what came back stands as it was: a notification's
-- body and answers, a webhook's headers and body, the newest 100 calls of a payment.
CREATE FUNCTION postrider.order_show(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
    SET jit = off AS $$
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
END $$;

-- {"q"}: what has exactly this number: a merchant, an order (of the first 2,000 merchants), a payment by its id, our or the channel's number, a
-- notification, a task, an event of a webhook.
CREATE FUNCTION postrider.search(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
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
END $$;

-- {}: the figures of the first page. "more": there are more than 10,000. sample: of the newest 1,000 notifications, in the last ten minutes at most.
CREATE FUNCTION postrider.overview(who text, a jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off AS $$
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

-- For programs that watch: /metrics is scraped by whoever may reach it from the networks that the settings name, who is no operator. The
-- figures name nobody; overview() wants somebody who may look: the first operator there is. NULL: there is none yet.
CREATE FUNCTION postrider.metrics() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT postrider.overview(o.name, '{}') FROM postrider.operator AS o WHERE o.disabled_at IS NULL ORDER BY o.name LIMIT 1
$$;

RESET ROLE;
