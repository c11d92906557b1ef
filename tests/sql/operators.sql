-- SPDX-License-Identifier: Apache-2.0
-- The operators' doors: merchants, endpoints, breaker, dead letters, alerts; each leaves who and why in audit.
\ir relay.psql
SELECT no_plan();

-- merchants
SELECT postrider.merchant_add('ann', 'm1', NULL, 'm1@example.com', 'http://127.0.0.1:1/', '\x01') AS e1 \gset
SELECT is((tier, email), ('normal'::text, 'm1@example.com'::text), 'a merchant') FROM postrider.merchants WHERE merchant_id = 'm1';
SELECT is((name, url, events, scheme, success_rule, state), ('default'::text, 'http://127.0.0.1:1/'::text, '{*}'::text[], 'postrider'::text,
    'default'::text, 'active'::text), 'with its endpoint') FROM postrider.endpoints WHERE endpoint_id = :e1;
SELECT is(e.shard, m.shard, 'in its shard') FROM postrider.endpoint AS e JOIN postrider.merchant AS m ON m.id = e.merchant_id WHERE e.id = :e1;
SELECT t.refused($$SELECT postrider.merchant_add('ann', 'm1', NULL, NULL, 'http://h/', '\x01')$$, 'PR003', 'known already', 'the same merchant twice');
SELECT t.refused(format($$SELECT postrider.merchant_add('ann', %L, NULL, NULL, 'http://h/', '\x01')$$, id), 'PR003', 'id', 'merchant id ' || id)
FROM unnest(ARRAY['', 'a b', 'ü', repeat('x', 65), E'a\n', 'a/b']) AS id;
SELECT t.refused($$SELECT postrider.merchant_add('ann', 'm2', 'gold', NULL, 'http://h/', '\x01')$$, 'PR003', 'tier', 'an unknown tier');
SELECT t.refused($$SELECT postrider.merchant_add('ann', 'm2', NULL, NULL, 'ftp://h/', '\x01')$$, 'PR003', 'url', 'a URL that cannot be called');
SELECT t.refused($$SELECT postrider.merchant_add('ann', 'm2', NULL, NULL, 'http://h/', '')$$, 'PR003', 'secret', 'no secret');
SELECT t.refused($$SELECT postrider.merchant_add('', 'm2', NULL, NULL, 'http://h/', '\x01')$$, 'PR003', 'who', 'nobody said who');
SELECT is(count(*), 1::bigint, 'a refusal leaves nothing') FROM postrider.merchant;
SELECT postrider.merchant_set('ann', 'm1', '{"tier": "vip", "email": null}', 'signed');
SELECT is((tier, email), ('vip'::text, NULL::text), 'changed') FROM postrider.merchants;
SELECT t.refused($$SELECT postrider.merchant_set('ann', 'nobody', '{}')$$, 'PR001', 'nobody', 'of nobody');
SELECT t.refused($$SELECT postrider.merchant_set('ann', 'm1', '{"url": "x"}')$$, 'PR003', 'tier', 'an endpoint''s setting');
SELECT t.refused($$SELECT postrider.merchant_set('ann', 'm1', '{"tier": "gold"}')$$, 'PR003', 'tier', 'an unknown tier, later');
SELECT is((actor, reason, detail #>> '{before,tier}', detail #>> '{set,tier}'), ('ann'::text, 'signed'::text, 'normal'::text, 'vip'::text),
    'who, why, before and after') FROM postrider.audit WHERE action = 'merchant.set';

-- endpoints
SELECT postrider.endpoint_add('ann', 'm1', 'audit', 'https://h/', '\x02', '{"events": ["payment.*"], "retry": "fixed:5s*5", "concurrency": 7,
    "headers": {"X-Team": "a"}, "egress": "http://user:pw@proxy:3128", "rate_per_s": 2.5, "max_age_ms": 1000, "http2": false}') AS e2 \gset
SELECT is((events, retry, concurrency, header_names, egress, rate_per_s, max_age_ms, http2), ('{payment.*}'::text[], 'fixed:5s*5'::text, 7,
    '{X-Team}'::text[], 'http://***@proxy:3128'::text, 2.5::float8, 1000::bigint, false), 'settings; the view keeps secrets back')
FROM postrider.endpoints WHERE endpoint_id = :e2;
SELECT t.refused($$SELECT postrider.endpoint_add('ann', 'm1', 'audit', 'https://h/', '\x02')$$, 'PR003', 'already', 'a name twice');
SELECT t.refused($$SELECT postrider.endpoint_add('ann', 'nobody', 'x', 'https://h/', '\x02')$$, 'PR001', 'nobody', 'of nobody');
SELECT t.refused($$SELECT postrider.endpoint_add('ann', 'm1', 'a b', 'https://h/', '\x02')$$, 'PR003', 'name', 'a bad name');
SELECT t.refused(format($$SELECT postrider.endpoint_set('ann', %s, %L)$$, :e2, s), 'PR003', '', 'refused: ' || s) FROM unnest(ARRAY[
    '{"colour": 1}', '{"secret": "x"}', '{"state": "active"}', '{"url": "http://u:p@h/"}', '{"events": []}', '{"events": ["*.paid"]}', '{"events": ["A"]}',
    '{"events": [null]}', '{"scheme": "md5"}', '{"success_rule": "maybe"}', '{"retry": "sometimes"}', '{"retry": "list:"}', '{"max_age_ms": 0}',
    '{"concurrency": 0}', '{"concurrency": 1001}', '{"concurrency": "x"}', '{"rate_per_s": 0}', '{"rate_per_s": "Infinity"}', '{"headers": []}',
    '{"headers": {"a b": "c"}}', '{"headers": {"a": "b\r\nc: d"}}', '{"headers": {"a": 1}}', '{"http2": null}']) AS s;
SELECT is(postrider.retry_count(r), n, 'retries of ' || r) FROM (VALUES ('list:5s,30s,5m,30m,1h,2h,6h,24h', 8), ('list:5s,30s;jitter=10%', 2), ('fixed:5s*5', 5),
    ('linear:5s*3', 3), ('exponential:1s..6h*10', 10), ('exponential-jitter:1s..6h*4;jitter=5%', 4), ('never', NULL)) AS v (r, n);
BEGIN;
SELECT tx AS old_tx, pg_current_xact_id() AS this_tx FROM postrider.endpoint WHERE id = :e2 \gset
SELECT postrider.endpoint_set('ann', :e2, '{"concurrency": null, "url": "https://h2/"}', 'moved');
SELECT is((url, concurrency, tx), ('https://h2/'::text, NULL::int, :'this_tx'::xid8), 'set; schedulers see it by its tx') FROM postrider.endpoint WHERE id = :e2;
COMMIT;
SELECT is(detail -> 'before', '{"concurrency": 7, "url": "https://h/"}', 'the audit has what was before') FROM postrider.audit WHERE action = 'endpoint.set';
SELECT t.refused($$SELECT postrider.endpoint_set('ann', 999, '{}')$$, 'PR009', '999', 'no such endpoint');
SELECT t.refused($$SELECT postrider.endpoint_disable('ann', 999, 'x')$$, 'PR009', '999', 'no such endpoint to disable');
SELECT t.refused($$SELECT postrider.endpoint_enable('ann', 999, 'x')$$, 'PR009', '999', 'no such endpoint to enable');
SELECT t.refused($$SELECT postrider.breaker_force('ann', 999, 'open', 'x')$$, 'PR009', '999', 'no such endpoint to force');
SELECT is((postrider.endpoint_disable('ann', :e2, '410'), postrider.endpoint_disable('ann', :e2, '410')), (true, false), 'disabled once');
SELECT is((state, state_reason), ('disabled'::text, '410'::text), 'disabled, why') FROM postrider.endpoints WHERE endpoint_id = :e2;
SELECT fresh FROM postrider.alert_raise('endpoint_gone', :'e2', 'warn', 'gone') \gset
SELECT is((postrider.endpoint_enable('ann', :e2, 'repaired'), postrider.endpoint_enable('ann', :e2, 'x')), (true, false), 'enabled once');
SELECT isnt(resolved_at, NULL, 'its alert is over') FROM postrider.alerts WHERE kind = 'endpoint_gone';
SELECT is((postrider.breaker_force('ann', :e2, 'open', 'x'), postrider.breaker_force('ann', :e2, 'open', 'x'),
           postrider.breaker_force('ann', :e2, NULL, 'x')), (true, false, true), 'forced once, then reset');
SELECT t.refused(format($$SELECT postrider.breaker_force('ann', %s, 'half', 'x')$$, :e2), 'PR003', 'forced', 'half open is not a force');

-- secrets
SELECT postrider.endpoint_rotate_secret('ann', :e1, '\x0a', '1 hour');
SELECT is((secret, secret_next), ('\x01'::bytea, '\x0a'::bytea), 'both during the overlap') FROM postrider.endpoint WHERE id = :e1;
SELECT is(postrider.finish_rotations(), 0, 'not over yet');
SELECT postrider.endpoint_rotate_secret('ann', :e1, '\x0b', '1 hour');
SELECT is((secret, secret_next), ('\x01'::bytea, '\x0b'::bytea), 'a second rotation replaces the new one') FROM postrider.endpoint WHERE id = :e1;
UPDATE postrider.endpoint SET rotate_until = now() - interval '1 s' WHERE id = :e1;
SELECT is(postrider.finish_rotations(), 1, 'over');
SELECT is((secret, secret_next, rotate_until), ('\x0b'::bytea, NULL::bytea, NULL::timestamptz), 'the new one alone') FROM postrider.endpoint WHERE id = :e1;
SELECT postrider.endpoint_rotate_secret('ann', :e1, '\x0c', '0');
SELECT is((secret, secret_next), ('\x0c'::bytea, NULL::bytea), 'no overlap: at once') FROM postrider.endpoint WHERE id = :e1;
SELECT t.refused(format($$SELECT postrider.endpoint_rotate_secret('ann', %s, '\x01', '-1 s')$$, :e1), 'PR003', 'overlap', 'a negative overlap');
SELECT t.refused(format($$SELECT postrider.endpoint_rotate_secret('ann', %s, '', '1 s')$$, :e1), 'PR003', 'secret', 'no secret');
SELECT is(count(*), 0::bigint, 'no secret in audit') FROM postrider.audit WHERE detail::text ~ '\\x0[abc]';

-- dead letters
SELECT count(postrider.enqueue_notification('m1', 'd' || n, CASE WHEN n > 4 THEN 'payment.failed' ELSE 'a.b' END, '{}', priority => 1)) FROM generate_series(1, 8) AS n;
EXECUTE move(1, :sysid, 500);
SELECT count(t.finish(seq, false, 2)) FROM postrider.job;
SELECT is(count(*), 12::bigint, 'twelve dead letters: eight, and four for the second endpoint') FROM postrider.dead_letters;
SELECT t.refused($$SELECT postrider.dead_redrive('ann', 'x', '{"merchant": "m1"}')$$, 'PR003', 'unknown key', 'an unknown key never means all');
SELECT t.refused($$SELECT postrider.dead_redrive('ann', 'x', '[]')$$, 'PR003', 'filter', 'a filter that is no object');
SELECT t.refused($$SELECT postrider.dead_redrive('ann', 'x', NULL)$$, 'PR003', 'filter', 'no filter');
SELECT t.refused($$SELECT postrider.dead_redrive('ann', 'x', '{"notify_id": "x"}')$$, 'PR003', 'wrong kind', 'a notify_id that is none');
SELECT is(postrider.dead_redrive('ann', 'x', f::jsonb, dry_run => true), n, 'matching ' || f) FROM (VALUES
    ('{}', 12::bigint), ('{"merchant_id": "m1"}', 12), ('{"merchant_id": "m2"}', 0), ('{"order_no": "d5"}', 2), ('{"event": "a.b"}', 4),
    (format('{"endpoint_id": %s}', :e2), 4), ('{"reason": "expired"}', 0), ('{"since": "2100-01-01T00:00:00Z"}', 0),
    ('{"until": "2100-01-01T00:00:00Z", "order_no": "d1"}', 1)) AS v (f, n);
SELECT is(postrider.dead_redrive('ann', 'x', '{}', 3, true), 3::bigint, 'at most');
SELECT is(postrider.dead_redrive('ann', 'fixed', '{"event": "a.b"}', 2), 2::bigint, 'two are driven');
SELECT is((count(*), min(closed_by), min(closed_reason)), (2::bigint, 'ann'::text, 'fixed'::text), 'who and why') FROM postrider.dead_letters WHERE state = 'redriven';
SELECT t.refused($$SELECT postrider.dead_close('ann', '', '{}')$$, 'PR003', 'reason', 'closing needs a reason');
SELECT is(postrider.dead_close('ann', 'merchant left', format('{"endpoint_id": %s}', :e2)::jsonb), 4::bigint, 'four are closed');
SELECT is(postrider.dead_redrive('ann', 'x', format('{"endpoint_id": %s}', :e2)::jsonb), 0::bigint, 'closed stays closed');
SELECT is((actor, reason, (detail ->> 'count')::int), ('ann'::text, 'merchant left'::text, 4), 'in audit') FROM postrider.audit WHERE action = 'dead.close';
-- at a rate
SELECT t.refused($$SELECT * FROM postrider.redrive_request('ann', 'x', '{}', 0)$$, 'PR003', 'rate', 'a rate of nothing');
SELECT id, matching FROM postrider.redrive_request('ann', 'slowly', '{}', 2) \gset
SELECT is(:matching, 6, 'six match');
SELECT is((driven, open_orders), (0::bigint, 1), 'no time has passed: none') FROM postrider.redrive_step();
UPDATE postrider.redrive SET stepped_at = stepped_at - interval '10 s';
SELECT is((driven, open_orders), (2::bigint, 1), 'a second''s worth at most') FROM postrider.redrive_step();
UPDATE postrider.redrive SET stepped_at = stepped_at - interval '1 s';
SELECT is(driven, 2::bigint, 'two more') FROM postrider.redrive_step();
INSERT INTO postrider.dead (outbox_id, endpoint, outbox_at, class, reason, tries) SELECT outbox_id, :e2, outbox_at, class, 'expired', 1
FROM postrider.dead WHERE endpoint = :e1 AND state = 'open' ORDER BY 1 LIMIT 1 ON CONFLICT DO NOTHING;
UPDATE postrider.redrive SET stepped_at = stepped_at - interval '1 s';
SELECT is(driven, 2::bigint, 'the last two') FROM postrider.redrive_step();
UPDATE postrider.redrive SET stepped_at = stepped_at - interval '1 s';
SELECT is((driven, open_orders), (0::bigint, 0), 'finished') FROM postrider.redrive_step();
SELECT is((done, finished_at IS NOT NULL), (6::bigint, true), 'counted') FROM postrider.redrive;

-- alerts
SELECT is((fresh, count), (true, 1::bigint), 'a fresh alert') FROM postrider.alert_raise('kind', 'x', 'warn', 'one');
SELECT is((fresh, count), (false, 2::bigint), 'the same again counts') FROM postrider.alert_raise('kind', 'x', 'page', 'two');
SELECT is((severity, message, count), ('page'::text, 'two'::text, 2::bigint), 'one row') FROM postrider.alerts WHERE kind = 'kind';
SELECT t.refused($$SELECT * FROM postrider.alert_raise('kind', 'x', 'loud', 'm')$$, 'PR003', 'severity', 'an unknown severity');
SELECT is((postrider.alert_resolve('kind', 'x'), postrider.alert_resolve('kind', 'x')), (true, false), 'resolved once');
SELECT is((fresh, count), (true, 1::bigint), 'and fresh again') FROM postrider.alert_raise('kind', 'x', 'warn', 'three');

-- configuration
SELECT postrider.configure('{"CNY": {"large_minor": 5}, "JPY": {"small_minor": 6}}', 'fixed:1s*3');
SELECT postrider.configure('{"CNY": {"large_minor": 7}}', NULL);
SELECT results_eq('SELECT currency, large_minor, small_minor FROM postrider.priority_rule', $$VALUES ('CNY', 7::bigint, NULL::bigint)$$, 'the last word counts');
SELECT is(value, 'fixed:1s*3', 'the default retry list') FROM postrider.setting WHERE key = 'retry.notification';
SELECT t.refused($$SELECT postrider.configure('{"yuan": {}}', NULL)$$, 'PR003', 'currency', 'no currency');
SELECT t.refused($$SELECT postrider.configure('{}', 'sometimes')$$, 'PR003', 'retry', 'no retry list');
SELECT * FROM finish();
