-- cli.merchant_set: changes a merchant.
-- $1 text who   $2 text merchant id   $3 text JSON object: tier, email   $4 text reason or NULL
-- rows: one, empty. Errors: PR001, PR003.
SELECT postrider.merchant_set($1::text, $2::text, $3::text::jsonb, $4::text);
