-- outbox-relay.peek_windows: which classes have something to move. One look at all three for a quarter of what one empty
-- move_window costs (47 us of the backend against 3 x 200 us): the poll of an idle or a quiet relay.
-- May name a class in vain (a row under way in a window's list), never leaves one out. No cluster check: move_window has it.
-- rows: class smallint, in order; supersede boolean: some endpoint wants only the newest version of an order (N21).
SELECT c.class::smallint AS class, EXISTS (SELECT FROM postrider.endpoint AS e WHERE e.supersede) AS supersede
FROM generate_series(0, 2) AS c (class)
CROSS JOIN LATERAL (SELECT k.hi, k.more FROM postrider.tick AS k WHERE k.class = c.class ORDER BY k.n DESC LIMIT 1) AS t
WHERE t.more
   OR EXISTS (SELECT FROM postrider.outbox AS o WHERE o.class = c.class AND o.tx >= pg_snapshot_xmax(t.hi))
   OR EXISTS (SELECT FROM pg_snapshot_xip(t.hi) AS p (tx)     -- LIMIT: a look into the index for each, never all rows of the class
              CROSS JOIN LATERAL (SELECT FROM postrider.outbox AS o WHERE o.class = c.class AND o.tx = p.tx LIMIT 1) AS l)
ORDER BY c.class;
