-- scheduler.apply_results: what came of a batch of tries; one statement, one transaction (docs/protocol.md, section 4).
-- The fence: the session's row is read FOR SHARE and joined in, so nothing is written once the session has ended.
-- A token (seq, salt, try) that is no longer the job's matches nothing: stale, or applied before (an unknown COMMIT sent again).
-- Whatever the statistics say, job is read by the batch's seqs and nothing else (docs/performance-postgres.md): it is never joined, so
-- there is no order of a join to choose; CASE keeps the check of the tokens from becoming one; a FULL JOIN is never a nested loop.
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
                   $9::smallint[], $10::text[], $11::int[], $12::bigint[], $13::text[], $14::bytea[], $15::text[]) WITH ORDINALITY
         AS u (seq, salt, try, fin, delay_ms, new_salt, outcome, code, error, ms, started_us, worker, response, reason, i)
    ORDER BY u.seq, u.i
), v AS MATERIALIZED (              -- what the retries write: width_bucket finds a seq's place among these, which are sorted
    SELECT array_agg(r.seq ORDER BY r.seq) AS seq, array_agg(r.new_salt ORDER BY r.seq) AS new_salt,
           array_agg(r.delay_ms ORDER BY r.seq) AS delay_ms
    FROM r WHERE r.fin = 0
), d AS (
    DELETE FROM postrider.job AS j
    WHERE j.seq = ANY (ARRAY(SELECT r.seq FROM r WHERE r.fin > 0))
      AND CASE WHEN (j.seq, j.salt, j.try::int) IN (SELECT r.seq, r.salt, r.try FROM r WHERE r.fin > 0) THEN true END
    RETURNING j.seq, j.outbox_id, j.outbox_at, j.endpoint, j.class, j.tried_before, NULL::timestamptz AS due
), u AS (
    UPDATE postrider.job AS j
    SET try = j.try + CASE WHEN (SELECT v.new_salt FROM v)[width_bucket(j.seq, (SELECT v.seq FROM v))] IS NULL THEN 1 ELSE 0 END,
        salt = coalesce((SELECT v.new_salt FROM v)[width_bucket(j.seq, (SELECT v.seq FROM v))], j.salt),
        due = now() + (SELECT v.delay_ms FROM v)[width_bucket(j.seq, (SELECT v.seq FROM v))] * interval '1 ms'
    WHERE j.seq = ANY ((SELECT v.seq FROM v)::bigint[])
      AND CASE WHEN (j.seq, j.salt, j.try::int) IN (SELECT r.seq, r.salt, r.try FROM r WHERE r.fin = 0) THEN true END
    RETURNING j.seq, j.outbox_id, j.outbox_at, j.endpoint, j.class, j.tried_before, j.due
), l AS MATERIALIZED (              -- outbox_id NULL: was not applied
    SELECT b.*, r.salt, r.try, r.fin, r.outcome, r.code, r.error, r.ms, r.started_us, r.worker, r.response, r.reason
    FROM (SELECT * FROM d UNION ALL SELECT * FROM u) AS b FULL JOIN r USING (seq)
), x AS (
    INSERT INTO postrider.dead AS t (outbox_id, endpoint, outbox_at, class, reason, tries)
    SELECT l.outbox_id, l.endpoint, l.outbox_at, l.class, l.reason,
           l.tried_before + l.try + CASE WHEN l.outcome > 0 THEN 1 ELSE 0 END
    FROM l WHERE l.fin = 2 AND l.outbox_id IS NOT NULL
    ON CONFLICT (outbox_id, endpoint) DO UPDATE
    SET reason = excluded.reason, tries = excluded.tries, at = now(), state = 'open',
        closed_by = NULL, closed_reason = NULL, closed_at = NULL
), a AS (
    INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code, worker, error, next_due, response)
    SELECT l.outbox_id, l.endpoint, postrider.before_ms(l.started_us), l.ms, least(l.tried_before + l.try + 1, 32767),
           l.outcome, l.code, w.no, l.error, l.due, postrider.response_kept(l.outcome, l.response)
    FROM l LEFT JOIN w ON w.name = l.worker WHERE l.outcome > 0 AND l.outbox_id IS NOT NULL
)
SELECT EXISTS (SELECT 1 FROM f) AS alive, l.seq FROM (VALUES (1)) AS v (x) LEFT JOIN l ON l.outbox_id IS NOT NULL;
