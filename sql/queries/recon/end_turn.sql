-- recon.end_turn: the call was made, or will not be. $1 bigint turn_id; what its answer means for the channel, all NULL: nothing: $2 text channel,
-- $3 text action, $4 text reason, $5 int http_status, $6 bigint ms for which the channel is to be left alone. rows: one, void.
SELECT postrider.channel_turn_end($1::bigint, jsonb_strip_nulls(jsonb_build_object('channel', $2::text, 'action', $3::text, 'reason', $4::text,
                                                                                   'http_status', $5::int, 'pause_ms', $6::bigint))) AS ended;
