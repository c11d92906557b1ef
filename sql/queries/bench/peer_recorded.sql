-- bench.peer_recorded: has a peer done everything?
-- rows: one, recorded boolean.
SELECT peer.done() AS recorded;
