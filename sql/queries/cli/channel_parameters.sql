-- cli.channel_parameters: sealed parameters, for a test call by whoever has the master key.
-- $1 text channel
-- rows: one, version bigint, exponents text (JSON), tls_ca text, parameters text (JSON array of {"name", "position", "sealed": hex}); none: no such channel.
SELECT p.version, p.exponents::text AS exponents, p.tls_ca, p.parameters::text AS parameters FROM postrider.channel_sealed($1::text) AS p;
