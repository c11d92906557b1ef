-- SPDX-License-Identifier: Apache-2.0
-- enqueue_notification: contracts.md, "SQL" and "Notification"; requirements N2, N3, N6, N21.
SELECT no_plan();
SELECT t.merchant('m1') AS e1, t.merchant('vip', 'vip') AS e2, t.merchant('small', 'small') AS e3 \gset
SELECT postrider.configure('{"CNY": {"large_minor": 100000, "small_minor": 1000}}', NULL);

-- the row and its bytes
BEGIN;
SELECT postrider.enqueue_notification('m1', E'o"1\\ü', 'payment.succeeded', '{"b": [1, null], "a": "x"}', 5800, 'JPY',
    occurred_at => '2026-03-01 12:00:00.0456+08') AS n \gset
SELECT is(convert_from(body, 'UTF8'), format('{"notify_id":"%s","event":"payment.succeeded","merchant_id":"m1","order_no":"o\"1\\ü",'
    '"payment_id":null,"amount":5800,"currency":"JPY","status":"succeeded","version":%s,"occurred_at":"2026-03-01T04:00:00.045Z",'
    '"livemode":true,"failure":null,"extra":{},"data":{"a": "x", "b": [1, null]}}', notify_id, id), 'the body, byte for byte')
FROM postrider.outbox WHERE notify_id = :'n';
SELECT ok((convert_from(body, 'UTF8')::jsonb) ->> 'order_no' = E'o"1\\ü', 'the body is JSON') FROM postrider.outbox;
SELECT is((tx, class, kind, version, status), (pg_current_xact_id(), 1::smallint, 0::smallint, id, 'succeeded'::text),
    'transaction id, class, version = id, status = last word of the event') FROM postrider.outbox;
SAVEPOINT s;
SELECT postrider.enqueue_notification('m1', 'o2', 'refund.failed', '{}') AS n \gset
SELECT is(tx, pg_current_xact_id(), 'inside a savepoint too the row has the transaction''s own id')
FROM postrider.outbox WHERE notify_id = :'n';
SELECT is(convert_from(body, 'UTF8')::jsonb ->> 'amount', NULL, 'no amount is null') FROM postrider.outbox WHERE notify_id = :'n';
ROLLBACK TO s;
SELECT is(count(*), 1::bigint, 'what is rolled back was never there') FROM postrider.outbox;
ROLLBACK;

SELECT postrider.enqueue_notification('m1', 'o3', 'a', '{}', status => 'done', version => 7) AS n \gset
SELECT is((status, version), ('done'::text, 7::bigint), 'status and version as given') FROM postrider.outbox WHERE notify_id = :'n';

-- the class (N6)
CREATE TABLE t.case_class (id serial, merchant text, amount bigint, currency text, priority int, class int, why text);
INSERT INTO t.case_class (merchant, amount, currency, priority, class, why) VALUES
    ('m1', NULL, NULL, NULL, 1, 'nothing known: normal'), ('m1', 5000, 'CNY', NULL, 1, 'between the thresholds: normal'),
    ('m1', 100000, 'CNY', NULL, 0, 'large from the threshold on'), ('m1', 99999, 'CNY', NULL, 1, 'below it not'),
    ('m1', 999, 'CNY', NULL, 2, 'small below the threshold'), ('m1', 1000, 'CNY', NULL, 1, 'at it not'),
    ('m1', 1, 'USD', NULL, 1, 'a currency without thresholds: normal'), ('vip', 1, 'CNY', NULL, 0, 'a VIP always goes first'),
    ('small', 5000, 'CNY', NULL, 2, 'a small merchant waits'), ('small', 100000, 'CNY', NULL, 0, 'but not with a large amount'),
    ('vip', NULL, NULL, 2, 2, 'the caller''s word counts most'), ('small', 1, 'CNY', 0, 0, 'the caller''s word counts most, upwards');
CREATE FUNCTION t.classes() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE c record; got smallint; n uuid;
BEGIN
    FOR c IN SELECT * FROM t.case_class ORDER BY id LOOP
        n := postrider.enqueue_notification(c.merchant, 'c', 'a.b', '{}', c.amount, c.currency, c.priority);
        SELECT o.class INTO got FROM postrider.outbox AS o WHERE o.notify_id = n;
        RETURN QUERY SELECT public.is(got::int, c.class, c.why);
    END LOOP;
END $$;
SELECT * FROM t.classes();

