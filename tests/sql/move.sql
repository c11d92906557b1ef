-- SPDX-License-Identifier: Apache-2.0
-- move_window in one session: fan-out, notify_url, cancel, redrive, frozen windows in parts. move.py has several sessions.
\ir relay.psql
SELECT no_plan();
SELECT t.merchant('m1') AS e1, t.merchant('m2', settings => '{"events": ["payment.*", "refund.failed"]}') AS e2 \gset
SELECT postrider.endpoint_add('tester', 'm1', 'second', 'http://127.0.0.1:2/', '\x02', '{"events": ["payment.succeeded"]}') AS e1b \gset
INSERT INTO postrider.merchant (id, shard) VALUES ('bare', 0);

EXECUTE check_cluster \gset
SELECT is(:'ok'::text, 't', 'a new database''s cursor is good');

EXECUTE peek;
SELECT is(:ROW_COUNT, 0, 'nothing to see');
EXECUTE move(1, :sysid, 500) \gset
SELECT is((:moved, :jobs, :last_seq::bigint, :'more'::text, :'ok'::text), (0, 0, 1::bigint << 56, 'f'::text, 't'::text), 'nothing to move');
SELECT is(count(*), 3::bigint, 'an empty poll makes no tick') FROM postrider.tick;

-- one job per matching endpoint
SELECT postrider.enqueue_notification('m1', 'o1', 'payment.succeeded', '{}') AS n1 \gset
SELECT postrider.enqueue_notification('m1', 'o2', 'payment.failed', '{}') AS n2 \gset
SELECT postrider.enqueue_notification('m2', 'o3', 'payment.late_success', '{}') AS n3 \gset
SELECT postrider.enqueue_notification('m2', 'o4', 'refund.failed', '{}') AS n4 \gset
SELECT postrider.enqueue_notification('m2', 'o5', 'refund.failed.late', '{}') AS n5 \gset
SELECT postrider.enqueue_notification('m2', 'o6', 'payments.x', '{}') AS n6 \gset
SELECT postrider.enqueue_notification('bare', 'o7', 'payment.succeeded', '{}') AS n7 \gset
EXECUTE peek \gset
SELECT is(:class, 1, 'a look finds the class');
EXECUTE move(1, :sysid, 500) \gset
SELECT is((:moved, :jobs, :last_seq::bigint - (1::bigint << 56), :'more'::text), (7, 5, 5::bigint, 'f'::text), 'seven rows, five jobs, seq of the last job');
SELECT set_eq('SELECT o.order_no, j.endpoint FROM postrider.job AS j JOIN postrider.outbox AS o ON o.id = j.outbox_id',
    format('VALUES (''o1'', %1$s::bigint), (''o1'', %2$s), (''o2'', %1$s), (''o3'', %3$s), (''o4'', %3$s)', :e1, :e1b, :e2),
    'a job for each endpoint whose patterns match');
SELECT set_eq('SELECT o.order_no, c.endpoint, c.reason FROM postrider.cancelled AS c JOIN postrider.outbox AS o ON o.id = c.outbox_id',
    $$VALUES ('o5', 0::bigint, 'no endpoint'), ('o6', 0, 'no endpoint'), ('o7', 0, 'no endpoint')$$, 'no match is an end, visible');
SELECT is(array_agg(seq - (1::bigint << 56) ORDER BY seq), ARRAY[1, 2, 3, 4, 5]::bigint[], 'seq is dense from 1') FROM postrider.job;
SELECT is(count(DISTINCT salt), 4::bigint, 'the salt comes from the notify_id') FROM postrider.job;
SELECT is((SELECT array_agg(try::int) FROM postrider.job), ARRAY[0, 0, 0, 0, 0], 'no try yet');
EXECUTE move(1, :sysid, 500) \gset
SELECT is((:moved, :jobs), (0, 0), 'nothing is moved twice');
EXECUTE move(0, :sysid, 500) \gset
SELECT is((:moved, :last_seq::bigint), (0, 0::bigint), 'the other classes have cursors of their own');

