-- scheduler.cursors: where the relay stands, per class: a new owner reads new jobs from here and adopts what lies before.
-- rows: class, seq (last one handed out; carries the class in its high bits).
SELECT c.class::smallint AS class, coalesce(t.seq, c.class::bigint << 56) AS seq
FROM generate_series(0, 2) AS c (class)
LEFT JOIN LATERAL (SELECT k.seq FROM postrider.tick AS k WHERE k.class = c.class ORDER BY k.n DESC LIMIT 1) AS t ON true;
