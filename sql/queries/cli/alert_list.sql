-- cli.alert_list: alerts, open ones first, newest first.
-- $1 boolean resolved ones too   $2 int most rows
-- rows: alert_id bigint; kind, subject, severity, message text; count bigint; first_at, last_at, resolved_at timestamptz.
SELECT a.alert_id, a.kind, a.subject, a.severity, a.message, a.count, a.first_at, a.last_at, a.resolved_at
FROM postrider.alerts AS a WHERE $1::boolean OR a.resolved_at IS NULL
ORDER BY a.resolved_at IS NOT NULL, a.last_at DESC, a.alert_id DESC LIMIT $2::int;
