-- gateway-scheduler.load_channels: channels of the session's shards that are new or have changed.
-- $1 uuid session   $2 text[] ids known   $3 bigint[] their versions
-- rows: channel text, version bigint, shard smallint, state text ('active' | 'paused' | 'stopped' | 'maintenance': dispatch only
--   'active'), profile text, base_url text, tls_ca text or NULL, parameters text (JSON array of {"name", "position", "sealed": hex},
--   by name and position), exponents text (JSON object, currency: exponent), rate_per_s float8 (0 = no limit), burst int,
--   concurrency int, polls text (grammar of lib/core/retry.h), max_polls int, charge_retry text (the same grammar),
--   query_supported bool, paused_ms bigint or NULL (what is left of a pause that the gateway asked for).
SELECT c.channel, c.version, c.shard, c.state, c.profile, c.base_url, c.tls_ca, c.parameters::text AS parameters,
       c.exponents::text AS exponents, c.rate_per_s, c.burst, c.concurrency, c.polls, c.max_polls, c.charge_retry, c.query_supported,
       c.paused_ms
FROM postrider.calls_channels($1::uuid, $2::text[], $3::bigint[]) AS c;
