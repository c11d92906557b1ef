-- cli.operator_secret: what an operator's password is compared with.
-- $1 text name
-- rows: none, or password text (argon2id; NULL: none).
SELECT s.password FROM postrider.operator_secret($1::text) AS s WHERE NOT s.disabled;
