-- console.metrics: the figures of the overview, for programs that watch.
-- rows: one, body text (JSON).
SELECT jsonb_build_object('channels', (SELECT coalesce(jsonb_agg(jsonb_build_object('channel', c.channel, 'state', c.state)), '[]')
                                       FROM postrider.channels AS c))::text AS body;
