-- dead-letter.ensure_partitions: the partition in use and the next exist; rotations of secrets whose overlap ended are finished.
-- $1 bigint: retention, ms. rows: one. made bigint, rotated int.
SELECT (SELECT count(*) FROM postrider.ensure_partitions(1, $1::bigint * interval '1 ms')) AS made,
       postrider.finish_rotations() AS rotated;
