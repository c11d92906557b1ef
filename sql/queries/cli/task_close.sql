-- cli.task_close: a person ends a task that is with one.
-- $1 text who   $2 text task_no   $3 text reason
-- rows: one, empty. Errors: PR003, PR006, PR009.
SELECT postrider.task_close($1::text, $2::text, $3::text);
