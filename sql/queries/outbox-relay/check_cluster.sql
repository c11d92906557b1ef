-- outbox-relay.check_cluster: does the cursor belong to the cluster that answers? (docs/protocol.md, section 1)
-- Run once on each new connection, before the first move. After a dump and restore the transaction ids of the copy are
-- below the cursor and rows would be left behind in silence; `migrate --rebase` makes a new cursor.
-- rows: one. sysid bigint: this cluster's identifier, $2 of move_window. ok boolean. reason text: NULL when ok.
SELECT s.system_identifier AS sysid, (t.classes = 3 AND NOT t.foreign_tick AND NOT t.ahead) AS ok,
       CASE WHEN t.classes <> 3 THEN 'the cursor is missing: a tick of each class is needed'
            WHEN t.foreign_tick THEN 'the cursor was made by another cluster: run migrate --rebase'
            WHEN t.ahead THEN 'the cursor is ahead of this database: run migrate --rebase' END AS reason
FROM pg_control_system() AS s
CROSS JOIN LATERAL (
    SELECT count(*) AS classes,
           coalesce(bool_or(l.sysid <> s.system_identifier), false) AS foreign_tick,
           coalesce(bool_or(pg_snapshot_xmax(l.hi) > pg_snapshot_xmax(pg_current_snapshot())), false) AS ahead
    FROM generate_series(0, 2) AS c (class)
    CROSS JOIN LATERAL (SELECT k.sysid, k.hi FROM postrider.tick AS k WHERE k.class = c.class ORDER BY k.n DESC LIMIT 1) AS l
) AS t;
