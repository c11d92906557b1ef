-- compensator.sweep: tasks of lost workers go back; overdue webhooks become tasks.
-- $1 uuid session   $2 bigint ms that a task may be held   $3 int at most so many of each
-- rows: one: lost bigint, webhooks bigint.
SELECT s.lost, s.webhooks FROM postrider.tasks_sweep($1::uuid, $2::bigint, $3::int) AS s;
