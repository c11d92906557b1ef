-- bench.jobs: tokens of jobs in the order in which they were born.
-- $1 bigint after this seq   $2 int most rows
-- rows: seq bigint, salt bigint.
SELECT j.seq, j.salt FROM postrider.job AS j WHERE j.seq > $1::bigint ORDER BY j.seq LIMIT $2::int;
