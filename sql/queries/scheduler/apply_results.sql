-- scheduler.apply_results: what came of a batch of tries; one statement, one transaction (docs/protocol.md, section 4).
-- The fence: the session's row is read FOR SHARE and joined in, so nothing is written once the session has ended.
-- A token (seq, salt, try) that is no longer the job's matches nothing: stale, or applied before (an unknown COMMIT sent again).
-- $1 uuid session   $2 bigint[] seq   $3 bigint[] salt   $4 int[] try (tries finished before this one)
-- $5 smallint[] end: 0 try again, 1 delivered, 2 dead   $6 bigint[] delay_ms until the next try (end 0)
-- $7 bigint[] new salt: the try is not counted (our own fault), NULL = counted
-- $8 smallint[] outcome (0 = no try was made: no attempt is logged)   $9 smallint[] HTTP code   $10 text[] error class
-- $11 int[] duration ms   $12 bigint[] started at, us since 1970   $13 text[] worker   $14 bytea[] response excerpt
-- $15 text[] reason (end 2)
-- rows: alive (the fence held), seq of each result that was applied (NULL when none).
WITH f AS MATERIALIZED (
    SELECT s.id FROM postrider.session AS s WHERE s.id = $1 AND s.ended IS NULL FOR SHARE
), n AS MATERIALIZED (              -- the few workers of the batch; one that is not known yet gets the next number
    SELECT u.name, w.no
    FROM (SELECT DISTINCT x.name FROM f, unnest($13::text[], $8::smallint[]) AS x (name, outcome) WHERE x.outcome > 0) AS u
    LEFT JOIN postrider.worker AS w ON w.name = u.name
), k AS (
    INSERT INTO postrider.worker (no, name)
    SELECT m.no + row_number() OVER (), n.name
    FROM n CROSS JOIN (SELECT coalesce(max(w.no), 0)::int AS no FROM postrider.worker AS w) AS m
    WHERE n.no IS NULL AND m.no < 32000
    ON CONFLICT DO NOTHING RETURNING name, no
), w AS MATERIALIZED (
    SELECT n.name, n.no FROM n WHERE n.no IS NOT NULL UNION ALL SELECT k.name, k.no FROM k
), r AS MATERIALIZED (
    SELECT DISTINCT ON (u.seq) u.*
    FROM f, unnest($2::bigint[], $3::bigint[], $4::int[], $5::smallint[], $6::bigint[], $7::bigint[], $8::smallint[],
                   $9::smallint[], $10::text[], $11::int[], $12::bigint[], $13::text[], $14::bytea[], $15::text[])
         AS u (seq, salt, try, fin, delay_ms, new_salt, outcome, code, error, ms, started_us, worker, response, reason)
    ORDER BY u.seq
), d AS (
    DELETE FROM postrider.job AS j USING (SELECT * FROM r WHERE r.fin > 0) AS r
    WHERE j.seq = r.seq AND j.salt = r.salt AND j.try = r.try
    RETURNING j.seq, j.outbox_id, j.outbox_at, j.endpoint, j.class, j.tried_before, NULL::timestamptz AS due
), u AS (
    UPDATE postrider.job AS j
    SET try = j.try + CASE WHEN r.new_salt IS NULL THEN 1 ELSE 0 END,
        salt = coalesce(r.new_salt, j.salt),
        due = now() + r.delay_ms * interval '1 ms'
    FROM (SELECT * FROM r WHERE r.fin = 0) AS r
    WHERE j.seq = r.seq AND j.salt = r.salt AND j.try = r.try
    RETURNING j.seq, j.outbox_id, j.outbox_at, j.endpoint, j.class, j.tried_before, j.due
), l AS MATERIALIZED (
    SELECT b.*, r.salt, r.try, r.fin, r.outcome, r.code, r.error, r.ms, r.started_us, r.worker, r.response, r.reason
    FROM (SELECT * FROM d UNION ALL SELECT * FROM u) AS b JOIN r USING (seq)
), x AS (
    INSERT INTO postrider.dead AS t (outbox_id, endpoint, outbox_at, class, reason, tries)
    SELECT l.outbox_id, l.endpoint, l.outbox_at, l.class, l.reason,
           l.tried_before + l.try + CASE WHEN l.outcome > 0 THEN 1 ELSE 0 END
    FROM l WHERE l.fin = 2
    ON CONFLICT (outbox_id, endpoint) DO UPDATE
    SET reason = excluded.reason, tries = excluded.tries, at = now(), state = 'open',
        closed_by = NULL, closed_reason = NULL, closed_at = NULL
), a AS (
    INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code, worker, error, next_due, response)
    SELECT l.outbox_id, l.endpoint, postrider.before_ms(l.started_us), l.ms, least(l.tried_before + l.try + 1, 32767),
           l.outcome, l.code, w.no, l.error, l.due, postrider.response_kept(l.outcome, l.response)
    FROM l LEFT JOIN w ON w.name = l.worker WHERE l.outcome > 0
)
SELECT EXISTS (SELECT 1 FROM f) AS alive, l.seq FROM (VALUES (1)) AS v (x) LEFT JOIN l ON true;
