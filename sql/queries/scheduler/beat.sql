-- scheduler.beat: this session is alive; and what the others' counters say.
-- $1 uuid session   $2 bigint counter   $3 bigint[] per class: lowest seq of an unfinished first try
-- rows: alive, target, owned (of this session) with each other living session: id, beat, address, connected (id NULL: alone).
SELECT h.alive, h.target, h.owned, o.id, o.beat, o.address, o.connected
FROM postrider.heartbeat($1::uuid, $2::bigint, $3::bigint[]) AS h
LEFT JOIN LATERAL postrider.observe_heartbeats($1::uuid) AS o ON true;
