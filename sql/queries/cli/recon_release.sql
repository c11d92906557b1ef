-- cli.recon_release: trusts a file that is held. $1 text who   $2 bigint file   $3 text reason. rows: one, empty. Errors: PR003, PR006, PR009.
SELECT postrider.recon_file_release($1::text, $2::bigint, $3::text);
