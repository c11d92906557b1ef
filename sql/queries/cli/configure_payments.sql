-- cli.configure_payments: tells SQL what it must know of the configuration for payments (up, demo call it).
-- $1 float8 time_scale (1 in earnest)   $2 text hooks.payment: schema.function of (jsonb), SECURITY DEFINER; '' = none
-- rows: one, empty. Errors: PR003.
SELECT postrider.configure_payments($1::double precision, $2::text);
