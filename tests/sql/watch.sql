-- SPDX-License-Identifier: Apache-2.0
-- What circuit-breaker and dead-letter write down (migration 0007): episodes of failures, switching off, alerts announced once.
\ir relay.psql
SELECT no_plan();
SELECT t.merchant('m1') AS e1, t.merchant('m2') AS e2 \gset

SELECT is((postrider.endpoint_mark_failing(:e1), postrider.endpoint_mark_failing(:e1), postrider.endpoint_mark_failing(999)), (true, false, false),
    'an episode begins once');
SELECT is(merchant_id || forced_open::text, 'm1false', 'it is what a restart finds') FROM (SELECT merchant_id, forced IS NOT NULL AS forced_open FROM postrider.watch_load()) AS w;
SELECT is(postrider.endpoint_switch_off(:e1, 'failing', 100000), NULL, 'not for failing this short');
UPDATE postrider.endpoint_failing SET since = now() - interval '6 days';
SELECT postrider.enqueue_notification('m1', 'o1', 'a.b', '{}');
INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code) SELECT max(id), :e1, 1, 1, 1, 1, 200 FROM postrider.outbox;
SELECT is(postrider.endpoint_switch_off(:e1, 'failing', 5 * 86400000), NULL, 'not when anything was delivered meanwhile, whatever one heard');
SELECT is(count(*), 0::bigint, 'and then it is no episode any more') FROM postrider.endpoint_failing;
DELETE FROM postrider.attempt;
DELETE FROM postrider.outbox;
INSERT INTO postrider.endpoint_failing VALUES (:e1, now() - interval '6 days');
SELECT is(postrider.endpoint_switch_off(:e1, 'failing', 5 * 86400000), 'm1', 'failing for five days: off');
SELECT is(postrider.endpoint_switch_off(:e1, 'failing', 5 * 86400000), NULL, 'once');
SELECT is((state, state_reason), ('disabled'::text, 'failing'::text), 'why') FROM postrider.endpoints WHERE endpoint_id = :e1;
SELECT is(count(*), 1::bigint, 'a person is told') FROM postrider.alerts WHERE kind = 'endpoint_failing' AND subject = :'e1' AND resolved_at IS NULL;
SELECT ok(postrider.endpoint_recovered(:e1), 'a success ends it');
SELECT is(state, 'active', 'the endpoint is on again') FROM postrider.endpoints WHERE endpoint_id = :e1;
SELECT is(count(*), 0::bigint, 'the alert is over') FROM postrider.alerts WHERE subject = :'e1' AND resolved_at IS NULL;
SELECT ok(NOT postrider.endpoint_recovered(:e1), 'once');

SELECT is(postrider.endpoint_switch_off(:e2, '410'), 'm2', '410: off at once');
SELECT is(postrider.endpoint_recovered(:e2), false, 'no success lifts a 410');
SELECT is(state, 'disabled', 'only a person does') FROM postrider.endpoints WHERE endpoint_id = :e2;
SELECT is((SELECT count(*) FROM postrider.audit WHERE action = 'endpoint.disable' AND actor = 'circuit-breaker'), 2::bigint, 'in audit');
SELECT is((postrider.watch_force(:e1, 'open', 'ann', 'x'), postrider.watch_force(999, 'open', 'ann', 'x')), ('m1'::text, NULL::text), 'a force, and one for nobody');

-- an open breaker is on record until the episode ends, or until it says
SELECT is((postrider.endpoint_mark_open(:e1, 30000), postrider.endpoint_mark_open(999, 30000)), (true, false), 'open; nobody''s is not');
SELECT ok(until > now() + interval '119 s' AND until <= clock_timestamp() + interval '2 min', 'for twice open_ms and a minute') FROM postrider.breaker_open WHERE endpoint = :e1;
UPDATE postrider.breaker_open SET until = now() - interval '1 s';
SELECT ok(postrider.endpoint_mark_open(:e1, 1000), 'the next trip');
SELECT is(count(*), 1::bigint, 'refreshes it') FROM postrider.breaker_open WHERE until > now() + interval '1 min';
SELECT postrider.endpoint_recovered(:e1);
SELECT is(count(*), 0::bigint, 'the end of the episode takes it back, marked as failing or not') FROM postrider.breaker_open;
SELECT t.may_not('postrider_' || name, format('SELECT postrider.endpoint_mark_open(%s, 1)', :e1)) FROM unnest(ARRAY['app', 'relay', 'scheduler', 'dead_letter', 'console']) AS name;
SELECT t.may_not('postrider_' || name, 'SELECT * FROM postrider.breaker_open') FROM unnest(ARRAY['app', 'relay', 'scheduler', 'breaker', 'dead_letter', 'console']) AS name;

