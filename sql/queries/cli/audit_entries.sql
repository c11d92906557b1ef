-- cli.audit_entries: the log as a chain, for verify and export.
-- $1 bigint after this entry   $2 int at most so many
-- rows: n bigint, hash bytea, chained_id, id (NULL: the row is gone), at_us bigint; actor, action, subject, reason, detail, login, merchant_id, order_no text.
SELECT e.n, e.hash, e.chained_id, e.id, e.at_us, e.actor, e.action, e.subject, e.reason, e.detail, e.login, e.merchant_id, e.order_no
FROM postrider.audit_entries($1::bigint, $2::int) AS e;
