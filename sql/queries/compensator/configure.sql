-- compensator.configure: what the configuration says about kinds of tasks.
-- $1 text JSON {"KIND": {"handler": "http" (or left out), "limit": n}}. rows: one, void. Errors: PR003.
SELECT postrider.tasks_configure($1::text::jsonb);
