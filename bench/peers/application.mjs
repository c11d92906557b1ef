// SPDX-License-Identifier: Apache-2.0
// The application beside a peer: its payments, its attempts, and how it enqueues, as SQL functions that the bench calls for
// each peer alike (sql/queries/bench/peer_*.sql). put: a statement that enqueues the jsonb `payload`. empty: an expression,
// true when nothing is left to do. reset: statements that forget everything.
export async function makeApplication(client, { put, empty, reset }) {
  await client.query(`
    CREATE SCHEMA peer;
    CREATE SCHEMA bench;
    CREATE TABLE bench.payment (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, merchant_id text NOT NULL, order_no text NOT NULL,
      amount_minor bigint NOT NULL, currency text NOT NULL, state text NOT NULL, at timestamptz NOT NULL DEFAULT now());
    CREATE TABLE peer.attempt (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), notify_id uuid NOT NULL,
      merchant_id text NOT NULL, code int NOT NULL, ms int NOT NULL, response text);
    CREATE INDEX attempt_notify_id_idx ON peer.attempt (notify_id);
    CREATE FUNCTION peer.enqueue(merchant text, order_no text, amount bigint) RETURNS uuid LANGUAGE plpgsql AS $f$
    DECLARE
      id uuid := gen_random_uuid();
      payload jsonb := jsonb_build_object('notify_id', id, 'event', 'payment.succeeded', 'merchant_id', merchant,
        'order_no', order_no, 'payment_id', NULL, 'amount', amount, 'currency', 'CNY', 'status', 'succeeded', 'version', 1,
        'occurred_at', now(), 'livemode', true, 'failure', NULL, 'extra', '{}'::jsonb, 'data',
        jsonb_build_object('method', 'card', 'captured', true, 'reference', '4200002026113012345678901234'));
    BEGIN
      ${put};
      RETURN id;
    END $f$;
    CREATE FUNCTION peer.done() RETURNS boolean LANGUAGE sql AS $f$ SELECT ${empty} $f$;
    CREATE FUNCTION peer.reset() RETURNS void LANGUAGE plpgsql AS $f$ BEGIN TRUNCATE peer.attempt, bench.payment; ${reset}; END $f$;
    GRANT ALL ON SCHEMA peer, bench TO PUBLIC;
    GRANT ALL ON ALL TABLES IN SCHEMA peer, bench TO PUBLIC;`)
}
