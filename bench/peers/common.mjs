// SPDX-License-Identifier: Apache-2.0
// What all peers share: the same request as the notifier's, an HTTP client with kept connections, outcomes written
// in batches or one by one, the application's functions, and how the bench drives a worker.
//
//   node PEER.mjs CONFIG setup     makes the schema, then peer.* (application.sql.mjs)
//   node PEER.mjs CONFIG work      SIGUSR2 begins, SIGHUP ends taking jobs, SIGTERM exits; says "ready", "working N",
//                                  "idle N" in the file $STATUS, N counting up
import { createHmac } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { Agent } from 'undici'

const secret = 'b3d1f29c5a7e4806913c2df0a8b7c6e5d4f3021b9c8a7e6f'
const port = process.env.RECEIVER_PORT

export const config = JSON.parse(readFileSync(process.argv[2], 'utf8'))
export const url = process.env.DATABASE_URL

// ---- HTTP ----

const agent = new Agent({
  keepAliveTimeout: 90_000,
  connections: 256,
  headersTimeout: 10_000,
  bodyTimeout: 10_000,
  // mN.localhost is this machine; what libcurl knows by itself, Node must be told
  connect: { lookup: (host, options, done) => (options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)) },
})

// One signed POST, as lib/sign/sign.h has it. Resolves to {code, ms, response}; rejects when there is no answer.
export function tell(merchant, id, body) {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const hex = createHmac('sha256', secret).update(body).update(timestamp).digest('hex')
  const base64 = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64')
  const start = performance.now()
  return new Promise((resolve, reject) => {
    let code = 0
    let response = ''
    agent.dispatch({
      origin: `http://${merchant}.localhost:${port}`,
      path: `/m/${merchant}`,
      method: 'POST',
      headers: ['content-type', 'application/json', 'x-notify-id', id, 'x-timestamp', timestamp, 'x-signature', hex,
        'webhook-id', id, 'webhook-timestamp', timestamp, 'webhook-signature', `v1,${base64}`],
      body,
    }, {
      onConnect() {},
      onHeaders(status) { code = status; return true },
      onData(chunk) { response += chunk.latin1Slice(); return true },
      onComplete() { resolve({ code, ms: Math.round(performance.now() - start), response }) },
      onError: reject,
    })
  })
}

// ---- outcomes ----

export const pool = new pg.Pool({ connectionString: url, max: config.outcomes === 'batched' ? 4 : 25 })
pool.on('error', () => {}) // the bench ends Postgres under us

const insertAttempts = {
  name: 'attempts',
  text: `INSERT INTO peer.attempt (notify_id, merchant_id, code, ms, response)
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::int[], $5::text[])`,
}

// Collects what is put into it for a few milliseconds, or `most`, and writes it with write(items); put() resolves when
// it is written.
export function batcher(write, most = 500, waitMs = 5) {
  let items = []
  let timer = null
  const flush = () => {
    clearTimeout(timer)
    timer = null
    const batch = items
    items = []
    write(batch.map((item) => item.value)).then(() => batch.forEach((item) => item.resolve()),
      (error) => batch.forEach((item) => item.reject(error)))
  }
  return (value) => new Promise((resolve, reject) => {
    items.push({ value, resolve, reject })
    if (items.length >= most) flush()
    else timer ??= setTimeout(flush, waitMs)
  })
}

export function columns(attempts) {
  return [attempts.map((a) => a.id), attempts.map((a) => a.merchant), attempts.map((a) => a.code), attempts.map((a) => a.ms),
    attempts.map((a) => a.response)]
}

const writeAttempts = (attempts) => pool.query({ ...insertAttempts, values: columns(attempts) })
const writeBatched = batcher(writeAttempts)

// The attempt's row is on disk when this resolves.
export const record = config.outcomes === 'batched' ? writeBatched : (attempt) => writeAttempts([attempt])

// What a job of a queue does: tell, then record. payload is the notification's JSON.
export async function deliver(payload) {
  const answer = await tell(payload.merchant_id, payload.notify_id, JSON.stringify(payload))
  await record({ id: payload.notify_id, merchant: payload.merchant_id, ...answer })
  if (answer.code !== 200) throw new Error(`HTTP ${answer.code}`)
}

// ---- how it is driven ----

// peer: {setup(client), begin(), end()}
export async function main(peer) {
  if (process.argv[3] === 'setup') {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await peer.setup(client)
    await client.end()
    await pool.end()
    process.exit(0)
  }
  let count = 0
  let last = Promise.resolve()
  const say = (word) => {
    writeFileSync(`${process.env.STATUS}.new`, word)
    renameSync(`${process.env.STATUS}.new`, process.env.STATUS)
  }
  const then = (step, word) => {
    last = last.then(step).then(() => say(`${word} ${++count}`), (error) => {
      console.error(error)
      process.exit(1)
    })
  }
  process.on('SIGUSR2', () => then(peer.begin, 'working'))
  process.on('SIGHUP', () => then(peer.end, 'idle'))
  process.on('SIGTERM', () => process.exit(0))
  setInterval(() => {}, 60_000)
  say('ready')
}
