-- dead-letter.take_alerts: alerts that were raised inside the database and that nobody announced yet.
-- $1 int: at most so many. rows: id bigint, kind, subject, severity, message text, count bigint.
SELECT a.id, a.kind, a.subject, a.severity, a.message, a.count FROM postrider.alert_take($1::int) AS a;
