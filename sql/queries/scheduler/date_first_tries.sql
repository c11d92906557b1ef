-- scheduler.date_first_tries: first tries that cannot stay in memory get a due time, so that they can be paged in later.
-- $1 uuid session (fence)   $2 bigint[] seq   $3 bigint[] salt
-- rows: seq of each that was dated.
WITH f AS MATERIALIZED (
    SELECT s.id FROM postrider.session AS s WHERE s.id = $1 AND s.ended IS NULL FOR SHARE)
UPDATE postrider.job AS j SET due = now()
FROM f, unnest($2::bigint[], $3::bigint[]) AS r (seq, salt)
WHERE j.seq = r.seq AND j.salt = r.salt AND j.try = 0 AND j.due IS NULL
RETURNING j.seq;
