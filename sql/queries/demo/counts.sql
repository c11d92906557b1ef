-- demo.counts: how far it is.
-- rows: one: waiting, held (their endpoint is disabled), dead (open), delivered, attempts, committed.
SELECT count(*) FILTER (WHERE s.status = 'pending') AS waiting,
       count(*) FILTER (WHERE s.status = 'pending' AND e.state = 'disabled') AS held,
       count(*) FILTER (WHERE s.status = 'dead') AS dead,
       count(*) FILTER (WHERE s.status = 'delivered') AS delivered,
       coalesce(sum(s.attempts), 0)::bigint AS attempts,
       count(*) AS committed
FROM postrider.notification_status AS s LEFT JOIN postrider.endpoints AS e USING (endpoint_id);
