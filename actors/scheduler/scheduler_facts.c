/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler tells the circuit-breaker and the dead-letter actor: facts are hints, Postgres has the truth.
 * A delivery in a row of deliveries is no news: attempts are told when they fail, and when the first one succeeds again.
 */
#include "actors/scheduler/scheduler_io.h"
#include "base/clock.h"

static void send_attempt(io_t *io, const result_t *result, const payload_t *payload,
                         const endpoint_row_t *row)
{
    const outcome_t *outcome = result->action.outcome;
    Postrider__V1__AttemptFact fact = POSTRIDER__V1__ATTEMPT_FACT__INIT;
    fact.endpoint_id = result->action.endpoint_id;
    fact.merchant_id = row->merchant_id;
    fact.order_no = (char *)payload->order_no;
    fact.notify_id = (char *)payload->notify_id;
    fact.class_ = result->action.class_no;
    fact.try_number = result->action.attempt + 1;
    fact.result = outcome->result;
    fact.http_code = outcome->http_code;
    fact.error = (char *)outcome->error;
    fact.duration_ms = outcome->duration_ms;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_ATTEMPT_FACT;
    envelope.attempt_fact = &fact;
    pr_actor_send_fact(io->actor, &envelope);
}

void bus_fact_dead(io_t *io, int64_t endpoint_id, int64_t outbox_id, uint32_t tries,
                   const char *reason, const payload_t *payload)
{
    const endpoint_row_t *row = rows_endpoint(io, endpoint_id);
    Postrider__V1__DeadFact fact = POSTRIDER__V1__DEAD_FACT__INIT;
    fact.outbox_id = outbox_id;
    fact.endpoint_id = endpoint_id;
    if (row)
        fact.merchant_id = row->merchant_id;
    if (payload) {
        fact.order_no = (char *)payload->order_no;
        fact.notify_id = (char *)payload->notify_id;
    }
    fact.reason = (char *)reason;
    fact.tries = tries;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_DEAD_FACT;
    envelope.dead_fact = &fact;
    pr_actor_send_fact(io->actor, &envelope);
}

void bus_facts(io_t *io, const result_t *result)
{
    const pr_sched_job_t *job = pr_sched_job(io->sched, result->action.seq);
    endpoint_row_t *row = pr_map_get(io->endpoints, (uint64_t)result->action.endpoint_id);
    const outcome_t *outcome = result->action.outcome;
    if (!job || !row)
        return;
    bool delivered = result->action.end == PR_END_DELIVERED;
    if (outcome && result->action.tried && (!delivered || row->failing))
        send_attempt(io, result, job->payload, row);
    if (outcome && result->action.tried)
        row->failing = !delivered;
    if (result->action.end == PR_END_DEAD)
        bus_fact_dead(io, result->action.endpoint_id, job->outbox_id,
                      job->tried_before + job->attempt + (result->action.tried ? 1 : 0),
                      result->action.reason, job->payload);
}

void bus_fact_breaker(io_t *io, const pr_sched_action_t *action)
{
    const endpoint_row_t *row = rows_endpoint(io, action->endpoint_id);
    Postrider__V1__BreakerMoved fact = POSTRIDER__V1__BREAKER_MOVED__INIT;
    fact.endpoint_id = action->endpoint_id;
    if (row)
        fact.merchant_id = row->merchant_id;
    fact.from = (Postrider__V1__BreakerState)action->from;
    fact.to = (Postrider__V1__BreakerState)action->to;
    fact.failures = action->failures;
    fact.at_us = pr_clock_wall_us();
    fact.held_jobs = action->held;
    fact.open_ms = (uint32_t)io->sched_config.breaker_open_ms;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_BREAKER_MOVED;
    envelope.breaker_moved = &fact;
    pr_actor_send_fact(io->actor, &envelope);
}

void bus_fact_gone(io_t *io, int64_t endpoint_id)
{
    const endpoint_row_t *row = rows_endpoint(io, endpoint_id);
    Postrider__V1__EndpointGone fact = POSTRIDER__V1__ENDPOINT_GONE__INIT;
    fact.endpoint_id = endpoint_id;
    if (row)
        fact.merchant_id = row->merchant_id;
    fact.http_code = 410;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_ENDPOINT_GONE;
    envelope.endpoint_gone = &fact;
    pr_actor_send_fact(io->actor, &envelope);
}

void bus_alert(io_t *io, const char *kind, const char *subject, const char *severity,
               const char *message)
{
    Postrider__V1__Alert alert = POSTRIDER__V1__ALERT__INIT;
    alert.kind = (char *)kind;
    alert.subject = (char *)subject;
    alert.severity = (char *)severity;
    alert.message = (char *)message;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_ALERT;
    envelope.alert = &alert;
    pr_actor_send_fact(io->actor, &envelope);
}