-- parts of a window
SELECT count(postrider.enqueue_notification('m1', 'p' || n, 'a.b', '{}', priority => 0)) FROM generate_series(1, 25) AS n;
EXECUTE move(0, :sysid, 10) \gset
SELECT is((:moved, :last_seq::bigint, :'more'::text), (10, 10::bigint, 't'::text), 'part one of a window');
EXECUTE peek \gset
SELECT is(:class, 0, 'a look finds the rest of a window');
SELECT postrider.enqueue_notification('m1', 'late', 'a.b', '{}', priority => 0) AS n8 \gset
EXECUTE move(0, :sysid, 10) \gset
SELECT is((:moved, :last_seq::bigint, :'more'::text), (10, 20::bigint, 't'::text), 'part two');
EXECUTE move(0, :sysid, 10) \gset
SELECT is((:moved, :last_seq::bigint, :'more'::text), (5, 25::bigint, 'f'::text), 'part three ends it: what came later is not in it');
EXECUTE move(0, :sysid, 10) \gset
SELECT is((:moved, :last_seq::bigint), (1, 26::bigint), 'the next window has that');
SELECT count(postrider.enqueue_notification('m1', 'q' || n, 'a.b', '{}', priority => 0)) FROM generate_series(1, 10) AS n;
EXECUTE move(0, :sysid, 10) \gset
EXECUTE move(0, :sysid, 10) \gset
SELECT is((:moved, :'more'::text), (0, 'f'::text), 'a window that ends exactly with a part is closed by an empty move');
SELECT is(count(*), (SELECT count(DISTINCT outbox_id) FROM postrider.job WHERE seq < 1::bigint << 56), 'each row once')
FROM postrider.outbox WHERE class = 0;

-- notify_url
SELECT postrider.enqueue_notification('m1', 'u1', 'a.b', '{}', notify_url => 'https://Shop.example/x?1', priority => 2) AS u1 \gset
SELECT postrider.enqueue_notification('m1', 'u2', 'a.b', '{}', notify_url => 'https://shop.example:443/y', priority => 2) AS u2 \gset
SELECT postrider.enqueue_notification('bare', 'u3', 'a.b', '{}', notify_url => 'https://shop.example/', priority => 2) AS u3 \gset
EXECUTE move(2, :sysid, 500) \gset
SELECT is((:moved, :jobs), (3, 2), 'notify_url: one job each; a merchant without any endpoint has no secret to sign with');
SELECT is((SELECT count(DISTINCT endpoint) FROM postrider.job WHERE seq > 2::bigint << 56), 1::bigint, 'one origin is one endpoint');
SELECT results_eq($$SELECT merchant_id, name, url, secret, events, shard FROM postrider.endpoint WHERE id < 0$$,
    $$SELECT 'm1'::text, 'https://shop.example:443'::text, 'https://shop.example:443'::text, '\x01'::bytea, '{}'::text[],
             (SELECT shard FROM postrider.merchant WHERE id = 'm1')$$, 'made by the move, with the default endpoint''s secret and shard');
SELECT postrider.enqueue_notification('m1', 'u4', 'a.b', '{}', priority => 2) AS u4 \gset
EXECUTE move(2, :sysid, 500) \gset
SELECT is((SELECT endpoint FROM postrider.job ORDER BY seq DESC LIMIT 1), :e1::bigint, 'it takes no part in the choice of others');
SELECT postrider.endpoint_rotate_secret('tester', :e1, '\x09', '1 day');
SELECT is((SELECT (secret, secret_next) FROM postrider.endpoint WHERE id < 0), ('\x01'::bytea, '\x09'::bytea), 'a rotation of the default endpoint reaches it');

-- cancel: of a row that waits for the relay, of jobs, of what is over
SELECT postrider.enqueue_notification('m1', 'c1', 'payment.succeeded', '{}') AS c1 \gset
SELECT ok(postrider.cancel_notification(:'c1', 'not needed'), 'before the move: recorded');
SELECT is((status, phase, reason), ('cancelled'::text, NULL::text, 'not needed'::text), 'and visible at once') FROM postrider.notification_status WHERE notify_id = :'c1';
EXECUTE move(1, :sysid, 500) \gset
SELECT is(:jobs, 0, 'no job comes of it');
SELECT is((status, reason, endpoint_id), ('cancelled'::text, 'not needed'::text, 0::bigint), 'it is cancelled') FROM postrider.notification_status WHERE notify_id = :'c1';
SELECT ok(NOT postrider.cancel_notification(:'c1', 'again'), 'nothing is left to cancel');
SELECT pg_snapshot_xmin(pg_current_snapshot()) AS look \gset
SELECT ok(postrider.cancel_notification(:'n1', 'x'), 'jobs: recorded');
SELECT is(count(*), 2::bigint, 'their owner sees it at its next look') FROM postrider.cancelled WHERE tx >= :'look' AND endpoint <> 0;
SELECT is(count(*), 2::bigint, 'both deliveries') FROM postrider.notification_status WHERE notify_id = :'n1' AND status = 'cancelled';
SELECT t.finish(seq, true) FROM postrider.job AS j JOIN postrider.outbox AS o ON o.id = j.outbox_id WHERE o.order_no = 'o2';
SELECT ok(NOT postrider.cancel_notification(:'n2', 'x'), 'what is delivered stays so');
SELECT ok(NOT postrider.cancel_notification(gen_random_uuid(), 'x'), 'an unknown id');

