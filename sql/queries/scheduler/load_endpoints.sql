-- scheduler.load_endpoints: endpoints changed since the last look (all at first).
-- $1 xid8 as text: xmin of the snapshot of the last look ('0' at first): whatever committed since has tx >= it
-- rows: a row per endpoint; when nothing changed one row with id NULL. horizon = xmin of this look, for the next.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon,
       e.id, e.merchant_id, e.shard, e.url, e.scheme, e.secret, e.secret_next,
       (extract(epoch FROM e.rotate_until - clock_timestamp()) * 1000)::bigint AS rotate_in_ms,
       e.success_rule, e.retry, e.max_age_ms, e.concurrency, e.rate_per_s, e.headers::text AS headers,
       e.tls_ca, e.egress, e.http2,
       -- one that was switched off because it took nothing for days goes on being probed by its breaker: a passed probe
       -- switches it on again (states.md); one switched off by a person or a 410 does not
       (e.state = 'active' OR e.state_reason = 'failing') AS active, e.forced,
       (extract(epoch FROM e.paused_until - clock_timestamp()) * 1000)::bigint AS paused_for_ms
FROM (VALUES (1)) AS v (x) LEFT JOIN postrider.endpoint AS e ON e.tx >= $1::text::xid8;
