-- console.recon_release: a statement that is held is trusted.
-- $1 text who   $2 text arguments (JSON object)
-- rows: one, body text (JSON). Errors: PR003, PR006, PR009, PR010.
SELECT postrider.recon_release($1::text, $2::text::jsonb)::text AS body;
