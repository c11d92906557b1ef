-- SPDX-License-Identifier: Apache-2.0
-- Each role may what it needs (statements.py runs every statement under its role), and no more: here the "no more".
SELECT no_plan();
SELECT t.merchant('m1') AS e1 \gset
SELECT postrider.enqueue_notification('m1', 'o1', 'a.b', '{}') AS n \gset
CREATE TABLE t.role AS SELECT unnest(ARRAY['app', 'relay', 'scheduler', 'breaker', 'dead_letter', 'console', 'ingress']) AS name;
GRANT SELECT ON t.role TO PUBLIC;
DROP ROLE IF EXISTS postrider_test_nobody;
CREATE ROLE postrider_test_nobody NOLOGIN;

-- nobody changes the schema, nobody writes tables past the doors
SELECT t.may_not('postrider_' || name, 'CREATE TABLE postrider.x ()') FROM t.role;
SELECT t.may_not('postrider_' || name, s) FROM t.role, unnest(ARRAY[
    'DROP TABLE postrider.audit', 'ALTER TABLE postrider.job ADD COLUMN x int', 'DELETE FROM postrider.audit', 'UPDATE postrider.audit SET actor = ''x''',
    'INSERT INTO postrider.outbox (class, merchant_id, order_no, event, status, version, notify_id, body) VALUES (1, ''m1'', ''o'', ''a'', ''a'', 1, gen_random_uuid(), '''')',
    'UPDATE postrider.outbox SET body = ''x''', 'DELETE FROM postrider.outbox', 'TRUNCATE postrider.outbox', 'DELETE FROM postrider.attempt',
    'UPDATE postrider.attempt SET outcome = 1', 'UPDATE postrider.endpoint SET url = ''x''', 'DELETE FROM postrider.endpoint', 'UPDATE postrider.tick SET seq = 0',
    'DELETE FROM postrider.tick', 'INSERT INTO postrider.merchant (id, shard) VALUES (''x'', 0)', 'UPDATE postrider.session SET ended = NULL',
    'DELETE FROM postrider.session', 'UPDATE postrider.shard SET session = NULL', 'UPDATE postrider.heartbeat SET beat = 9', 'DELETE FROM postrider.dead',
    'INSERT INTO postrider.alert (kind, subject, severity, message) VALUES (''a'', ''b'', ''info'', ''c'')', 'SELECT * FROM postrider.idempotency',
    'SELECT postrider.rebase()', 'SELECT postrider.redrive_letters(''x'', ''x'', ''{}'', now(), 1)', 'SELECT postrider.audit_add(''x'', ''x'', ''x'', ''x'', ''{}'')']) AS s;
