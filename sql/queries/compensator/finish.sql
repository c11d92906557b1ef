-- compensator.finish: what a run came to.
-- $1 uuid token   $2 text JSON {"outcome": success | retry | wait | person, "code", "message", "retry_ms", "unknown", "reference", "events", "evidence"}
-- rows: one, text: the task's state, or 'stale'. A repeat is stale and changes nothing.
SELECT postrider.tasks_finish($1::uuid, $2::text::jsonb) AS state;
