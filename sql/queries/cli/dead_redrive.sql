-- cli.dead_redrive: drives dead letters again, at once.
-- $1 text who   $2 text reason   $3 text filter, a JSON object: notify_id, endpoint_id, merchant_id, order_no, event, reason, since,
--    until ({} = all)   $4 int most   $5 boolean dry run: only count
-- rows: one, letters bigint. Errors: PR003.
SELECT postrider.dead_redrive($1::text, $2::text, $3::text::jsonb, $4::int, $5::boolean) AS letters;
