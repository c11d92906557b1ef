-- cli.task_rerun: closed, and a linked new one that runs.
-- $1 text who   $2 text task_no   $3 text reason
-- rows: one, next text: its task_no. Errors: PR003, PR006, PR009, PR010.
SELECT postrider.task_rerun($1::text, $2::text, $3::text) AS next;
