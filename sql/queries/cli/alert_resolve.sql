-- cli.alert_resolve: closes an open alert.
-- $1 text kind   $2 text subject
-- rows: one, changed boolean (false: none was open).
SELECT postrider.alert_resolve($1::text, $2::text) AS changed;
