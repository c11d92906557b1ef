-- cli.task_show: one task with its moves.
-- $1 text task_no
-- rows: one, task text (JSON: the row of compensation_tasks), moves text (JSON array of {"at", "from", "to", "who", "reason"}); none: no such task.
SELECT to_jsonb(t)::text AS task, postrider.task_moves(t.task_no)::text AS moves FROM postrider.compensation_tasks AS t WHERE t.task_no = $1::text;
