// SPDX-License-Identifier: Apache-2.0
// graphile-worker: a task that tells the merchant and records the attempt.
import { run, runMigrations } from 'graphile-worker'
import { makeApplication } from './application.mjs'
import { config, deliver, main, url } from './common.mjs'

let runner = null

async function setup(client) {
  await runMigrations({ connectionString: url })
  await makeApplication(client, {
    put: `PERFORM graphile_worker.add_job('notify', payload::json)`,
    empty: `NOT EXISTS (SELECT FROM graphile_worker._private_jobs LIMIT 1)`,
    reset: `DELETE FROM graphile_worker._private_jobs`,
  })
  await client.query(`SELECT graphile_worker.add_job('notify')`) // makes the task's row
  await client.query(`DELETE FROM graphile_worker._private_jobs`)
}

async function begin() {
  const { Logger } = await import('@graphile/logger')
  runner = await run({
    preset: { worker: { connectionString: url, ...config.worker, logger: new Logger(() => () => {}) } },
    taskList: { notify: deliver },
    noHandleSignals: true,
  })
  runner.promise.catch(() => {})
}

async function end() {
  await runner.stop()
}

await main({ setup, begin, end })
