-- cli.recon_close_row: ends a quarantined row. $1 text who   $2 bigint row   $3 text reason. rows: one. boolean: it was open. Errors: PR003, PR009.
SELECT postrider.recon_row_close($1::text, $2::bigint, $3::text);
