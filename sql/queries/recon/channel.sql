-- recon.channel: a channel as it is called. $1 text channel. rows: none, or one. version bigint, profile text, base_url text, tls_ca text or NULL,
-- parameters text (JSON array of {"name", "position", "sealed": hex}), exponents text (JSON object, currency: exponent).
SELECT p.version, c.profile, c.base_url, p.tls_ca, p.parameters::text AS parameters, p.exponents::text AS exponents
FROM postrider.channels AS c CROSS JOIN LATERAL postrider.channel_sealed(c.channel) AS p WHERE c.channel = $1::text;
