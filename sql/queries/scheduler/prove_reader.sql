-- scheduler.prove_reader: does this connection speak to the server on which our session lives? Asked on the connection that
-- reads new jobs: after a fail-over it may have found another server than the one that writes.
-- $1 bigint key of the session's advisory lock   $2 int backend that holds it, on the other connection
-- rows: one. same boolean.
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid = $2::int
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database())
      AND (l.classid::bigint << 32 | l.objid::bigint) = $1::bigint) AS same;
