-- recon.ask_turn: asks for a turn of the channel's budget. $1 text who, $2 text channel, $3 bigint ms: how long it is waited for, $4 bigint ms: how
-- long the call may take. rows: one. turn_id bigint. Errors: PR006 nothing of the channel leaves now.
SELECT postrider.channel_turn_ask($1::text, $2::text, $3::bigint * interval '1 ms', $4::bigint * interval '1 ms') AS turn_id;
