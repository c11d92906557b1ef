-- cli.webhook_redrive: applies a kept webhook again, as it was judged at receipt.
-- $1 text who   $2 bigint webhook_id   $3 text reason
-- rows: one, state text (NULL: there is none), result text.
SELECT r.state, r.result FROM postrider.webhook_redrive_by($1::text, $2::bigint, $3::text) AS r;
