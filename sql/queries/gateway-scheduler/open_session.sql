-- gateway-scheduler.open_session: begins this connection's session; a former one of the same connection ends.
-- $1 text address (the scheduler's own bus endpoint, for when every broker is away)
-- rows: one, session uuid.
SELECT postrider.call_session_open($1::text) AS session;
