-- cli.configure: tells SQL what it must know of the configuration (up, demo, bench call it).
-- $1 text JSON object, by currency: {"CNY": {"large_minor": n, "small_minor": n}}   $2 text default retry list (NULL = as it is)
-- rows: one, empty. Errors: PR003.
SELECT postrider.configure($1::text::jsonb, $2::text);
