-- bench.prepare: the application's own tables, and what measures (several statements: a script, run once).
-- rows: none.
CREATE SCHEMA bench;
CREATE TABLE bench.payment (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, merchant_id text NOT NULL, order_no text NOT NULL,
    amount_minor bigint NOT NULL, currency text NOT NULL, state text NOT NULL, at timestamptz NOT NULL DEFAULT now());
-- what an application without Postrider writes beside its payment: an outbox of its own
CREATE TABLE bench.outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, notify_id uuid NOT NULL DEFAULT gen_random_uuid(),
    merchant_id text NOT NULL, event text NOT NULL, body jsonb NOT NULL, at timestamptz NOT NULL DEFAULT now());
CREATE INDEX outbox_at_idx ON bench.outbox (at);
GRANT USAGE ON SCHEMA bench TO postrider_app;
GRANT ALL ON ALL TABLES IN SCHEMA bench TO postrider_app;
CREATE EXTENSION IF NOT EXISTS pg_walinspect SCHEMA public;
CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public;
