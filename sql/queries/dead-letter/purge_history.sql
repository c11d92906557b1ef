-- dead-letter.purge_history: deletes what lives outside partitions and is older than retention.
-- $1 bigint: retention, ms. $2 int: at most so many rows of a kind. rows: one, bigint: the most deleted of one kind.
SELECT postrider.purge_step($1::bigint * interval '1 ms', $2::int);
