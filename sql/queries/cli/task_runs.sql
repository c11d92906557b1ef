-- cli.task_runs: what came of each run of a task, oldest first.
-- $1 text task_no
-- rows: run int; started_at, ended_at timestamptz; ended, code, message, worker text. ended_at is NULL while it runs.
SELECT r.run, r.started_at, r.ended_at, r.ended, r.code, r.message, r.worker FROM postrider.task_runs AS r WHERE r.task_no = $1::text ORDER BY r.run;