-- only the scheduler touches jobs and sessions (the relay makes jobs and may take them back)
SELECT t.may_not('postrider_' || name, s) FROM t.role, unnest(ARRAY['UPDATE postrider.job SET try = 0',
    'INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code) VALUES (1, 1, 1, 1, 1, 1, 1)', 'INSERT INTO postrider.worker VALUES (1, ''x'')',
    'SELECT * FROM postrider.open_session('''')', 'SELECT postrider.end_session(gen_random_uuid())', 'SELECT * FROM postrider.acquire_shards(gen_random_uuid())',
    'SELECT id FROM postrider.session FOR SHARE']) AS s WHERE name <> 'scheduler';
SELECT t.may_not('postrider_' || name, 'INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt) VALUES (1, now(), 1, 1, 1, 1)')
FROM t.role WHERE name <> 'relay';
SELECT t.may_not('postrider_' || name, 'DELETE FROM postrider.job') FROM t.role WHERE name NOT IN ('relay', 'scheduler');
SELECT t.may('postrider_scheduler', 'SELECT id FROM postrider.session WHERE ended IS NULL FOR SHARE');
-- secrets and bodies: the relay copies sealed secrets and reads no body; the scheduler passes both on; nobody else
SELECT t.may_not('postrider_' || name, 'SELECT secret FROM postrider.endpoint') FROM t.role WHERE name NOT IN ('relay', 'scheduler');
SELECT t.may_not('postrider_' || name, 'SELECT body FROM postrider.outbox') FROM t.role WHERE name <> 'scheduler';
SELECT t.may_not('postrider_relay', 'SELECT order_no FROM postrider.outbox');
SELECT is(count(*), 0::bigint, 'no view shows a secret or a body') FROM information_schema.columns AS c JOIN pg_views AS v
    ON v.schemaname = c.table_schema AND v.viewname = c.table_name
WHERE c.table_schema = 'postrider' AND c.column_name ~ 'secret|body|salt|headers$';

-- an endpoint of a notify_url is made by the relay, which copies what it may not judge
\ir relay.psql
SELECT postrider.enqueue_notification('m1', 'o9', 'a.b', '{}', notify_url => 'https://[2001:db8::1]/x', priority => 2);
SET ROLE postrider_relay;
EXECUTE move(2, :sysid, 500);
RESET ROLE;
SELECT is(count(*), 1::bigint, 'the relay may') FROM postrider.endpoint WHERE url LIKE '%2001:db8::1%';

-- applications: their functions and the views, not the operators' doors, not the tables
SELECT t.may('postrider_app', $$SELECT postrider.enqueue_notification('m1', 'o2', 'a.b', '{}')$$);
SELECT t.may('postrider_app', format('SELECT postrider.cancel_notification(%L, ''x'')', :'n'));
SELECT t.may('postrider_app', 'SELECT * FROM postrider.' || v) FROM unnest(ARRAY['notification_status', 'attempt_log', 'dead_letters', 'endpoints', 'alerts', 'order_timeline']) AS v;
SELECT t.may_not('postrider_app', 'SELECT * FROM postrider.' || v) FROM unnest(ARRAY['outbox', 'outbox_kept', 'job', 'attempt', 'dead', 'cancelled', 'endpoint', 'merchant', 'tick',
    'session', 'shard', 'heartbeat', 'audit', 'alert', 'setting', 'priority_rule', 'redrive', 'delivery', 'notification', 'partition']) AS v;
SELECT t.may_not('postrider_app', s) FROM unnest(ARRAY[$$SELECT postrider.merchant_add('a', 'x', NULL, NULL, 'http://h/', '\x01')$$,
    $$SELECT postrider.dead_redrive('a', 'x', '{}')$$, $$SELECT postrider.dead_close('a', 'x', '{}')$$, $$SELECT postrider.breaker_force('a', 1, 'open', 'x')$$,
    $$SELECT postrider.endpoint_disable('a', 1, 'x')$$, $$SELECT postrider.configure('{}', NULL)$$, $$SELECT * FROM postrider.retention_step('1 day')$$]) AS s;
-- the operators' doors: the console, and nobody who is no operator
SELECT t.may_not('postrider_' || name, $$SELECT postrider.merchant_add('a', 'x', NULL, NULL, 'http://h/', '\x01')$$) FROM t.role WHERE name <> 'console';
SELECT t.may_not('postrider_' || name, $$SELECT postrider.endpoint_rotate_secret('a', 1, '\x01', '0')$$) FROM t.role WHERE name <> 'console';
SELECT t.may_not('postrider_' || name, $$SELECT postrider.dead_redrive('a', 'x', '{}')$$) FROM t.role WHERE name <> 'console';
SELECT t.may_not('postrider_' || name, $$SELECT * FROM postrider.retention_step('1 day')$$) FROM t.role WHERE name <> 'dead_letter';
SELECT t.may_not('postrider_' || name, $$SELECT postrider.enqueue_notification('m1', 'o', 'a.b', '{}')$$) FROM t.role WHERE name NOT IN ('app', 'console');

-- nothing for strangers
SELECT t.may_not('postrider_test_nobody', s) FROM unnest(ARRAY['SELECT * FROM postrider.notification_status', 'SELECT * FROM postrider.endpoints',
    $$SELECT postrider.enqueue_notification('m1', 'o', 'a.b', '{}')$$, $$SELECT postrider.cancel_notification(gen_random_uuid(), 'x')$$]) AS s;
SELECT is(count(*), 0::bigint, 'PUBLIC may execute nothing but what views and triggers need') FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
WHERE p.pronamespace = 'postrider'::regnamespace AND a.grantee = 0 AND p.proname NOT IN ('response_text', 'outcome_name', 'retry_count', 'published_status', 'merchant_before', 'endpoint_before');
SELECT is(p.proname::text || coalesce(array_to_string(p.proconfig, ',') ~ 'search_path', false)::text, p.proname || 'true',
    'SECURITY DEFINER with a fixed search_path: ' || p.proname)
FROM pg_proc AS p WHERE p.pronamespace = 'postrider'::regnamespace AND p.prosecdef ORDER BY 1;
SELECT is(pg_get_userbyid(c.relowner)::text, 'postrider_owner', 'owner of ' || c.relname) FROM pg_class AS c
WHERE c.relnamespace = 'postrider'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S') ORDER BY c.relname;
SELECT ok(NOT rolsuper AND NOT rolcreaterole AND NOT rolcreatedb AND NOT rolcanlogin AND NOT rolbypassrls, rolname || ' is an ordinary role')
FROM pg_roles WHERE rolname LIKE 'postrider\_%' AND rolname NOT LIKE 'postrider\_test%' ORDER BY 1;
DROP ROLE postrider_test_nobody;
-- payments: the doors of each role, and nobody's tables. No role writes a payment but through the door.
SELECT t.may_not('postrider_' || name, s) FROM (SELECT name FROM t.role UNION ALL SELECT 'gateway_scheduler') AS r (name), unnest(ARRAY[
    'SELECT * FROM postrider.payment', 'UPDATE postrider.payment SET state = ''failed''', 'INSERT INTO postrider.transition VALUES (''payment'', ''failed'', ''succeeded'', ''x'')',
    'DELETE FROM postrider.call', 'UPDATE postrider.call SET due = now()', 'SELECT salt FROM postrider.call', 'SELECT * FROM postrider.webhook', 'SELECT * FROM postrider.http_key',
    'SELECT sealed FROM postrider.channel_parameter', 'UPDATE postrider.channel SET state = ''active''', 'INSERT INTO postrider.payment_event (payment_id, event, state, status, version) VALUES (1, ''a'', ''b'', ''c'', 1)',
    'UPDATE postrider.task SET state = ''CLOSED''', 'DELETE FROM postrider.payment_history', 'SELECT postrider.apply_evidence(1, NULL, ''x'', ''{}'')',
    'SELECT postrider.payment_tell(NULL, NULL, ''x'')', 'SELECT postrider.task_open(''a'', ''b'', ''MANUAL'', ''person'', NULL, NULL, NULL, NULL, NULL, NULL)']) AS s;
