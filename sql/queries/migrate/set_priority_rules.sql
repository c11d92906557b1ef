-- set_priority_rules: makes the thresholds in the database those of the configuration, no more and no less.
-- parameters: $1 currencies text[], $2 large_minor bigint[] (NULL: none), $3 small_minor bigint[] (NULL: none)
-- rows: one: rules now in force, bigint
WITH wanted AS (
    SELECT * FROM pg_catalog.unnest($1::text[], $2::bigint[], $3::bigint[]) AS w(currency, large_minor, small_minor)),
 gone AS (
    DELETE FROM postrider.priority_rule AS p WHERE p.currency <> ALL ($1::text[])),
 put AS (
    INSERT INTO postrider.priority_rule AS p (currency, large_minor, small_minor)
    SELECT w.currency, w.large_minor, w.small_minor FROM wanted AS w
    ON CONFLICT (currency) DO UPDATE SET large_minor = excluded.large_minor, small_minor = excluded.small_minor
    RETURNING 1)
SELECT pg_catalog.count(*) FROM put;
