-- cli.audit_list: what people did, newest first.
-- $1 text subject (NULL = all)   $2 int most rows
-- rows: id bigint, at timestamptz; actor, action, subject, reason, detail text.
SELECT a.id, a.at, a.actor, a.action, a.subject, a.reason, a.detail::text AS detail
FROM postrider.audit AS a WHERE $1::text IS NULL OR a.subject = $1::text ORDER BY a.id DESC LIMIT $2::int;
