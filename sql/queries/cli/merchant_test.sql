-- cli.merchant_test: sends an endpoint.test notification to the merchant's matching endpoints.
-- $1 text who   $2 text merchant id
-- rows: one, notify_id uuid. Errors: PR001, PR010.
SELECT postrider.merchant_test($1::text, $2::text) AS notify_id;
