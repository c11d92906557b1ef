-- console.people_purge: requests, sessions and counters that are over.
-- $1 int at most so many of each
-- rows: one, gone bigint.
SELECT postrider.people_purge($1::int) AS gone;
