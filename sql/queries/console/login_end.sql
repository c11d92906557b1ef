-- console.login_end: what came of it; opens the session.
-- $1 text name   $2 text address   $3 boolean ok   $4 bytea hash of the session   $5 text user agent   $6 int idle_s   $7 int absolute_s
-- $8 bigint step of the second factor's code, or NULL
-- rows: none, or operator text, role text, expires_at timestamptz.
SELECT l.operator, l.role, l.expires_at
FROM postrider.operator_login_end($1::text, $2::text, $3::boolean, $4::bytea, $5::text, $6::int, $7::int, $8::bigint) AS l;
