-- cli.recon_close: gives up a file that is held. $1 text who   $2 bigint file   $3 text reason. rows: one, empty. Errors: PR003, PR006, PR009.
SELECT postrider.recon_file_close($1::text, $2::bigint, $3::text);
