-- demo.statuses: where each delivery stands, as Postrider says.
-- rows: notify_id uuid, merchant_id text, status text, phase text.
SELECT s.notify_id, s.merchant_id, s.status, s.phase FROM postrider.notification_status AS s;
