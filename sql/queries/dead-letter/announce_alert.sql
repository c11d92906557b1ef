-- dead-letter.announce_alert: writes an alert that came as a fact.
-- $1 text kind, $2 text subject, $3 text severity, $4 text message.
-- rows: one. id bigint, fresh boolean (people are to be told), count bigint.
SELECT a.id, a.fresh, a.count FROM postrider.alert_announce($1::text, $2::text, $3::text, $4::text) AS a;
