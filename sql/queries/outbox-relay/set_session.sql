-- outbox-relay.set_session: moves commit without waiting for the disk. A move that a crash of Postgres loses is made again
-- from the outbox, whose rows were committed with the application's own guarantee (docs/protocol.md, section 1).
-- The plan of a move must read the window in index order whatever the statistics say: no bitmap scans, one plan for all.
-- Run once on each new connection. rows: one of text.
SELECT pg_catalog.set_config('synchronous_commit', 'off', false), pg_catalog.set_config('enable_bitmapscan', 'off', false),
       pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', false), pg_catalog.set_config('jit', 'off', false);
