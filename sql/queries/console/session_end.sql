-- console.session_end: logs out.
-- $1 bytea hash
-- rows: one, ended boolean.
SELECT postrider.operator_session_end($1::bytea) AS ended;
