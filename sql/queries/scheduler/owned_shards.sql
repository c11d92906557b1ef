-- scheduler.owned_shards: which shards are this session's (after a reconnect an acquisition's outcome may be unknown).
-- $1 uuid session
-- rows: no, low (as acquire_shards gave it).
SELECT s.no, s.low FROM postrider.shard AS s WHERE s.session = $1;
