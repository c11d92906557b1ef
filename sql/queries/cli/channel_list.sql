-- cli.channel_list: channels and their settings, by id; names of parameters, never a value.
-- $1 text channel (NULL = all)   $2 text state (NULL = all)
-- rows: channel, profile, state text; livemode bool; base_url, account text; rate_per_s double precision; burst, concurrency int; state_reason text;
--   state_at timestamptz; version bigint; private_ca bool; notify_url, match text; failure_final bool; unit, exponents (JSON), not_found text;
--   not_found_grace_ms, settle_ms bigint; polls text; max_polls int; first_poll_ms bigint; charge_retry text; charge_tries int; operations text;
--   number_max int; expires_ms bigint; order_policy, late_money, risk, parameter_names text; created_at, updated_at timestamptz.
SELECT c.channel, c.profile, c.state, c.livemode, c.base_url, c.account, c.rate_per_s, c.burst, c.concurrency, c.state_reason, c.state_at, c.version,
       c.private_ca, c.notify_url, array_to_string(c.match, ','), c.failure_final, c.unit, c.exponents::text, c.not_found, c.not_found_grace_ms, c.settle_ms,
       c.polls, c.max_polls, c.first_poll_ms, c.charge_retry, c.charge_tries, array_to_string(c.operations, ','), c.number_max, c.expires_ms, c.order_policy,
       c.late_money, c.risk, array_to_string(c.parameter_names, ','), c.created_at, c.updated_at
FROM postrider.channels AS c
WHERE ($1::text IS NULL OR c.channel = $1::text) AND ($2::text IS NULL OR c.state = $2::text) ORDER BY c.channel;
