// SPDX-License-Identifier: Apache-2.0
// pg-boss: workers that take a batch, tell the merchants of it at once, and record the attempts. perJobResults, so that one
// merchant's failure is not its neighbours'.
import { PgBoss } from 'pg-boss'
import { makeApplication } from './application.mjs'
import { config, deliver, main, url } from './common.mjs'

const boss = new PgBoss({ connectionString: url, ...config.boss })
boss.on('error', () => {})

async function setup(client) {
  await boss.start()
  await boss.createQueue('notify', config.queue)
  let insert = null // the very statement of boss.insert()
  await boss.insert('notify', [{ data: {} }], { db: { executeSql: async (text) => ((insert = text), { rows: [] }) } })
  const asFunction = insert.replaceAll('$1', 'jobs')
  await client.query(`CREATE FUNCTION pgboss.bench_insert(jobs text) RETURNS SETOF uuid LANGUAGE sql AS $f$ ${asFunction} $f$`)
  await makeApplication(client, {
    put: `PERFORM pgboss.bench_insert(json_build_array(json_build_object('data', payload))::text)`,
    empty: `NOT EXISTS (SELECT FROM pgboss.job WHERE state < 'completed' LIMIT 1)`,
    reset: `DELETE FROM pgboss.job`,
  })
  await boss.stop({ graceful: false })
}

async function handle(jobs) {
  return Promise.all(jobs.map((job) => deliver(job.data).then(
    () => ({ id: job.id, status: 'completed' }), (error) => ({ id: job.id, status: 'failed', output: { message: String(error) } }))))
}

let started = false
async function begin() {
  if (!started) await boss.start()
  started = true
  await boss.work('notify', config.work, handle)
}

async function end() {
  await boss.offWork('notify', { wait: true })
}

await main({ setup, begin, end })
