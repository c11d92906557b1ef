-- gateway-scheduler.give_turns: their tokens are taken: whoever has waited longest for each of these channels may call.
-- $1 uuid session   $2 text[] channels
-- rows: one, void. Errors: PR009 the session has ended.
SELECT postrider.calls_turns_give($1::uuid, $2::text[]) AS given;
