-- gateway-scheduler.limit_silence: Postgres ends this connection, and with it the locks on its shards, when nothing is heard of
-- it for so long: a process that was stopped must not own channels for ever.
-- $1 int ms
-- rows: one, text: as it is now.
SELECT pg_catalog.set_config('idle_session_timeout', $1::int::text, false) AS timeout;
