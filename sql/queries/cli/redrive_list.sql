-- cli.redrive_list: redrives at a rate, newest first.
-- $1 int most rows
-- rows: id bigint; actor, reason, filter text; rate_per_s double; requested_at timestamptz; done bigint; finished_at timestamptz.
SELECT r.id, r.actor, r.reason, r.filter::text AS filter, r.rate_per_s, r.requested_at, r.done, r.finished_at
FROM postrider.redrive AS r ORDER BY r.id DESC LIMIT $1::int;
