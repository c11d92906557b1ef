-- gateway-scheduler.end_session: the end of this connection's work: shards are free at once.
-- $1 uuid session
-- rows: one, ended bool (false: it had ended).
SELECT postrider.call_session_end($1::uuid) AS ended;
