-- SPDX-License-Identifier: Apache-2.0
-- The views of contracts.md: columns, and each status and phase of states.md.
\ir relay.psql
SELECT no_plan();
SELECT t.merchant('m1') AS e1 \gset
SELECT postrider.endpoint_add('ann', 'm1', 'second', 'http://127.0.0.1:2/', '\x02', '{"events": ["x.y"], "retry": "fixed:1s*3"}') AS e2 \gset

SELECT columns_are('postrider', 'notification_status', ARRAY['notify_id', 'endpoint_id', 'merchant_id', 'order_no', 'event', 'priority', 'status', 'phase',
    'notify_url', 'attempts', 'max_attempts', 'retry_count', 'max_retry', 'next_attempt_at', 'last_http_code', 'last_error', 'last_response', 'version',
    'created_at', 'updated_at', 'delivered_at', 'reason']);
SELECT has_column('postrider', 'attempt_log', c, 'attempt_log.' || c) FROM unnest(ARRAY['job_kind', 'subject', 'attempt', 'started_at', 'duration_ms', 'outcome',
    'http_code', 'error', 'response']) AS c;
SELECT has_column('postrider', 'order_timeline', c, 'order_timeline.' || c) FROM unnest(ARRAY['merchant_id', 'order_no', 'at', 'kind', 'detail']) AS c;

SELECT postrider.enqueue_notification('m1', 'o1', 'x.y', '{}', 5, 'CNY', version => 42) AS n1 \gset
SELECT results_eq(format($$SELECT endpoint_id, status, phase, attempts, max_attempts, retry_count, max_retry, next_attempt_at = created_at, version, priority
    FROM postrider.notification_status WHERE notify_id = %L$$, :'n1'),
    $$VALUES (NULL::bigint, 'pending', 'new', 0, 9, 0, 8, true, 42::bigint, 1)$$, 'before the move: one row without an endpoint');
EXECUTE move(1, :sysid, 500);
SELECT results_eq(format($$SELECT endpoint_id, status, phase, notify_url, attempts, max_attempts, max_retry FROM postrider.notification_status
    WHERE notify_id = %L ORDER BY 1$$, :'n1'), format($$VALUES (%s::bigint, 'pending', 'new', 'http://127.0.0.1:8000/m1', 0, 9, 8),
    (%s, 'pending', 'new', 'http://127.0.0.1:2/', 0, 4, 3)$$, :e1, :e2), 'after it: one row an endpoint, each with its own retry list');

-- a retry
SELECT seq AS s1 FROM postrider.job WHERE endpoint = :e1 \gset
SELECT seq AS s2 FROM postrider.job WHERE endpoint = :e2 \gset
UPDATE postrider.job SET try = 1, due = now() + interval '5 s' WHERE seq = :s1;
INSERT INTO postrider.worker VALUES (7, 'w');
INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code, worker, error, next_due, response)
SELECT outbox_id, endpoint, 31, 30, 1, 2, 503, 7, 'status', due, convert_to('nö', 'UTF8') FROM postrider.job WHERE seq = :s1;
SELECT is((worker, recorded_at - started_at, duration_ms), ('w'::text, interval '31 ms', 30), 'who tried, when it began and how long it took')
FROM postrider.attempt_log WHERE notify_id = :'n1';
SELECT results_eq(format($$SELECT status, phase, attempts, retry_count, next_attempt_at > now(), last_http_code, last_error, last_response, delivered_at
    FROM postrider.notification_status WHERE notify_id = %L AND endpoint_id = %s$$, :'n1', :e1),
    $$VALUES ('pending', 'retrying', 1, 0, true, 503, 'status', 'nö', NULL::timestamptz)$$, 'retrying');
SELECT postrider.endpoint_disable('ann', :e1, 'x');
SELECT is(phase, 'held', 'held while its endpoint is disabled') FROM postrider.notification_status WHERE notify_id = :'n1' AND endpoint_id = :e1;
SELECT postrider.endpoint_enable('ann', :e1, 'x'), postrider.breaker_force('ann', :e1, 'open', 'x');
SELECT is(phase, 'held', 'held while its breaker is forced open') FROM postrider.notification_status WHERE notify_id = :'n1' AND endpoint_id = :e1;
SELECT postrider.breaker_force('ann', :e1, NULL, 'x');

SELECT postrider.endpoint_mark_open(:e1, 30000);
SELECT set_eq(format($$SELECT endpoint_id, phase FROM postrider.notification_status WHERE notify_id = %L$$, :'n1'),
    format($$VALUES (%s::bigint, 'held'), (%s, 'new')$$, :e1, :e2), 'held while its breaker is open by itself; other endpoints'' are not');
