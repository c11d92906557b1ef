-- console.exceptions_resolve: ends exceptions, each by itself; dry_run: takes each back.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT postrider.exceptions_resolve($1::text, $2::text::jsonb)::text AS body;
