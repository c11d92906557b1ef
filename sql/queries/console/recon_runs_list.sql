-- console.recon_runs_list: days that are expected or were asked for, newest first.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR010.
SELECT postrider.recon_runs_list($1::text, $2::text::jsonb)::text AS body;
