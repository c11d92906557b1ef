-- gateway-scheduler.owned_shards: what the session holds.
-- $1 uuid session
-- rows: no smallint.
SELECT s.no FROM postrider.call_shards($1::uuid) AS s (no) ORDER BY s.no;
