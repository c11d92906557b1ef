// SPDX-License-Identifier: Apache-2.0
// The scan that many write first: each second, all pending rows are read and told, some at once, and marked.
import { makeApplication } from './application.mjs'
import { batcher, columns, config, main, pool, tell } from './common.mjs'

let working = false
let running = Promise.resolve()

async function setup(client) {
  await client.query(`
    CREATE SCHEMA naive;
    CREATE TABLE naive.notification (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, notify_id uuid NOT NULL, payload jsonb NOT NULL,
      status text NOT NULL DEFAULT 'pending', tries int NOT NULL DEFAULT 0, next_at timestamptz NOT NULL DEFAULT now());
    CREATE INDEX notification_pending_idx ON naive.notification (next_at) WHERE status = 'pending'`)
  await makeApplication(client, {
    put: `INSERT INTO naive.notification (notify_id, payload) VALUES (id, payload)`,
    empty: `NOT EXISTS (SELECT FROM naive.notification WHERE status = 'pending' LIMIT 1)`,
    reset: `TRUNCATE naive.notification`,
  })
}

// One statement: the attempts' rows, and each notification's new state.
const writeOutcomes = (outcomes) => pool.query({
  name: 'outcomes',
  text: `WITH o AS (SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::int[], $5::text[], $6::bigint[])
                    AS o (notify_id, merchant_id, code, ms, response, id)),
    a AS (INSERT INTO peer.attempt (notify_id, merchant_id, code, ms, response)
          SELECT notify_id, merchant_id, code, ms, response FROM o)
    UPDATE naive.notification AS n SET tries = tries + 1, status = CASE WHEN o.code = 200 THEN 'delivered' ELSE 'pending' END,
      next_at = now() + interval '15 seconds' FROM o WHERE n.id = o.id`,
  values: [...columns(outcomes), outcomes.map((o) => o.row)],
})
const record = config.outcomes === 'batched' ? batcher(writeOutcomes) : (outcome) => writeOutcomes([outcome])

async function one(row) {
  const { notify_id: id, merchant_id: merchant } = row.payload
  const answer = await tell(merchant, id, JSON.stringify(row.payload)).catch(() => ({ code: 0, ms: 0, response: null }))
  await record({ id, merchant, row: row.id, ...answer })
}

// `concurrency` at once, until all are told.
async function scan() {
  const { rows } = await pool.query({
    name: 'scan', text: `SELECT id, payload FROM naive.notification WHERE status = 'pending' AND next_at <= now() ORDER BY next_at` })
  let next = 0
  const lane = async () => {
    while (working && next < rows.length) await one(rows[next++])
  }
  await Promise.all(Array.from({ length: config.concurrency }, lane))
}

async function loop() {
  while (working) {
    const at = Date.now()
    await scan()
    const rest = config.interval_ms - (Date.now() - at)
    if (working && rest > 0) await new Promise((resolve) => setTimeout(resolve, rest))
  }
}

async function begin() {
  working = true
  running = loop()
}

async function end() {
  working = false
  await running
}

await main({ setup, begin, end })
