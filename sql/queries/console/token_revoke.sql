-- console.token_revoke: revokes a token.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR009, PR010.
SELECT postrider.token_revoke($1::text, $2::text::jsonb)::text AS body;
