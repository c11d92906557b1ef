-- cli.channel_list: channels, by id.
-- $1 text channel, or NULL for all
-- rows: channel, profile, base_url, state, state_reason, livemode, settings (JSON: the view's row).
SELECT c.channel, c.profile, c.base_url, c.state, c.state_reason, c.livemode, to_jsonb(c)::text AS settings
FROM postrider.channels AS c WHERE $1::text IS NULL OR c.channel = $1::text ORDER BY c.channel;
