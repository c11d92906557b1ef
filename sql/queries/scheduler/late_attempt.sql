-- scheduler.late_attempt: a try of a delivery that somebody cancelled while it was under way. The try is on record all the same;
-- and when the merchant accepted it, the delivery is delivered: cancel_notification promises no more than that.
-- $1 uuid session (fence)   $2 bigint outbox_id   $3 bigint endpoint   $4 int try, over all lives
-- $5 smallint outcome   $6 smallint HTTP code   $7 text error class   $8 int duration ms   $9 bigint started at, us since 1970
-- $10 text worker   $11 bytea response excerpt
-- rows: none; affected: one when it was written, none when it was not cancelled (or the session has ended).
WITH c AS MATERIALIZED (
    SELECT x.outbox_id FROM postrider.cancelled AS x
    WHERE x.outbox_id = $2::bigint AND x.endpoint = $3::bigint
      AND EXISTS (SELECT FROM postrider.session AS s WHERE s.id = $1::uuid AND s.ended IS NULL)
), d AS (
    DELETE FROM postrider.cancelled AS x USING c WHERE x.outbox_id = $2::bigint AND x.endpoint = $3::bigint AND $5::smallint = 1
)
INSERT INTO postrider.attempt (outbox_id, endpoint, before_ms, ms, try, outcome, code, worker, error, response)
SELECT $2::bigint, $3::bigint, postrider.before_ms($9::bigint), $8::int, least($4::int, 32767), $5::smallint, $6::smallint,
       (SELECT w.no FROM postrider.worker AS w WHERE w.name = $10::text), $7::text,
       postrider.response_kept($5::smallint, $11::bytea)
FROM c;
