-- gateway-scheduler.upkeep: drives webhooks again that could not be applied or whose order was missing, opens tasks for those older
-- than a minute, ends maintenance. Every few seconds, by any owner.
-- $1 uuid session   $2 int most
-- rows: one, done int (webhooks moved on).
SELECT postrider.payments_upkeep($1::uuid, $2::int) AS done;
