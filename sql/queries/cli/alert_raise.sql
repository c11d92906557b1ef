-- cli.alert_raise: raises an alert by hand (alert test).
-- $1 text kind   $2 text subject   $3 text severity: info | warn | page   $4 text message
-- rows: one. id bigint, fresh boolean, count bigint. Errors: PR003.
SELECT a.id, a.fresh, a.count FROM postrider.alert_raise($1::text, $2::text, $3::text, $4::text) AS a;
