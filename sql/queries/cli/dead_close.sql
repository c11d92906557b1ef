-- cli.dead_close: gives dead letters up.
-- $1 text who   $2 text reason (needed)   $3 text filter as in dead_redrive   $4 int most
-- rows: one, letters bigint. Errors: PR003.
SELECT postrider.dead_close($1::text, $2::text, $3::text::jsonb, $4::int) AS letters;