-- refusals: programming errors only, each with a hint
CREATE FUNCTION t.enq(args text) RETURNS text LANGUAGE sql AS $$ SELECT 'SELECT postrider.enqueue_notification(' || args || ')' $$;
SELECT t.refused(t.enq($$'nobody', 'o', 'a.b', '{}'$$), 'PR001', 'nobody', 'unknown merchant');
SELECT t.refused(t.enq($$NULL, 'o', 'a.b', '{}'$$), 'PR001', 'not known', 'no merchant');
SELECT t.refused(t.enq($$NULL, 'o', 'a.b', '{}', idempotency_key => 'k'$$), 'PR001', 'not known', 'no merchant, with a key');
SELECT t.refused(t.enq($$'nobody', 'o', 'a.b', '{}', idempotency_key => 'k'$$), 'PR001', 'nobody', 'unknown merchant, with a key');
SELECT is(count(*), 0::bigint, 'and no key stays behind') FROM postrider.idempotency;
SELECT t.refused(t.enq($$'m1', NULL, 'a.b', '{}'$$), 'PR003', 'order_no', 'no order_no');
SELECT t.refused(t.enq($$'m1', '', 'a.b', '{}'$$), 'PR003', 'order_no', 'empty order_no');
SELECT t.refused(t.enq($$'m1', E'a\nb', 'a.b', '{}'$$), 'PR003', 'order_no', 'a newline in order_no');
SELECT t.refused(t.enq($$'m1', repeat('x', 65), 'a.b', '{}'$$), 'PR008', 'order_no', 'order_no of 65 characters');
SELECT is(t.run(NULL, t.enq($$'m1', repeat('ü', 64), 'a.b', '{}'$$)), 'ok', 'order_no of 64 characters, not bytes');
SELECT t.refused(t.enq($$'m1', 'o', NULL, '{}'$$), 'PR003', 'event', 'no event');
SELECT t.refused(t.enq(format($$'m1', 'o', %L, '{}'$$, e)), 'PR003', 'event', 'event ' || e)
FROM unnest(ARRAY['', 'A.b', 'a..b', '.a', 'a.', 'a b', 'a-b', 'ü']) AS e;
SELECT t.refused(t.enq($$'m1', 'o', repeat('x', 65), '{}'$$), 'PR008', 'event', 'event of 65 characters');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', NULL$$), 'PR003', 'payload', 'no payload');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '[1]'$$), 'PR003', 'payload', 'a payload that is no object');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', jsonb_build_object('x', repeat('y', 20480))$$), 'PR008', 'payload', 'a payload over 20 kB');
SELECT is(t.run(NULL, t.enq($$'m1', 'o', 'a.b', jsonb_build_object('x', repeat('y', 20000))$$)), 'ok', 'a payload of 20,000 characters');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', -1, 'CNY'$$), 'PR003', 'amount', 'a negative amount');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', 9007199254740992, 'CNY'$$), 'PR003', 'amount', 'an amount of 2^53');
SELECT is(t.run(NULL, t.enq($$'m1', 'o', 'a.b', '{}', 9007199254740991, 'CNY'$$)), 'ok', 'an amount of 2^53-1');
SELECT is(t.run(NULL, t.enq($$'m1', 'o', 'a.b', '{}', 0, 'CNY'$$)), 'ok', 'an amount of 0');
SELECT t.refused(t.enq(format($$'m1', 'o', 'a.b', '{}', 1, %L$$, c)), 'PR003', 'currency', 'currency ' || c)
FROM unnest(ARRAY['', 'cny', 'CN', 'CNYX', E'CNY\n']) AS c;
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', priority => 3$$), 'PR003', 'priority', 'priority 3');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', priority => -1$$), 'PR003', 'priority', 'priority -1');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', status => ''$$), 'PR003', 'status', 'an empty status');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', version => -1$$), 'PR003', 'version', 'a negative version');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', occurred_at => 'infinity'$$), 'PR003', 'occurred_at', 'a time without end');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', occurred_at => NULL$$), 'PR003', 'occurred_at', 'no time');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', idempotency_key => ''$$), 'PR003', 'idempotency_key', 'an empty key');
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', idempotency_key => repeat('k', 256)$$), 'PR008', 'idempotency_key', 'a key of 256');
SELECT t.refused(t.enq(format($$'m1', 'o', 'a.b', '{}', notify_url => %L$$, u)), 'PR003', 'notify_url', 'notify_url ' || u)
FROM unnest(ARRAY['', 'ftp://a/', 'http://', 'http://u:p@h/', 'http://u@h/', 'http://h:0/', 'http://h:65536/', 'http://h/#f%', 'http://h/a b',
                  E'http://h/\n', 'http://h\@evil/', '//h/', 'h', 'http://[::1', 'http://hü/', 'javascript:alert(1)']) AS u;
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', notify_url => 'http://h/' || repeat('x', 504)$$), 'PR008', 'notify_url', 'notify_url of 513');
SELECT is(t.run(NULL, t.enq($$'m1', 'o', 'a.b', '{}', notify_url => 'http://h/' || repeat('x', 503)$$)), 'ok', 'notify_url of 512');