-- kind 2 takes back what was moved without seeing the wish (the relay's snapshot was older)
SELECT postrider.enqueue_notification('m1', 'k2', 'a.b', '{}') AS k2 \gset
EXECUTE move(1, :sysid, 500) \gset
INSERT INTO postrider.outbox (class, kind, merchant_id, order_no, event, status, version, notify_id, body, cancel_reason, ref_at, ref_id)
SELECT class, 2, merchant_id, order_no, event, status, version, notify_id, '', 'raced', at, id FROM postrider.outbox WHERE notify_id = :'k2';
EXECUTE move(1, :sysid, 500) \gset
SELECT is((:moved, :jobs), (1, 0), 'kind 2 is a row and no job');
SELECT is((status, reason), ('cancelled'::text, 'raced'::text), 'the job is gone, its end is written') FROM postrider.notification_status WHERE notify_id = :'k2';

-- redrive
SELECT (j.salt, j.seq) AS old_token, j.seq AS old_seq FROM postrider.job AS j JOIN postrider.outbox AS o ON o.id = j.outbox_id WHERE o.order_no = 'o3' \gset
SELECT t.finish(:old_seq, false, 9);
SELECT is((status, phase, attempts, last_http_code, last_response), ('dead'::text, NULL::text, 9, 500, '\377\000'::text), 'dead, with its history')
FROM postrider.notification_status WHERE notify_id = :'n3';
SELECT is(postrider.dead_redrive('ops', 'fixed', format('{"notify_id": "%s"}', :'n3')::jsonb, dry_run => true), 1::bigint, 'a dry run counts');
SELECT is(state, 'open', 'and changes nothing') FROM postrider.dead_letters WHERE notify_id = :'n3';
SELECT is(postrider.dead_redrive('ops', 'fixed', format('{"notify_id": "%s"}', :'n3')::jsonb), 1::bigint, 'driven again');
SELECT is(postrider.dead_redrive('ops', 'fixed', format('{"notify_id": "%s"}', :'n3')::jsonb), 0::bigint, 'once only');
SELECT is((status, phase), ('pending'::text, 'new'::text), 'pending again before the move') FROM postrider.notification_status WHERE notify_id = :'n3';
EXECUTE move(1, :sysid, 500) \gset
SELECT is((:moved, :jobs), (1, 1), 'one job');
SELECT is((j.try::int, j.tried_before, j.reborn > now() - interval '1 minute'), (0, 9, true), 'a fresh retry list, attempt numbers go on, max_age anew')
FROM postrider.job AS j WHERE class = 1 ORDER BY seq DESC LIMIT 1;
SELECT isnt((j.salt, j.seq)::text, :'old_token', 'a new token') FROM postrider.job AS j WHERE class = 1 ORDER BY seq DESC LIMIT 1;
SELECT is(count(*), 1::bigint, 'still one row of status') FROM postrider.notification_status WHERE notify_id = :'n3';
SELECT t.finish((SELECT max(seq) FROM postrider.job WHERE seq < 2::bigint << 56), false, 2);
SELECT is((state, attempts, closed_by), ('open'::text, 11, NULL::text), 'dead a second time: open, counted on') FROM postrider.dead_letters WHERE notify_id = :'n3';
SELECT postrider.dead_redrive('ops', 'again', '{"order_no": "o3"}');
SELECT ok(postrider.cancel_notification(:'n3', 'enough'), 'a redrive that waits for the relay can be cancelled');
EXECUTE move(1, :sysid, 500) \gset
SELECT is(:jobs, 0, 'no job');
SELECT is((status, reason), ('cancelled'::text, 'enough'::text), 'cancelled') FROM postrider.notification_status WHERE notify_id = :'n3';

-- the guard
SELECT postrider.enqueue_notification('m1', 'g1', 'a.b', '{}') AS g1 \gset
EXECUTE move(1, :sysid + 1, 500) \gset
SELECT is((:moved, :'ok'::text), (0, 'f'::text), 'another cluster''s relay moves nothing');
INSERT INTO postrider.tick (class, n, lo, hi, more, dt, di, seq, sysid)
SELECT class, n + 1, hi, '99999999:99999999:', false, '0', 0, seq, sysid FROM postrider.tick WHERE class = 1 ORDER BY n DESC LIMIT 1;
EXECUTE move(1, :sysid, 500) \gset
SELECT is((:moved, :'ok'::text), (0, 'f'::text), 'a cursor ahead of the database stops the moves');
EXECUTE check_cluster \gset
SELECT is(:'ok'::text, 'f'::text, 'and the check says so');
SELECT matches(:'reason'::text, 'ahead.*rebase', 'with what to do');
UPDATE postrider.tick SET sysid = 1 WHERE class = 0;
DELETE FROM postrider.tick WHERE class = 1 AND hi::text = '99999999:99999999:';
EXECUTE check_cluster \gset
SELECT matches(:'reason'::text, 'another cluster.*rebase', 'so is one of another cluster');
SELECT * FROM finish();
