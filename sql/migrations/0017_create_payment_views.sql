-- 0017 create payment views: what people and applications read of payments, what must always hold, the daily sweep.
-- why:   tables are private; the asking is a view or a function, for an operator, a test and a demo alike (contracts.md, "Views").
-- locks: none that matter, everything is new. check_invariants() reads whole tables when it is asked for all time.
-- undo:  DROP VIEW and FUNCTION for each.

SET LOCAL ROLE postrider_owner;

CREATE VIEW postrider.payment_status AS
SELECT p.id AS payment_id, p.merchant_id, p.order_no, p.channel, p.gateway_reference, p.app_ref, p.state,
       postrider.published_status(p.state, p.manual, p.amount_minor, p.captured_minor, p.refunded_minor,
           EXISTS (SELECT FROM postrider.refund AS r WHERE r.payment_id = p.id AND r.state IN ('created', 'processing')),
           EXISTS (SELECT FROM postrider.dispute AS d WHERE d.payment_id = p.id AND d.state <> 'won')) AS status,
       p.amount_minor, p.currency, p.captured_minor, p.refunded_minor, p.version, p.failure_code,
       CASE WHEN p.state = 'processing' AND p.next_action IS NOT NULL
            THEN jsonb_build_object('kind', p.next_action_kind, 'value', p.next_action) END AS next_action,
       p.created_at, p.updated_at, p.expires_at, coalesce(k.due, k.lease_until) AS next_poll_at,
       coalesce(k.attempt, (SELECT count(*)::int FROM postrider.call_log AS l WHERE l.payment_id = p.id AND l.refund_id IS NULL)) AS attempts,
       CASE WHEN p.manual THEN p.manual_reason END AS manual_reason, p.livemode,
       p.failure_message, p.request_no, p.final_at, p.ended_by, p.paid_at, k.operation AS next_operation, k.reason AS next_reason
FROM postrider.payment AS p
LEFT JOIN LATERAL (SELECT x.due, x.lease_until, x.attempt, x.operation, x.reason FROM postrider.call AS x
                   WHERE x.payment_id = p.id AND x.refund_id IS NULL LIMIT 1) AS k ON true;

CREATE VIEW postrider.refund_status AS
SELECT r.id AS refund_id, r.payment_id, p.merchant_id, p.order_no, p.channel, r.refund_no, r.gateway_reference, r.amount_minor, p.currency, r.state,
       CASE WHEN r.state = 'processing' AND r.manual THEN 'unknown' ELSE r.state END AS status, r.origin, r.reason, r.failure_code, r.failure_message,
       CASE WHEN r.manual THEN r.manual_reason END AS manual_reason, r.created_at, r.updated_at, r.sent_at, r.final_at,
       coalesce(k.due, k.lease_until) AS next_poll_at
FROM postrider.refund AS r JOIN postrider.payment AS p ON p.id = r.payment_id
LEFT JOIN LATERAL (SELECT x.due, x.lease_until FROM postrider.call AS x WHERE x.refund_id = r.id LIMIT 1) AS k ON true;

CREATE VIEW postrider.compensation_tasks AS
SELECT t.task_no, t.biz_type, t.biz_id, t.merchant_id, t.order_no, t.payment_id, t.source, t.difference_id, t.state AS status, t.retry_count, t.retry_limit,
       t.next_run_at, t.last_run_at, t.last_error_code, t.last_error_message, t.request, t.result, t.lock_owner, t.locked_at, t.closed_by, t.conclusion,
       t.before, t.after, t.follows, t.created_at, t.updated_at
FROM postrider.task AS t;

-- What people did and decided.
CREATE VIEW postrider.manual_actions AS
SELECT a.id AS action_id, a.at, a.actor, a.action, a.subject, a.reason, a.detail FROM postrider.audit AS a
WHERE a.action ~ '^(payment|refund|task|channel|webhook|key)[.]';

