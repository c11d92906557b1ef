-- console.token_check: whose token this is.
-- $1 bytea hash
-- rows: none, or operator text, role text, token_id bigint.
SELECT t.operator, t.role, t.token_id FROM postrider.operator_token_check($1::bytea) AS t;
