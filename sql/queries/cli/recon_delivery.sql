-- cli.recon_delivery: how long after a payment a merchant's goods are out. $1 text who   $2 text merchant   $3 bigint ms (NULL: it reports none)
-- $4 text reason or NULL. rows: one, empty. Errors: PR001, PR003.
SELECT postrider.fulfilment_set($1::text, $2::text, $3::bigint * interval '1 ms', $4::text);
