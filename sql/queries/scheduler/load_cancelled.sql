-- scheduler.load_cancelled: deliveries that somebody cancelled since the last look.
-- $1 xid8 as text: xmin of the snapshot of the last look
-- rows: horizon (for the next look; outbox_id NULL), and a row per cancelled delivery: outbox_id, endpoint.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, NULL::bigint AS outbox_id, NULL::bigint AS endpoint
UNION ALL
SELECT NULL, c.outbox_id, c.endpoint FROM postrider.cancelled AS c WHERE c.tx >= $1::text::xid8 AND c.endpoint <> 0;
