-- scheduler.pause_endpoints: endpoints that asked to be left alone (Retry-After), and for how long. Sent before the batch with
-- the outcome, on the same connection: whoever takes over either finds the pause or gets the outcome again.
-- $1 bigint[] endpoints   $2 bigint[] ms of each
-- rows: one, bigint: how many are paused longer than before.
SELECT count(*) FILTER (WHERE postrider.endpoint_pause(u.id, u.ms))
FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS p (id, ms) ORDER BY p.id) AS u;
