-- cli.task_resolve: a person decides what a task is about.
-- $1 text who   $2 text task_no   $3 text action (succeeded | failed | cancelled | refunded, of its payment; rerun)   $4 text reason (needed)   $5 text evidence (JSON)
-- rows: one, said text (the verdict, or the new task's number). Errors: PR003, PR006, PR009.
SELECT postrider.task_resolve($1::text, $2::text, $3::text, $4::text, coalesce($5::text, '{}')::jsonb) AS said;
