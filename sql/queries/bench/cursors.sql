-- bench.cursors: the last seq handed out, per class: what is born after this is the measurement's.
-- rows: one, three bigint.
SELECT (SELECT k.seq FROM postrider.tick AS k WHERE k.class = 0 ORDER BY k.n DESC LIMIT 1) AS p0,
       (SELECT k.seq FROM postrider.tick AS k WHERE k.class = 1 ORDER BY k.n DESC LIMIT 1) AS p1,
       (SELECT k.seq FROM postrider.tick AS k WHERE k.class = 2 ORDER BY k.n DESC LIMIT 1) AS p2;
