-- SPDX-License-Identifier: Apache-2.0
-- Sessions and shards as one connection sees them; sessions.py has the takeover.
SELECT no_plan();
SELECT id AS s1, lock_key AS k1 FROM postrider.open_session('ipc:///a') \gset
SELECT results_eq(format($$SELECT alive, target, owned FROM postrider.heartbeat(%L, 1, '{5,72057594037927941,144115188075855877}')$$, :'s1'),
    'VALUES (true, 256, 0)', 'alone: all shards are the target');
SELECT is(count(*), 256::bigint, 'and can be taken') FROM postrider.acquire_shards(:'s1');
SELECT is(count(*), 0::bigint, 'once') FROM postrider.acquire_shards(:'s1');
-- a second session on the same connection stands for another scheduler
SELECT id AS s2 FROM postrider.open_session('ipc:///b') \gset
SELECT is(owned - target, 128, 'two: the first holds 128 too many') FROM postrider.heartbeat(:'s1', 2, '{5,72057594037927941,144115188075855877}');
SELECT is(count(*), 0::bigint, 'the second gets none before they are given up') FROM postrider.acquire_shards(:'s2');
SELECT is(postrider.release_shards(:'s2', '{0,1,2}', '{1,2,3}'), 0, 'nobody gives up what is another''s');
SELECT is(postrider.release_shards(:'s1', (SELECT array_agg(n::smallint) FROM generate_series(0, 127) AS n), '{7,72057594037927943,144115188075855879}'), 128, 'the first gives 128 up');
SELECT is((count(*), min(low)), (128::bigint, '{7,72057594037927943,144115188075855879}'::bigint[]), 'the second takes them, from the former owner''s low')
FROM postrider.acquire_shards(:'s2');
SELECT results_eq(format('SELECT id, beat, address, connected FROM postrider.observe_heartbeats(%L)', :'s1'), format($$VALUES (%L::uuid, 0::bigint, 'ipc:///b', true)$$, :'s2'),
    'one sees the other');
SELECT is(count(*), 0::bigint, 'who is connected is not dead') FROM postrider.end_dead_sessions(:'s1');

-- low across an end: before the adopted shards can be in the owner's low, theirs counts
SELECT alive FROM postrider.heartbeat(:'s2', 1, '{50,72057594037928000,144115188075856000}') \gset
SELECT ok(postrider.end_session(:'s2'), 'ended by itself');
SELECT ok(NOT postrider.end_session(:'s2'), 'once');
SELECT is((count(*), min(low)), (128::bigint, '{7,72057594037927943,144115188075855879}'::bigint[]), 'one beat after the adoption the older low stays')
FROM postrider.shard WHERE session IS NULL;
SELECT is(alive, false, 'an ended session is told so') FROM postrider.heartbeat(:'s2', 3, '{0,0,0}');
SELECT t.refused(format('SELECT * FROM postrider.acquire_shards(%L)', :'s2'), 'PR009', 'ended', 'and takes nothing');
SELECT is(count(*), 128::bigint, 'the first takes them back') FROM postrider.acquire_shards(:'s1');
SELECT alive FROM postrider.heartbeat(:'s1', 5, '{90,72057594037928999,144115188075856999}') \gset
SELECT ok(postrider.end_session(:'s1'), 'the first ends');
SELECT is((count(*), min(low)), (256::bigint, '{90,72057594037928999,144115188075856999}'::bigint[]), 'beats later the owner''s own low counts') FROM postrider.shard;

-- low never goes back: what lies before it has a due time or is gone, for ever
SELECT id AS s3 FROM postrider.open_session('ipc:///c') \gset
SELECT is(count(*), 256::bigint, 'a third takes them') FROM postrider.acquire_shards(:'s3');
SELECT is(low, '{90,72057594037928999,144115188075856999}', 'what it has taken says where from') FROM postrider.shard WHERE session = :'s3' LIMIT 1;
SELECT is(postrider.release_shards(:'s3', '{0,1,2}', '{0,72057594037927936,144115188075857000}'), 3, 'it gives some up, knowing of one class only');
SELECT is(low, '{90,72057594037928999,144115188075857000}', 'the other two stay') FROM postrider.shard WHERE no = 1;
SELECT alive FROM postrider.heartbeat(:'s3', 2, '{0,72057594037927936,144115188075855872}') \gset
SELECT ok(postrider.end_session(:'s3'), 'and ends, having said nothing of the others');
SELECT is(low, '{90,72057594037928999,144115188075856999}', 'whose low stays') FROM postrider.shard WHERE no = 200;
SELECT is(count(*), 0::bigint, 'no advisory lock is left') FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
SELECT is(alive OR locked, false, 'an ended session is not resumed') FROM postrider.resume_session(:'s1');
SELECT is(locked AND alive, true, 'a living one is') FROM postrider.open_session('x') AS o CROSS JOIN LATERAL postrider.resume_session(o.id);
SELECT * FROM finish();
