-- cli.recon_pool: what waits for its counterpart, oldest first. $1 text channel (NULL = all)   $2 int most rows
-- rows: side, channel text; file_id, n, payment_id, refund_id bigint; since, until timestamptz.
SELECT p.side, p.channel, p.file_id, p.n, p.payment_id, p.refund_id, p.since, p.until FROM postrider.recon_pool AS p
WHERE $1::text IS NULL OR p.channel = $1::text ORDER BY p.open_id LIMIT $2::int;
