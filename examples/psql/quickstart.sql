-- SPDX-License-Identifier: Apache-2.0
-- Five minutes with psql. With Postrider up and a merchant added:
--
--     ./postrider merchant add m001 --url http://127.0.0.1:8090/m/m001
--     psql "$DATABASE_URL" -v merchant=m001 -f examples/psql/quickstart.sql
--
-- The role needs: GRANT postrider_app TO it. Works in a schema of its own, `quickstart`, and drops it at the end.
\set ON_ERROR_STOP on
\if :{?merchant} \else \set merchant m001 \endif
SELECT 'Q-' || to_char(clock_timestamp(), 'YYYYMMDD-HH24MISS-US') AS order_no \gset
CREATE SCHEMA quickstart;
CREATE TABLE quickstart.payment (order_no text PRIMARY KEY, amount_minor bigint NOT NULL, status text NOT NULL);

\echo '--- 1. A payment and its notification, one transaction'
BEGIN;
INSERT INTO quickstart.payment VALUES (:'order_no', 12345, 'succeeded');
SELECT postrider.enqueue_notification(:'merchant', :'order_no', 'payment.succeeded', '{"note": "hello"}',
                                      amount_minor => 12345, currency => 'CNY') AS notify_id \gset
COMMIT;
\echo 'notify_id' :notify_id

\echo '--- 2. Rolled back: nobody hears of it'
BEGIN;
SELECT postrider.enqueue_notification(:'merchant', :'order_no', 'payment.failed', '{}') AS never \gset
ROLLBACK;
SELECT count(*) AS "rolled back notifications (0)" FROM postrider.notification_status WHERE notify_id = :'never';

\echo '--- 3. The same key twice is one notification'
SELECT postrider.enqueue_notification(:'merchant', :'order_no', 'refund.succeeded', '{"refund_no": "R-1"}',
                                      amount_minor => 500, currency => 'CNY',
                                      idempotency_key => :'order_no' || ':R-1') AS first \gset
SELECT postrider.enqueue_notification(:'merchant', :'order_no', 'refund.succeeded', '{"refund_no": "R-1"}',
                                      amount_minor => 500, currency => 'CNY',
                                      idempotency_key => :'order_no' || ':R-1') AS again \gset
SELECT :'first' = :'again' AS "one id (t)";

\echo '--- 4. An event of your own, unimportant, may be delayed'
SELECT postrider.enqueue_notification(:'merchant', :'order_no', 'points.credited', '{"points": 12}',
                                      priority => 2) IS NOT NULL AS "enqueued (t)";

\echo '--- 5. Second thoughts (a delivery under way may win)'
BEGIN;
SELECT postrider.enqueue_notification(:'merchant', :'order_no', 'coupon.issued', '{}') AS coupon \gset
SELECT postrider.cancel_notification(:'coupon', 'issued by mistake') AS "cancelled (t)";
COMMIT;

\echo '--- 6. A mistake has a code and a hint'
\set ON_ERROR_STOP off
SELECT postrider.enqueue_notification('nobody', :'order_no', 'payment.succeeded', '{}');
\set ON_ERROR_STOP on

\echo '--- 7. Where everything stands, two seconds later'
SELECT pg_sleep(2) IS NULL AS waited \gset
SELECT event, priority, status, attempts, last_http_code, reason
FROM postrider.notification_status
WHERE merchant_id = :'merchant' AND order_no = :'order_no' ORDER BY version;

\echo '--- 8. Everything known of the order'
SELECT at, kind, detail ->> 'event' AS event, detail ->> 'http_code' AS http_code, detail ->> 'error' AS error
FROM postrider.order_timeline
WHERE merchant_id = :'merchant' AND order_no = :'order_no' ORDER BY at;

DROP SCHEMA quickstart CASCADE;