SELECT postrider.breaker_force('ann', :e1, 'closed', 'x');
SELECT is(phase, 'retrying', 'not while a person holds the breaker closed') FROM postrider.notification_status WHERE notify_id = :'n1' AND endpoint_id = :e1;
SELECT postrider.breaker_force('ann', :e1, NULL, 'x');
UPDATE postrider.breaker_open SET until = now() - interval '1 ms';
SELECT is(phase, 'retrying', 'nor when nobody has said so for too long') FROM postrider.notification_status WHERE notify_id = :'n1' AND endpoint_id = :e1;
SELECT postrider.endpoint_pause(:e1, 60000);
SELECT is(phase, 'held', 'held while its endpoint asked to be left alone') FROM postrider.notification_status WHERE notify_id = :'n1' AND endpoint_id = :e1;
UPDATE postrider.endpoint SET paused_until = now() - interval '1 s' WHERE id = :e1;
SELECT is(phase, 'retrying', 'and not afterwards') FROM postrider.notification_status WHERE notify_id = :'n1' AND endpoint_id = :e1;

-- ends
SELECT t.finish(:s1, true, 1);
UPDATE postrider.attempt SET try = 2 WHERE outcome = 1;
SELECT results_eq(format($$SELECT status, phase, attempts, retry_count, next_attempt_at, last_http_code, last_error, last_response, delivered_at IS NOT NULL,
    updated_at >= created_at FROM postrider.notification_status WHERE notify_id = %L AND endpoint_id = %s$$, :'n1', :e1),
    $$VALUES ('delivered', NULL, 2, 1, NULL::timestamptz, 200, NULL, 'SUCCESS', true, true)$$, 'delivered');
INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code, response)
SELECT outbox_id, endpoint, 1, 1, 3, 1, 200, '' FROM postrider.attempt WHERE outcome = 1;
SELECT results_eq(format($$SELECT attempt, response FROM postrider.attempt_log WHERE notify_id = %L AND endpoint_id = %s ORDER BY 1$$, :'n1', :e1),
    $$VALUES (1, 'nö'), (2, 'SUCCESS'), (3, '')$$, 'SUCCESS is not written but shown; an empty answer stays empty');
SELECT is(count(*), 1::bigint, 'a logged resend makes no second row') FROM postrider.notification_status WHERE notify_id = :'n1' AND endpoint_id = :e1;
SELECT t.finish(:s2, false, 4);
SELECT results_eq(format($$SELECT status, phase, attempts, max_attempts, reason, last_response FROM postrider.notification_status WHERE notify_id = %L AND endpoint_id = %s$$,
    :'n1', :e2), $$VALUES ('dead', NULL, 4, 4, 'retries_exhausted', '\377\000')$$, 'dead; a response that is no text is escaped');
SELECT is(count(*), 7::bigint, 'the log has each attempt') FROM postrider.attempt_log WHERE notify_id = :'n1';
SELECT results_eq(format($$SELECT job_kind, subject, attempt, duration_ms, outcome, http_code, error, response FROM postrider.attempt_log
    WHERE subject = %L AND endpoint_id = %s AND attempt < 3 ORDER BY attempt$$, :'n1', :e1),
    format($$VALUES ('notification', %1$L, 1, 30, 'refused', 503, 'status', 'nö'), ('notification', %1$L, 2, 7, 'delivered', 200, NULL, 'SUCCESS')$$, :'n1'), 'in full');
SELECT postrider.dead_redrive('ann', 'why', '{"order_no": "o1"}');
SELECT results_eq(format($$SELECT status, phase, attempts, max_attempts FROM postrider.notification_status WHERE notify_id = %L AND endpoint_id = %s$$, :'n1', :e2),
    $$VALUES ('pending', 'new', 4, 8)$$, 'driven again: as many tries once more');
SELECT set_eq($$SELECT kind FROM postrider.order_timeline WHERE merchant_id = 'm1' AND order_no = 'o1'$$,
    ARRAY['notification.enqueued', 'notification.attempt', 'notification.dead', 'notification.redriven'], 'the order''s timeline');
SELECT is(count(*), 0::bigint, 'another merchant''s order of that number is not his') FROM postrider.order_timeline WHERE merchant_id = 'm2' AND order_no = 'o1';
SELECT is(count(*) FILTER (WHERE status = 'delivered'), 1::bigint, 'by order') FROM postrider.notification_status WHERE merchant_id = 'm1' AND order_no = 'o1';
SELECT is(count(*), 1::bigint, 'by endpoint') FROM postrider.notification_status WHERE endpoint_id = :e1;
SELECT * FROM finish();
