-- cli.webhook_raw: its bytes, headers and what was read in it.
-- $1 bigint webhook_id
-- rows: headers text (JSON), body bytea, items text (JSON array).
SELECT w.headers::text AS headers, w.body, w.items::text AS items FROM postrider.webhook_raw($1::bigint) AS w;
