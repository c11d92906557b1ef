-- bench.last_body: the outbox's last id, 0 when it is empty.
-- rows: one, bigint.
SELECT coalesce((SELECT o.id FROM postrider.outbox AS o ORDER BY o.id DESC LIMIT 1), 0) AS id;
