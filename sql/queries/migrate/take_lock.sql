-- take_lock: waits until no other migrate works on this database; held until the connection ends.
-- parameters: none
-- rows: one, empty
-- The key is 'postrider migrate' as a number of our own choice.
SELECT pg_catalog.pg_advisory_lock(5764610201937268);
