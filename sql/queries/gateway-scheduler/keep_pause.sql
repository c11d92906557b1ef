-- gateway-scheduler.keep_pause: a gateway wants peace (429, Retry-After); whoever owns the channel next must know it.
-- $1 uuid session   $2 text channel   $3 bigint ms from now
-- rows: one, void. Errors: PR009 the session has ended.
SELECT postrider.calls_pause($1::uuid, $2::text, $3::bigint) AS kept;
