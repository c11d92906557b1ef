-- cli.endpoint_enable: its jobs go out again, at a limited rate.
-- $1 text who   $2 bigint endpoint   $3 text reason
-- rows: one, changed boolean (false: it was active). Errors: PR009.
SELECT postrider.endpoint_enable($1::text, $2::bigint, $3::text) AS changed;
