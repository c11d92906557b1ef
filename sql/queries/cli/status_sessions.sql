-- cli.status_sessions: the schedulers' living sessions.
-- rows: session uuid, address text, started timestamptz, beat bigint, shards int.
SELECT s.id AS session, s.address, s.started, h.beat,
       (SELECT count(*)::int FROM postrider.shard AS x WHERE x.session = s.id) AS shards
FROM postrider.session AS s LEFT JOIN postrider.heartbeat AS h ON h.session = s.id
WHERE s.ended IS NULL ORDER BY s.started;
