-- outbox-relay.supersede: after a move, for endpoints that want only the newest version of an order (N21).
-- $1 bigint after this seq   $2 bigint up to this seq: the jobs of the move
-- rows: one, how many older ones were cancelled.
SELECT postrider.supersede($1::bigint, $2::bigint) AS cancelled;
