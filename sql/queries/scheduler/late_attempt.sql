-- scheduler.late_attempt: a try of a delivery that somebody cancelled while it was under way. The try is on record all the same;
-- and when the merchant accepted it, the delivery is delivered: cancel_notification promises no more than that.
-- $1 uuid session (fence)   $2 bigint outbox_id   $3 bigint endpoint   $4 bigint salt   $5 int try, over all lives
-- $6 smallint outcome   $7 smallint HTTP code   $8 text error class   $9 int duration ms   $10 bigint started at, us since 1970
-- $11 text worker   $12 bytea response excerpt
-- rows: none; affected: one when it was written, none when it was not cancelled (or the session has ended).
WITH c AS MATERIALIZED (
    SELECT x.outbox_id FROM postrider.cancelled AS x
    WHERE x.outbox_id = $2::bigint AND x.endpoint = $3::bigint
      AND EXISTS (SELECT FROM postrider.session AS s WHERE s.id = $1::uuid AND s.ended IS NULL)
), d AS (
    DELETE FROM postrider.cancelled AS x USING c WHERE x.outbox_id = $2::bigint AND x.endpoint = $3::bigint AND $6::smallint = 1
)
INSERT INTO postrider.attempt (outbox_id, endpoint, salt, try, started_at, ms, outcome, code, error, worker, response)
SELECT $2::bigint, $3::bigint, $4::bigint, $5::int, timestamptz 'epoch' + $10::bigint * interval '1 us', $9::int, $6::smallint,
       $7::smallint, $8::text, $11::text, $12::bytea
FROM c;
