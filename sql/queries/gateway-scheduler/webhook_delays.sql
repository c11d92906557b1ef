-- gateway-scheduler.webhook_delays: how late the channels' webhooks are, of the last 1,000 payments that ended. Once a minute.
-- $1 uuid session
-- rows: channel text, samples int, first_permille int (of the ended payments: known first by a webhook), p95_ms bigint, p99_ms bigint
--   (birth of the payment to its first webhook; NULL when samples is 0).
SELECT d.channel, d.samples, d.first_permille, d.p95_ms, d.p99_ms FROM postrider.calls_webhook_delays($1::uuid) AS d;
