-- scheduler.end_session: a session is over: a dead or silent one of another, or our own at a graceful stop. Its shards are free,
-- its late writes are refused, its backend is terminated when it is not ours.
-- $1 uuid session
-- rows: one, ended (false: it had ended before).
SELECT postrider.end_session($1::uuid) AS ended;
