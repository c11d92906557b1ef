-- dead-letter.drop_history: drops one partition that is older than retention; waits at most 100 ms for its lock (55P03).
-- $1 bigint: retention, ms. rows: one. dropped text (NULL: nothing left to drop), kept bigint.
SELECT r.dropped, r.kept FROM postrider.retention_step($1::bigint * interval '1 ms') AS r;
