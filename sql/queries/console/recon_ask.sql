-- console.recon_ask: a statement is fetched and matched now, by the reconciler.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR004, PR010.
SELECT postrider.recon_run_ask($1::text, $2::text::jsonb)::text AS body;
