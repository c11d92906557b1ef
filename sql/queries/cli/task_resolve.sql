-- cli.task_resolve: a person says how its payment ended, or has it run again.
-- $1 text who   $2 text task_no   $3 text action: succeeded | failed | cancelled | refunded | rerun   $4 text reason   $5 text JSON object: evidence
-- rows: one, said text: the verdict, or the new task's number. Errors: PR003, PR006, PR009.
SELECT postrider.task_resolve($1::text, $2::text, $3::text, $4::text, $5::text::jsonb) AS said;
