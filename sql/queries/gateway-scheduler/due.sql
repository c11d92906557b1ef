-- gateway-scheduler.due: what is due, or will be, at active channels of these shards, per channel and class.
-- $1 uuid session   $2 smallint[] shards   $3 int most per channel and class and priority
-- rows: call_id bigint, channel text, class int (0 money, 1 queries), operation text, due_in_ms bigint (negative: overdue),
--   priority int: 0 = due within the last 5 s or in the future, 1 = overdue for longer (a backlog). Ordered by channel, class,
--   priority, due. Serve 0 before 1, but give 1 at least a quarter while it has something: so a new payment does not wait behind an
--   outage's backlog, and the backlog drains. Fewer than `most` rows of a channel, class and priority: there are no more.
SELECT d.call_id, d.channel, d.class, d.operation, d.due_in_ms, d.priority
FROM postrider.calls_due($1::uuid, $2::smallint[], $3::int) AS d;
