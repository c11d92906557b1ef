-- bench.recorded: is everything that was born since recorded as delivered? Cheap: the first job that lives, if any. The relay
-- must have moved all.
-- $1 $2 $3 bigint bench.cursors as they were before
-- rows: one, recorded boolean.
SELECT NOT EXISTS (
    SELECT FROM unnest(ARRAY[$1::bigint, $2::bigint, $3::bigint]) AS c (lo)
    CROSS JOIN LATERAL (SELECT FROM postrider.job AS j
                        WHERE j.seq > c.lo AND j.seq < (((c.lo >> 56) + 1) << 56) ORDER BY j.seq LIMIT 1) AS j) AS recorded;
