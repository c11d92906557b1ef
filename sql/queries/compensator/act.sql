-- compensator.act: what Postrider itself does about a claimed task, and the end of the run, in one transaction.
-- $1 uuid token   $2 bigint ms until the next try, if it comes to that
-- rows: one: state text (the task's, or 'stale': the token is somebody else's), code text.
SELECT a.state, a.code FROM postrider.tasks_act($1::uuid, $2::bigint) AS a;
