-- cli.recon_runs: the days that are expected, newest first. $1 text channel (NULL = all)   $2 boolean: only those that have not come   $3 int most rows
-- rows: channel, statement_date text; due_at, next_at timestamptz; tries int; last_error text; last_at, done_at timestamptz.
SELECT r.channel, r.statement_date::text, r.due_at, r.next_at, r.tries, r.last_error, r.last_at, r.done_at FROM postrider.recon_runs AS r
WHERE ($1::text IS NULL OR r.channel = $1::text) AND (NOT $2::boolean OR r.done_at IS NULL) ORDER BY r.statement_date DESC, r.channel LIMIT $3::int;
