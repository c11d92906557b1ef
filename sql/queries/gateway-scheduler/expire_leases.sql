-- gateway-scheduler.expire_leases: calls past their lease, and calls of sessions that have ended, wait again at once: a question as it
-- was, a call that moves money as a question first. Their late results are taken through the payment's door.
-- $1 uuid session   $2 int most
-- rows: one, expired int. Call it after taking shards and every few seconds.
SELECT postrider.calls_expire_leases($1::uuid, $2::int) AS expired;
