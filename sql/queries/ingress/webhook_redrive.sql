-- ingress.webhook_redrive: applies a kept webhook again, as it was judged at receipt.
-- $1 bigint webhook id
-- rows: one, state text (NULL: there is none), result text.
SELECT r.state, r.result FROM postrider.webhook_redrive($1::bigint) AS r;
