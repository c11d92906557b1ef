-- ingress.upkeep: drops answers kept for Idempotency-Keys for more than 30 days.
-- $1 int most rows
-- rows: one, dropped bigint.
SELECT postrider.http_purge($1::int) AS dropped;
