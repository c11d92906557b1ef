-- gateway-scheduler.beat: is the session still the one, and how many shards is it to hold?
-- $1 uuid session
-- rows: one, alive bool (false: stop, open a new one), target int (shards in use, divided by live sessions, rounded up), owned int.
-- Also ends sessions whose connection is gone. Once a second is plenty.
SELECT b.alive, b.target, b.owned FROM postrider.call_session_beat($1::uuid) AS b;
