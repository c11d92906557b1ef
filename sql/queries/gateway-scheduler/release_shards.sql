-- gateway-scheduler.release_shards: gives shards up; calls under way there keep their tokens, so their results are still taken.
-- $1 uuid session   $2 smallint[] shards
-- rows: one, given int.
SELECT postrider.call_shards_release($1::uuid, $2::smallint[]) AS given;
