-- cli.task_close: a person ends a task without more.
-- $1 text who   $2 text task_no   $3 text reason (needed)
-- rows: one, empty. Errors: PR003, PR006 it is not with a person, PR009.
SELECT postrider.task_close($1::text, $2::text, $3::text);
