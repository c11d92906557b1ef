-- recon.settings: how a channel's statements are read, and its zone's distance from UTC at noon of that day.
-- $1 text channel, $2 text day YYYY-MM-DD. rows: none (no such channel) or one. profile text, format text (NULL: the profile's),
-- zone_min int, zone text.
SELECT c.profile, s.format, (extract(epoch FROM ($2::text::timestamp + interval '12 h') AT TIME ZONE 'UTC' - ($2::text::timestamp + interval '12 h') AT TIME ZONE s.zone) / 60)::int AS zone_min,
       s.zone
FROM postrider.channels AS c CROSS JOIN LATERAL postrider.recon_settings(c.channel) AS s WHERE c.channel = $1::text;