CREATE VIEW postrider.webhook_journal AS
SELECT w.id AS webhook_id, c.id AS channel, w.received_at, w.method, w.query, octet_length(w.body) AS bytes, w.verdict, w.reason, w.state AS status,
       w.result, w.tries, jsonb_array_length(w.items) AS items, w.payment_id, p.merchant_id, p.order_no, w.at AS updated_at
FROM postrider.webhook AS w JOIN postrider.channel AS c ON c.no = w.channel_no
LEFT JOIN postrider.payment AS p ON p.id = w.payment_id;

CREATE VIEW postrider.channels AS
SELECT c.id AS channel, c.profile, c.base_url, c.account, c.livemode, c.state, c.state_reason, c.state_at, c.version, c.shard, c.tls_ca IS NOT NULL AS private_ca,
       c.notify_url, c.match, c.failure_final, c.unit, c.exponents, c.not_found, c.not_found_grace_ms, c.settle_ms, c.rate_per_s, c.burst, c.concurrency, c.polls,
       c.max_polls, c.first_poll_ms, c.charge_retry, c.charge_tries, c.operations, c.number_max, c.expires_ms, c.order_policy, c.late_money, c.risk,
       ARRAY(SELECT DISTINCT a.name FROM postrider.channel_parameter AS a WHERE a.channel = c.id ORDER BY a.name) AS parameter_names,
       c.created_at, c.updated_at
FROM postrider.channel AS c;

CREATE VIEW postrider.fulfilments AS
SELECT f.merchant_id, f.order_no, f.state, f.reference, f.created_at, f.updated_at FROM postrider.fulfilment AS f;

-- The feed: read on from the last seq after each NOTIFY postrider_payment, and at least every second. Rows are shown once nothing that is
-- still under way can come before them: a reader that remembers its last seq misses none.
CREATE VIEW postrider.payment_events AS
SELECT v.seq, v.at, v.payment_id, v.refund_id, p.merchant_id, p.order_no, p.app_ref, v.event, v.state, v.status, v.version,
       coalesce((v.detail ->> 'amount')::bigint, p.amount_minor) AS amount_minor, p.currency, p.livemode, v.detail
FROM postrider.payment_event AS v JOIN postrider.payment AS p ON p.id = v.payment_id
WHERE v.tx < pg_snapshot_xmin(pg_current_snapshot());

CREATE VIEW postrider.payment_evidence AS
SELECT h.id AS history_id, h.at, h.payment_id, h.refund_id, p.merchant_id, p.order_no, h.source, h.event_id, h.verdict, h.from_state, h.to_state, h.version, h.evidence
FROM postrider.payment_history AS h JOIN postrider.payment AS p ON p.id = h.payment_id;

CREATE VIEW postrider.http_keys AS
SELECT k.id AS key_id, k.kind, k.merchant_id, k.livemode, k.label, k.created_at, k.expires_at, k.revoked_at FROM postrider.http_key AS k;

-- Calls of payments beside attempts of notifications.
CREATE VIEW postrider.attempt_log AS
SELECT n.job_kind, n.subject, n.attempt, n.started_at, n.duration_ms, n.outcome, n.http_code, n.error, n.response, n.notify_id, n.endpoint_id, n.merchant_id,
       n.order_no, n.worker, n.recorded_at, n.next_attempt_at
FROM postrider.notification_attempts AS n
UNION ALL
SELECT l.operation, 'payment ' || l.payment_id || coalesce(' refund ' || l.refund_id, ''), l.attempt, coalesce(l.dispatched_at, l.at), l.duration_ms, l.verdict,
       l.http_status, coalesce(nullif(l.transport, 'ok'), l.reason), l.status, NULL, NULL, p.merchant_id, p.order_no, NULL, l.at, NULL
FROM postrider.call_log AS l JOIN postrider.payment AS p ON p.id = l.payment_id;
COMMENT ON VIEW postrider.attempt_log IS 'Every attempt. Look up by notify_id, merchant_id and order_no, or endpoint_id.';

