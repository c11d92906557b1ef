-- scheduler.release_shards: gives up shards whose first tries are all dated and nothing of which is under way.
-- $1 uuid session   $2 smallint[] shards   $3 bigint[] low per class
-- rows: one, how many were given up.
SELECT postrider.release_shards($1::uuid, $2::smallint[], $3::bigint[]) AS given;
