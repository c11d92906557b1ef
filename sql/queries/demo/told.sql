-- demo.told: notifications that follow from payments: each event of the feed makes one.
-- rows: notify_id uuid (NULL: an event without its notification), merchant_id text.
SELECT n.notify_id, n.merchant_id
FROM (SELECT e.merchant_id, e.order_no, e.event, row_number() OVER (PARTITION BY e.merchant_id, e.order_no, e.event ORDER BY e.seq) AS no
      FROM postrider.payment_events AS e) AS e
FULL JOIN (SELECT s.notify_id, s.merchant_id, s.order_no, s.event,
                  row_number() OVER (PARTITION BY s.merchant_id, s.order_no, s.event ORDER BY s.version) AS no
           FROM postrider.notification_status AS s WHERE s.order_no IN (SELECT p.order_no FROM postrider.payment_status AS p)) AS n
USING (merchant_id, order_no, event, no);
