-- SPDX-License-Identifier: Apache-2.0
-- N21: a newer version of an order cancels older ones that still wait, for endpoints that want it and for no others.
\ir relay.psql
SELECT no_plan();
SELECT t.merchant('every') AS every \gset
SELECT t.merchant('newest', settings => '{"supersede": true}') AS newest \gset
SELECT is(supersede, true, 'the view shows it') FROM postrider.endpoints WHERE merchant_id = 'newest';

SELECT postrider.enqueue_notification(m, o, 'a.b', '{}', version => v)
FROM unnest(ARRAY['every', 'newest']) AS m, unnest(ARRAY['o1', 'o2']) AS o, generate_series(1, 2) AS v;
EXECUTE move(1, :sysid, 500) \gset
SELECT is(:jobs, 8, 'all of them become jobs');
SELECT is(postrider.supersede(:last_seq - :jobs, :last_seq), 2, 'of one batch, too, only the newest of an order stays');
SELECT set_eq($$SELECT merchant_id, order_no, version FROM postrider.notification_status WHERE status = 'pending'$$,
    $$VALUES ('every', 'o1', 1::bigint), ('every', 'o1', 2), ('every', 'o2', 1), ('every', 'o2', 2), ('newest', 'o1', 2), ('newest', 'o2', 2)$$,
    'for the endpoint that wants it, and for no other');
SELECT set_eq($$SELECT reason FROM postrider.cancelled$$, ARRAY['superseded'], 'they are on record');
SELECT is(postrider.supersede(:last_seq - :jobs, :last_seq), 0, 'a second time changes nothing');

SELECT postrider.enqueue_notification('newest', 'o1', 'a.b', '{}', version => 1);
EXECUTE move(1, :sysid, 500) \gset
SELECT is(postrider.supersede(:last_seq - :jobs, :last_seq), 0, 'an older version cancels nothing newer');
SELECT t.finish(seq, true, 1) FROM postrider.job AS j JOIN postrider.outbox AS o ON o.id = j.outbox_id WHERE o.merchant_id = 'newest' AND o.version = 2;
SELECT postrider.enqueue_notification('newest', 'o2', 'a.b', '{}', version => 3);
EXECUTE move(1, :sysid, 500) \gset
SELECT is(postrider.supersede(:last_seq - :jobs, :last_seq), 0, 'what was delivered stays delivered');
SELECT is(status, 'delivered', 'and says so') FROM postrider.notification_status WHERE merchant_id = 'newest' AND order_no = 'o2' AND version = 2;
SELECT t.refused($$SELECT postrider.merchant_add('t', 'm9', NULL, NULL, 'http://127.0.0.1/', '\x01', '{"supersede": null}')$$, 'PR003', 'supersede', 'it is a boolean');
SELECT * FROM finish();