-- a pause outlives the scheduler that heard of it
SELECT is((postrider.endpoint_pause(:e1, 60000), postrider.endpoint_pause(:e1, 1000), postrider.endpoint_pause(999, 1000)), (true, false, false),
    'a pause is never shortened; nobody''s is none');
SELECT ok(paused_until > now() + interval '59 s' AND paused_until <= clock_timestamp() + interval '1 min', 'as long as asked') FROM postrider.endpoint WHERE id = :e1;
SELECT ok(postrider.endpoint_pause(:e1, 9223372036854775807), 'a mistake');
SELECT ok(paused_until <= clock_timestamp() + interval '7 days', 'has a bound') FROM postrider.endpoint WHERE id = :e1;
UPDATE postrider.endpoint SET paused_until = NULL WHERE id = :e1;
SELECT t.may_not('postrider_' || name, format('SELECT postrider.endpoint_pause(%s, 1)', :e1)) FROM unnest(ARRAY['app', 'relay', 'breaker', 'dead_letter', 'console']) AS name;

-- what waits at an endpoint that holds is no lag (postrider check --strict)
INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt, due) VALUES (1, now(), 1, :e1, 1, 1, now() - interval '2 min');
PREPARE overdue AS SELECT broken FROM postrider.check_invariants('-infinity') WHERE name = 'overdue';
SELECT postrider.watch_force(:e1, NULL, 'ann', 'x');
SELECT results_eq('overdue', ARRAY[1::bigint], 'due for two minutes, and nothing in its way: lag');
SELECT postrider.endpoint_mark_open(:e1, 30000);
SELECT results_eq('overdue', ARRAY[0::bigint], 'its breaker is open');
SELECT postrider.endpoint_recovered(:e1), postrider.endpoint_pause(:e1, 60000);
SELECT results_eq('overdue', ARRAY[0::bigint], 'it asked to be left alone');
UPDATE postrider.endpoint SET paused_until = NULL WHERE id = :e1;
SELECT postrider.watch_force(:e1, 'open', 'ann', 'x');
SELECT results_eq('overdue', ARRAY[0::bigint], 'a person holds it');
DELETE FROM postrider.job WHERE seq = 1;

-- alerts are announced once
SELECT is((SELECT count(*) FROM postrider.alert_take(10)), 2::bigint, 'those raised inside the database');
SELECT is((SELECT count(*) FROM postrider.alert_take(10)), 0::bigint, 'once');
SELECT is(fresh, true, 'a fact: fresh') FROM postrider.alert_announce('k', 's', 'warn', 'm');
SELECT is(fresh, false, 'the same fact: not') FROM postrider.alert_announce('k', 's', 'warn', 'm');
SELECT is((SELECT count(*) FROM postrider.alert_take(10)), 0::bigint, 'nor is it taken');

-- dead letters as alerts
SELECT postrider.endpoint_enable('ann', :e2, 'x'), postrider.watch_force(:e1, NULL, 'ann', 'x');
SELECT count(postrider.enqueue_notification(m, 'o', 'a.b', '{}', priority => 1)) FROM unnest(ARRAY['m1', 'm1', 'm1', 'm2']) AS m;
EXECUTE move(1, :sysid, 500);
SELECT count(t.finish(seq, false)) FROM postrider.job;
SELECT is(postrider.dead_scan(3), 4::bigint, 'four are open');
SELECT set_eq($$SELECT kind, subject, severity, count FROM postrider.alerts WHERE kind LIKE 'dead%' AND resolved_at IS NULL$$,
    $$VALUES ('dead_letter', 'm1', 'warn', 3::bigint), ('dead_letter', 'm2', 'warn', 1), ('dead_letters', 'all', 'page', 4)$$, 'one alert a merchant, one for the pager');
SELECT is(postrider.dead_scan(3), 4::bigint, 'again');
SELECT is(sum(count)::bigint, 8::bigint, 'counts do not grow by looking') FROM postrider.alerts WHERE kind LIKE 'dead%' AND resolved_at IS NULL;
SELECT is(postrider.dead_close('ann', 'x', '{"merchant_id": "m2"}'), 1::bigint, 'one is closed');
SELECT is(postrider.dead_scan(3), 3::bigint, 'three are left');
SELECT results_eq($$SELECT kind, subject FROM postrider.alerts WHERE kind LIKE 'dead%' AND resolved_at IS NULL$$, $$VALUES ('dead_letter', 'm1')$$, 'the others are over');
SELECT * FROM finish();
