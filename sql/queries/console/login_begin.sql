-- console.login_begin: counts a try to log in, and gives what to compare with.
-- $1 text name   $2 text address
-- rows: one. allowed boolean, retry_after_s int, password_hash text, role text (NULL: nobody can log in like this), totp bytea (the second factor's
--   sealed key; NULL: none), totp_step bigint (of the last code that was taken).
SELECT l.allowed, l.retry_after_s, l.password_hash, l.role, l.totp, l.totp_step FROM postrider.operator_login_begin($1::text, $2::text) AS l;
