-- compensator.open_session: begins this connection's session; a former one of the same connection ends.
-- $1 text address (the compensator's id). rows: one, session uuid.
SELECT postrider.task_session_open($1::text) AS session;