SELECT t.may_not('postrider_' || name, s) FROM (SELECT name FROM t.role UNION ALL SELECT 'gateway_scheduler') AS r (name), unnest(ARRAY[
    'SELECT postrider.channel_add(''me'', ''x'', ''{}'')', 'SELECT postrider.payment_decide(''me'', 1, ''failed'', ''{}'', ''x'')', 'SELECT postrider.task_close(''me'', ''x'', ''y'')',
    'SELECT postrider.key_create(''me'', ''x'', ''application'', NULL, true, ''x'')', 'SELECT postrider.webhook_raw(1)', 'SELECT postrider.channel_sealed(''x'')',
    'SELECT postrider.configure_payments(1, '''')']) AS s WHERE name <> 'console';
SELECT t.may_not('postrider_' || name, s) FROM t.role, unnest(ARRAY['SELECT * FROM postrider.calls_dispatch(NULL, NULL, NULL)', 'SELECT * FROM postrider.calls_apply(NULL, NULL)',
    'SELECT postrider.call_session_open(''x'')', 'SELECT postrider.calls_channels(NULL, NULL, NULL)']) AS s;
SELECT t.may_not('postrider_' || name, s) FROM (SELECT name FROM t.role UNION ALL SELECT 'gateway_scheduler') AS r (name), unnest(ARRAY[
    'SELECT postrider.webhook_receive(''x'', now(), '''', '''', ''{}'', '''', ''verified'', '''', ''[]'')', 'SELECT postrider.ingress_channels(NULL, NULL)',
    'SELECT postrider.http_write(1, NULL, NULL, ''x'', ''{}'')', 'SELECT postrider.http_read(1, ''x'', ''{}'')']) AS s WHERE name <> 'ingress';
SELECT t.may_not('postrider_' || name, 'SELECT postrider.submit_payment(''m1'', ''o'', ''c'', 1, ''CNY'')') FROM (SELECT name FROM t.role UNION ALL SELECT 'gateway_scheduler') AS r (name)
WHERE name NOT IN ('app', 'console');
SELECT t.may('postrider_app', 'SELECT * FROM postrider.' || v) FROM unnest(ARRAY['payment_status', 'refund_status', 'compensation_tasks', 'webhook_journal', 'channels', 'fulfilments', 'payment_events']) AS v;
SELECT t.may_not('postrider_app', 'SELECT * FROM postrider.' || v) FROM unnest(ARRAY['manual_actions', 'http_keys', 'call_log', 'call_exchange', 'task_log']) AS v;
SELECT * FROM finish();
