-- outbox-relay.set_session: moves commit without waiting for the disk. A move that a crash of Postgres loses is made again
-- from the outbox, whose rows were committed with the application's own guarantee (docs/protocol.md, section 1).
-- Run once on each new connection. rows: one of text.
SELECT pg_catalog.set_config('synchronous_commit', 'off', false);
