-- console.session_check: whose session this is.
-- $1 bytea hash
-- rows: none, or operator text, role text, expires_at timestamptz.
SELECT s.operator, s.role, s.expires_at FROM postrider.operator_session_check($1::bytea) AS s;
