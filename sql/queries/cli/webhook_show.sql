-- cli.webhook_show: one webhook as it came.
-- $1 bigint webhook_id
-- rows: one, journal text (JSON: the row of webhook_journal), headers text (JSON), body bytea, items text (JSON); none: no such webhook.
SELECT to_jsonb(w)::text AS journal, r.headers::text AS headers, r.body, r.items::text AS items
FROM postrider.webhook_journal AS w CROSS JOIN LATERAL postrider.webhook_raw(w.webhook_id) AS r WHERE w.webhook_id = $1::bigint;
