-- scheduler.owned_shards: which shards are this session's (after a reconnect an acquisition's outcome may be unknown).
-- $1 uuid session
-- rows: no.
SELECT s.no FROM postrider.shard AS s WHERE s.session = $1;