SELECT is(postrider.url_origin(u), o, 'origin of ' || u) FROM (VALUES
    ('http://Example.com', 'http://example.com:80'), ('HTTPS://example.com/x?y=z', 'https://example.com:443'),
    ('https://example.com:8443?q', 'https://example.com:8443'), ('http://[::1]:80/', 'http://[::1]:80'),
    ('http://127.0.0.1:9/#f', 'http://127.0.0.1:9')) AS v (u, o);
SELECT ok(postrider.notify_endpoint_id('m1', 'http://h:80') < 0, 'the id of a notify_url''s endpoint is negative');
SELECT isnt(postrider.notify_endpoint_id('ab', 'c'), postrider.notify_endpoint_id('a', 'bc'), 'merchant and origin are kept apart');

-- at most 100 origins of a merchant
INSERT INTO postrider.endpoint (id, merchant_id, shard, name, url, secret)
SELECT postrider.notify_endpoint_id('m1', o), 'm1', 0, o, o, '\x01' FROM (SELECT format('http://h%s:80', n) AS o FROM generate_series(1, 100) AS n) AS x;
SELECT t.refused(t.enq($$'m1', 'o', 'a.b', '{}', notify_url => 'http://other/'$$), 'PR003', '100 addresses', 'the 101st address');
SELECT is(t.run(NULL, t.enq($$'m1', 'o', 'a.b', '{}', notify_url => 'http://h100/x'$$)), 'ok', 'one of the 100 goes on working');

-- the state of an endpoint is no reason (N3)
SELECT postrider.endpoint_disable('tester', :e1, '410');
SELECT is(t.run(NULL, t.enq($$'m1', 'o', 'a.b', '{}'$$)), 'ok', 'a disabled endpoint refuses nothing');

-- idempotency in one session; idempotency.py has the races
SELECT postrider.enqueue_notification('vip', 'o9', 'a.b', '{"x": 1}', idempotency_key => 'k1') AS n1 \gset
SELECT is(postrider.enqueue_notification('vip', 'o9', 'a.b', '{"x": 1}', idempotency_key => 'k1'), :'n1'::uuid, 'the same call: the same id');
SELECT is(postrider.enqueue_notification('vip', 'o9', 'a.b', '{ "y":0, "x" : 1 }'::jsonb - 'y', idempotency_key => 'k1'), :'n1'::uuid,
    'the same payload, written differently');
SELECT is(count(*), 1::bigint, 'one row') FROM postrider.outbox WHERE order_no = 'o9';
SELECT isnt(postrider.enqueue_notification('small', 'o9', 'a.b', '{"x": 1}', idempotency_key => 'k1'), :'n1'::uuid, 'another merchant''s key is another key');
SELECT t.refused(t.enq(a || $$, idempotency_key => 'k1'$$), 'PR002', 'k1', 'the key with other arguments: ' || a) FROM unnest(ARRAY[
    $$'vip', 'o10', 'a.b', '{"x": 1}'$$, $$'vip', 'o9', 'a.c', '{"x": 1}'$$, $$'vip', 'o9', 'a.b', '{"x": 2}'$$,
    $$'vip', 'o9', 'a.b', '{"x": 1}', 1$$, $$'vip', 'o9', 'a.b', '{"x": 1}', currency => 'CNY'$$, $$'vip', 'o9', 'a.b', '{"x": 1}', priority => 1$$,
    $$'vip', 'o9', 'a.b', '{"x": 1}', notify_url => 'http://h/'$$, $$'vip', 'o9', 'a.b', '{"x": 1}', status => 'b'$$,
    $$'vip', 'o9', 'a.b', '{"x": 1}', version => 3$$, $$'vip', 'o9', 'a.b', '{"x": 1}', occurred_at => '2026-01-01 00:00Z'$$]) AS a;

-- it works whatever the caller's search_path is, and not through a caller's own objects
CREATE SCHEMA evil;
CREATE FUNCTION evil.sha256(bytea) RETURNS bytea LANGUAGE plpgsql AS 'BEGIN RAISE ''evil''; END';
CREATE TABLE evil.merchant (id text);
SET search_path = evil, pg_catalog, public;
SELECT public.is(t.run(NULL, t.enq($$'m1', 'o', 'a.b', '{}', idempotency_key => 'k5'$$)), 'ok', 'a hostile search_path changes nothing');
RESET search_path;
SELECT * FROM finish();