-- Everything known of an order, by time.
CREATE VIEW postrider.order_timeline AS
SELECT n.merchant_id, n.order_no, n.at, n.kind, n.detail FROM postrider.notification_timeline AS n
UNION ALL
SELECT p.merchant_id, p.order_no, p.created_at, 'payment.created',
       jsonb_build_object('payment_id', p.id, 'channel', p.channel, 'amount', p.amount_minor, 'currency', p.currency, 'app_ref', p.app_ref)
FROM postrider.payment AS p
UNION ALL
SELECT p.merchant_id, p.order_no, h.at, 'payment.evidence',
       jsonb_build_object('payment_id', p.id, 'refund_id', h.refund_id, 'source', h.source, 'verdict', h.verdict, 'from', h.from_state, 'to', h.to_state,
           'version', h.version, 'status', h.evidence ->> 'status', 'reason', h.evidence ->> 'reason')
FROM postrider.payment AS p JOIN postrider.payment_history AS h ON h.payment_id = p.id
UNION ALL
SELECT p.merchant_id, p.order_no, l.at, 'payment.' || l.operation,
       jsonb_build_object('payment_id', p.id, 'refund_id', l.refund_id, 'attempt', l.attempt, 'http_code', l.http_status, 'duration_ms', l.duration_ms,
           'status', l.status, 'reason', l.reason, 'verdict', l.verdict, 'next', l.next)
FROM postrider.payment AS p JOIN postrider.call_log AS l ON l.payment_id = p.id
UNION ALL
SELECT p.merchant_id, p.order_no, w.received_at, 'webhook.' || w.state, jsonb_build_object('webhook_id', w.id, 'payment_id', p.id, 'result', w.result)
FROM postrider.payment AS p JOIN postrider.webhook AS w ON w.payment_id = p.id
UNION ALL
SELECT t.merchant_id, t.order_no, l.at, 'task.' || lower(l.to_state),
       jsonb_build_object('task_no', t.task_no, 'biz_type', t.biz_type, 'who', l.who, 'reason', l.reason, 'from', l.from_state)
FROM postrider.task AS t JOIN postrider.task_log AS l ON l.task_id = t.id
UNION ALL
SELECT f.merchant_id, f.order_no, f.updated_at, 'fulfilment.' || f.state, jsonb_build_object('reference', f.reference) FROM postrider.fulfilment AS f;

-- The rules, as docs/states.md prints them.
CREATE VIEW postrider.state_rules AS
SELECT 'transition'::text AS kind, t.object, t.from_state AS "when", ''::text AS says, t.to_state AS then, t.why FROM postrider.transition AS t
UNION ALL SELECT 'evidence', r.object, r.state, r.says, r.effect, '' FROM postrider.evidence_rule AS r
UNION ALL SELECT 'outcome', o.operation, o.phase, o.answer, o.step, o.why FROM postrider.outcome_rule AS o;

-- what must always hold -----------------------------------------------------------------------------------------

CREATE FUNCTION postrider.check_payments(since timestamptz)
RETURNS TABLE (name text, kind text, broken bigint, detail text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
$$;

-- broken 0: it holds. kind invariant: broken means a bug or a damaged database. kind lag: something stands still.
-- One statement, so one snapshot: what moves meanwhile is seen before or after, never in between.
CREATE FUNCTION postrider.check_invariants(since timestamptz)
RETURNS TABLE (name text, kind text, broken bigint, detail text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT n.* FROM postrider.check_notifications($1) AS n
    UNION ALL
    SELECT p.* FROM postrider.check_payments($1) AS p
$$;

-- The daily sweep (P15): what slipped through is repaired where that is safe (asking is, sending is only where nothing was sent), else a
-- person's. Each payment under its lock, looked at again.
CREATE FUNCTION postrider.payments_sweep(most int) RETURNS TABLE (what text, seen bigint, repaired bigint, tasks bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
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

RESET ROLE;
