-- application.payment_report: tells what the application heard itself.
-- $1 bigint payment_id   $2 text state   $3 text JSON object: evidence   $4 text event_id or NULL
-- rows: one, verdict text. Errors: PR003, PR008, PR009.
SELECT postrider.report_payment($1::bigint, $2::text, $3::text::jsonb, $4::text) AS verdict;
