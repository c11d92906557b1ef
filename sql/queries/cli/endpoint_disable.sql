-- cli.endpoint_disable: its jobs are held from now on.
-- $1 text who   $2 bigint endpoint   $3 text reason
-- rows: one, changed boolean (false: it was disabled). Errors: PR009.
SELECT postrider.endpoint_disable($1::text, $2::bigint, $3::text) AS changed;
