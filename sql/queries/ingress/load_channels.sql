-- ingress.load_channels: channels that are new or have changed, to verify webhooks with. Once a second.
-- $1 text[] ids known   $2 bigint[] their versions
-- rows: channel text, version bigint, state text (webhooks are taken in every state), profile text, base_url text, parameters text (JSON
--   array of {"name", "position", "sealed": hex}, by name and position), exponents text (JSON object, currency: exponent), livemode bool.
SELECT c.channel, c.version, c.state, c.profile, c.base_url, c.parameters::text AS parameters, c.exponents::text AS exponents, c.livemode
FROM postrider.ingress_channels($1::text[], $2::bigint[]) AS c;
