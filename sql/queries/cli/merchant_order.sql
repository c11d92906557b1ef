-- cli.merchant_order: an order's payments, refunds and notifications, as the merchant may see them.
-- $1 text merchant id   $2 text order_no
-- rows: one, told text (JSON object).
SELECT postrider.merchant_order($1::text, $2::text)::text AS told;
