-- gateway-scheduler.turns: of the session's channels those for which others (statements) wait for a turn or hold one, and those that a
-- gateway wants left alone. $1 uuid session
-- rows: channel text, waiting int, held int, paused_ms bigint (0: not paused).
SELECT t.channel, t.waiting, t.held, t.paused_ms FROM postrider.calls_turns($1::uuid) AS t;
