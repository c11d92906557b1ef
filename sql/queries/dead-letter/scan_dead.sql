-- dead-letter.scan_dead: makes the alerts say what the table of dead letters says.
-- $1 bigint: more open letters than this is a page. rows: one, bigint: open letters.
SELECT postrider.dead_scan($1::bigint);
