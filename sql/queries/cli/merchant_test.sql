-- cli.merchant_test: sends an endpoint.test notification to the merchant's matching endpoints.
-- $1 text merchant id
-- rows: one, notify_id uuid. Errors: PR001.
SELECT postrider.enqueue_notification($1::text, 'test-' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSMS'),
                                      'endpoint.test', '{"test": true}', priority => 1) AS notify_id;
