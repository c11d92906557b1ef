-- recon.look_turn: $1 bigint turn_id. rows: one. state text: waiting | given | over.
SELECT postrider.channel_turn_state($1::bigint) AS state;
