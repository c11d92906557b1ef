-- SPDX-License-Identifier: Apache-2.0
-- Partitions and retention: what is needed is kept, what is not goes; docs/protocol.md, section 1.
\ir relay.psql
SELECT no_plan();
SELECT t.merchant('m1') AS e1 \gset

-- partitions
SELECT is(count(*), 4::bigint, 'migrate has made the partition in use and the next, of both') FROM postrider.partition;
SELECT ok(bool_and(lo <= now() AND hi > now()), 'the first is in use') FROM (SELECT DISTINCT ON (parent) lo, hi FROM postrider.partition ORDER BY parent, lo) AS p;
SELECT is((SELECT count(*) FROM postrider.ensure_partitions(1, '30 days')), 0::bigint, 'nothing more to make');
SELECT is((SELECT count(*) FROM postrider.ensure_partitions(2, '30 days')), 2::bigint, 'one more ahead, of both');
SELECT ok(bool_and(lo = former), 'without a gap') FROM (SELECT lo, lag(hi) OVER (PARTITION BY parent ORDER BY lo) AS former FROM postrider.partition) AS p WHERE former IS NOT NULL;
SELECT is(max(hi - lo), interval '6 days', 'a fifth of the retention each') FROM postrider.partition;
SELECT t.refused($$SELECT * FROM postrider.ensure_partitions(0, '30 days')$$, 'PR003', 'ahead', 'none ahead');
SELECT t.refused($$SELECT * FROM postrider.ensure_partitions(1, '1 minute')$$, 'PR003', 'retention', 'no time at all');
SELECT postrider.enqueue_notification('m1', 'where', 'a.b', '{}') AS n \gset
SELECT isnt(tableoid::regclass::text, 'postrider.outbox_default', 'rows go to the partition in use') FROM postrider.outbox WHERE notify_id = :'n';
SELECT is((SELECT count(*) FROM pg_inherits AS i JOIN pg_index AS x ON x.indrelid = i.inhrelid WHERE i.inhparent = 'postrider.outbox'::regclass
           AND NOT x.indisvalid), 0::bigint, 'each with all indexes');

