-- scheduler.date_first_tries: first tries that cannot stay in memory get a due time, so that they can be paged in later.
-- $1 uuid session (fence)   $2 bigint[] seq   $3 bigint[] salt
-- rows: seq of each that was dated.
WITH f AS MATERIALIZED (
    SELECT s.id FROM postrider.session AS s WHERE s.id = $1 AND s.ended IS NULL FOR SHARE
), r AS MATERIALIZED (
    SELECT u.seq, u.salt FROM f, unnest($2::bigint[], $3::bigint[]) AS u (seq, salt)
)
UPDATE postrider.job AS j SET due = now()
WHERE j.seq = ANY (ARRAY(SELECT r.seq FROM r)) AND j.try = 0 AND j.due IS NULL      -- no join: see apply_results
  AND CASE WHEN (j.seq, j.salt) IN (SELECT r.seq, r.salt FROM r) THEN true END
RETURNING j.seq;
