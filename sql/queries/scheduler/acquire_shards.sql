-- scheduler.acquire_shards: takes free shards up to this session's share, ceil(256 / living sessions).
-- $1 uuid session
-- rows: no, low (per class where the former owner's unfinished first tries begin; NULL: nobody had it before).
SELECT a.no, a.low FROM postrider.acquire_shards($1::uuid) AS a;
