-- gateway-scheduler.take_shards: takes shards that have channels and no living owner: an advisory lock each, held by this
-- connection. The former owner's session ends in the same transaction.
-- $1 uuid session   $2 int most
-- rows: no smallint, one for each shard taken now. Begin with an EMPTY token bucket there. Errors: PR009 the session has ended.
SELECT s.no FROM postrider.call_shards_take($1::uuid, $2::int) AS s (no);
