-- scheduler.expire_held: dated jobs of a held endpoint that are older than max_age die without a try (N13).
-- $1 uuid session (fence)   $2 bigint endpoint   $3 bigint max_age in ms   $4 bigint[] seqs in memory, left alone   $5 int most rows
-- rows: outbox_id, tries, notify_id, order_no of each that died.
WITH f AS MATERIALIZED (
    SELECT s.id FROM postrider.session AS s WHERE s.id = $1 AND s.ended IS NULL FOR SHARE
), r AS MATERIALIZED (
    SELECT j.seq FROM f, generate_series(0, 2) AS c (class)
    CROSS JOIN LATERAL (
        SELECT n.seq FROM postrider.job AS n
        WHERE n.endpoint = $2 AND n.class = c.class AND n.due IS NOT NULL
          AND coalesce(n.reborn, n.outbox_at) <= now() - $3::bigint * interval '1 ms' AND n.seq <> ALL ($4::bigint[])
        ORDER BY n.due, n.seq LIMIT $5::int) AS j
), d AS (
    DELETE FROM postrider.job AS j WHERE j.seq = ANY (ARRAY(SELECT r.seq FROM r))   -- no join: see apply_results
    RETURNING j.outbox_id, j.outbox_at, j.endpoint, j.class, j.tried_before + j.try AS tries
), x AS (
    INSERT INTO postrider.dead AS t (outbox_id, endpoint, outbox_at, class, reason, tries)
    SELECT d.outbox_id, d.endpoint, d.outbox_at, d.class, 'expired', d.tries FROM d
    ON CONFLICT (outbox_id, endpoint) DO UPDATE
    SET reason = excluded.reason, tries = excluded.tries, at = now(), state = 'open',
        closed_by = NULL, closed_reason = NULL, closed_at = NULL
)
SELECT d.outbox_id, d.tries, o.notify_id, o.order_no
FROM d LEFT JOIN LATERAL (
    SELECT b.notify_id, b.order_no FROM postrider.outbox AS b WHERE b.at = d.outbox_at AND b.id = d.outbox_id LIMIT 1) AS o ON true;