-- a partition of two months ago, filled: delivered, dead, closed, waiting, cancelled, a redrive under way, not handed over
CREATE FUNCTION t.old_partition(parent text, name text, lo timestamptz, hi timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE postrider.%I PARTITION OF postrider.%I FOR VALUES FROM (%L) TO (%L)', name, parent, lo, hi);
    EXECUTE format('ALTER TABLE postrider.%I OWNER TO postrider_owner', name);
    INSERT INTO postrider.partition VALUES (parent, name, lo, hi);
END $$;
SELECT t.old_partition('outbox', 'outbox_old', now() - interval '60 days', now() - interval '50 days'),
       t.old_partition('attempt', 'attempt_old', now() - interval '60 days', now() - interval '50 days');
INSERT INTO postrider.outbox (at, class, merchant_id, order_no, event, status, version, notify_id, body)
SELECT now() - interval '55 days', 1, 'm1', o, 'a.b', 'b', 1, gen_random_uuid(), 'x' FROM unnest(ARRAY['delivered', 'dead', 'closed', 'waiting', 'redriven']) AS o;
EXECUTE move(1, :sysid, 500);
SELECT t.finish(j.seq, o.order_no = 'delivered', 2) FROM postrider.job AS j JOIN postrider.outbox AS o ON o.id = j.outbox_id WHERE o.order_no NOT IN ('waiting', 'where');
UPDATE postrider.attempt SET at = now() - interval '55 days';
SELECT is(postrider.dead_close('ann', 'x', '{"order_no": "closed"}'), 1::bigint, 'one is closed');
SELECT is(postrider.dead_redrive('ann', 'x', '{"order_no": "redriven"}'), 1::bigint, 'one is driven again, and not moved yet');
INSERT INTO postrider.outbox (at, class, merchant_id, order_no, event, status, version, notify_id, body)
VALUES (now() - interval '55 days', 1, 'm1', 'unmoved', 'a.b', 'b', 1, gen_random_uuid(), 'x');

SELECT is((SELECT dropped FROM postrider.retention_step('30 days')), NULL, 'a partition with a row that is not handed over stays');
EXECUTE move(1, :sysid, 500);
SELECT is((dropped, kept), ('outbox_old'::text, 4::bigint), 'then it goes; four rows are kept') FROM postrider.retention_step('30 days');
SELECT set_eq('SELECT order_no FROM postrider.outbox_kept', ARRAY['dead', 'waiting', 'redriven', 'unmoved'], 'those that a job or a dead letter needs');
SELECT is((SELECT count(*) FROM postrider.job AS j WHERE NOT EXISTS (SELECT FROM postrider.notification AS o WHERE o.id = j.outbox_id)), 0::bigint, 'every job finds its row');
SELECT is((SELECT count(*) FROM postrider.dead AS d WHERE state = 'open' AND NOT EXISTS (SELECT FROM postrider.dead_letters AS l WHERE l.dead_at = d.at)), 0::bigint,
    'so does every open dead letter');
SELECT is((attempts, last_http_code), (2, 500), 'with its history') FROM postrider.notification_status WHERE order_no = 'dead';
SELECT is((dropped, kept), ('attempt_old'::text, 4::bigint), 'attempts go after their rows; those of kept rows stay') FROM postrider.retention_step('30 days');
SELECT is((attempts, last_http_code), (2, 500), 'the history of a dead letter outlives its partition') FROM postrider.notification_status WHERE order_no = 'dead';
SELECT is((SELECT dropped FROM postrider.retention_step('30 days')), NULL, 'nothing more');
SELECT is((status, phase), ('pending'::text, 'new'::text), 'a redrive goes on from a kept row') FROM postrider.notification_status WHERE order_no = 'redriven';
SELECT is(postrider.dead_redrive('ann', 'x', '{"order_no": "dead"}'), 1::bigint, 'a kept dead letter can be driven');
EXECUTE move(1, :sysid, 500) \gset
SELECT is(:jobs, 1, 'and becomes a job');

-- purge
UPDATE postrider.tick SET at = now() - interval '3 hours' WHERE class = 2 AND n = 0;    -- ticks are in order of time
INSERT INTO postrider.tick (class, n, lo, hi, more, dt, di, seq, sysid, at)
SELECT 2, n, '1:1:', '1:1:', false, '0', 0, 2::bigint << 56, :sysid, now() - interval '2 hours' FROM generate_series(1, 300) AS n;
INSERT INTO postrider.idempotency VALUES ('m1', 'f', 'old', 'x', gen_random_uuid(), now() - interval '40 days'),
    ('m1', 'f', 'young', 'x', gen_random_uuid(), now() - interval '20 days');
INSERT INTO postrider.outbox_default (id, at, class, merchant_id, order_no, event, status, version, notify_id, body, tx)
VALUES (900001, now() - interval '45 days', 1, 'm1', 'stray', 'a.b', 'b', 1, gen_random_uuid(), 'x', '3');
SELECT is(postrider.purge_step('1 day', 50), 50::bigint, 'at most so many rows');
SELECT is(postrider.purge_step('1 day', 1000) > 0, true, 'then the rest');
SELECT is((count(*), max(n)), (101::bigint, 300::bigint), 'the last hundred ticks stay, and the cursor') FROM postrider.tick WHERE class = 2 AND n > 0;
SELECT results_eq('SELECT key FROM postrider.idempotency', ARRAY['young'], 'keys live 30 days at least');
SELECT is(count(*), 0::bigint, 'strays of the default partition go') FROM postrider.outbox_default;
SELECT is(count(*), 4::bigint, 'kept rows stay while they are needed') FROM postrider.outbox_kept;
SELECT count(t.finish(seq, true)) FROM postrider.job;
UPDATE postrider.dead SET closed_at = now() - interval '2 days';
SELECT postrider.purge_step('1 day', 1000), postrider.purge_step('1 day', 1000);
SELECT is(count(*), 0::bigint, 'and go when nothing needs them') FROM postrider.outbox_kept;
SELECT * FROM finish();
