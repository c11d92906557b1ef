-- cli.notification_cancel: what was not delivered yet shall not be.
-- $1 text notify_id   $2 text reason
-- rows: one, recorded boolean (false: nothing waits any more).
SELECT postrider.cancel_notification($1::text::uuid, $2::text) AS recorded;
