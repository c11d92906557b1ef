/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold.
 *
 * After each commit (from the tables)
 *   accounted    a committed notification waits in the outbox, or each of its deliveries has a job, is delivered, dead, cancelled
 *   once         a delivery has one job, a token one recorded try; after `delivered` nothing of that life is written or tried
 *   numbers      seq is given out once and lies behind the cursor; no shard belongs to a session that was ended
 *   low          were the owner ended now, the next one would look far enough back for each first try of the shard
 * When a request arrives
 *   not early    its notification is committed; its due time has come
 *   repeats      a token is tried again only if something was broken meanwhile, once for each such thing
 * When a scheduler looks for first tries
 *   not too far  it begins where the lows of its shards say: what lies before may be millions that wait
 * When a scheduler speaks
 *   acknowledged a worker hears that `delivered` is safe only when it is committed
 *   order        (strict seeds) one of an order under way, lowest version first
 *   breaker      (strict seeds) nothing while it is open, one probe after
 * At the end
 *   liveness     once nothing is broken any more, everything ends (sim_plan.c has the deadline)
 *
 * A fail-over loses commits that were acknowledged: rules that speak of acknowledged things are not judged after one.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sim_pg.h"

#include <inttypes.h>
#include <string.h>

#define TOKENS_MAX 4096 /* a power of two */
#define FAULTS_MAX 256
#define EVER_MAX 2000
#define EARLY_US (2 * SIM_MS)
#define AFTERMATH_US (12 * SIM_SECOND) /* takeover, adoption, silence: so long may a fault show */
#define BREAKER_FAILURES 5
#define MEMORY_JOBS 16 /* of a held endpoint and class */

typedef struct {
    bool used;
    sim_token_t token;
    int64_t first_us; /* dispatched or arrived */
    int arrivals, repeats;
    bool dispatched;
    bool said_delivered; /* a worker reports it */
    bool said;           /* a worker reports anything */
    bool probe;
    int64_t endpoint;
} known_t;

typedef struct {
    int64_t from_us, to_us;
    bool soft; /* a takeover */
} fault_t;

static known_t known[TOKENS_MAX];
static int nknown;
static fault_t faults[FAULTS_MAX];
static int nfaults;
static uint64_t ever[EVER_MAX]; /* notifications that were committed once */
static int never;
static bool ever_marked[OUTBOX_MAX];
static uint8_t delivered[OUTBOX_MAX]; /* bit e: delivered to that endpoint in some life */
static int attempts_seen, jobs_seen;
static bool failed_over;
static int failures[SIM_ENDPOINTS_MAX + 1];
static int64_t opened_us[SIM_ENDPOINTS_MAX + 1];
static known_t *probes[SIM_ENDPOINTS_MAX + 1];
static int64_t first_sent_us; /* by the server's clock: when the first job left */

void sim_check_begin(void)
{
    memset(known, 0, sizeof known);
    memset(ever_marked, 0, sizeof ever_marked);
    memset(delivered, 0, sizeof delivered);
    memset(failures, 0, sizeof failures);
    memset(opened_us, 0, sizeof opened_us);
    memset(probes, 0, sizeof probes);
    nknown = nfaults = never = attempts_seen = jobs_seen = 0;
    failed_over = false;
    first_sent_us = INT64_MAX;
}

static known_t *token_of(const sim_token_t *token)
{
    uint64_t hash = (token->salt ^ token->attempt * 0x9e3779b97f4a7c15u ^ (uint64_t)token->seq) *
                    0xbf58476d1ce4e5b9u;
    for (size_t i = hash >> 32;; i++) {
        known_t *place = &known[i % TOKENS_MAX];
        if (place->used && place->token.salt == token->salt &&
            place->token.attempt == token->attempt && place->token.seq == token->seq)
            return place;
        if (place->used)
            continue;
        pr_assert(++nknown < TOKENS_MAX * 3 / 4);
        *place = (known_t){.used = true, .token = *token, .first_us = sim->now_us};
        return place;
    }
}

static const job_row_t *job_with(const sim_token_t *token)
{
    for (int i = 0; i < pg.jobs_count; i++) {
        const job_row_t *job = &pg.jobs[i];
        if (job->used && job->seq == token->seq && job->salt == token->salt &&
            job->attempt == (int)token->attempt)
            return job;
    }
    return NULL;
}

/* ---- faults and repeats ---- */

void sim_check_fault(int64_t until_us)
{
    pr_assert(nfaults < FAULTS_MAX);
    faults[nfaults++] = (fault_t){sim->now_us, until_us + AFTERMATH_US, false};
}

void sim_check_takeover(void)
{
    sim_check_fault(sim->now_us);
    faults[nfaults - 1].soft = true;
}

/* What may have caused a repeat of this token. */
static int causes(const known_t *one)
{
    int count = 0;
    for (int i = 0; i < nfaults; i++)
        count += faults[i].to_us >= one->first_us &&
                 (!faults[i].soft || (one->said && !one->said_delivered));
    return count;
}

void sim_check_pg_crash(bool fail_over)
{
    failed_over = failed_over || fail_over;
    memset(ever_marked, 0, sizeof ever_marked);
    memset(delivered, 0, sizeof delivered);
    attempts_seen = jobs_seen = 0;
}

/* ---- the tables ---- */

static int row_of(int64_t outbox_id)
{
    int low = 0, high = pg.outbox_count;
    while (low < high) { /* ids grow */
        int middle = (low + high) / 2;
        if (pg.outbox[middle].id < outbox_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pg.outbox_count && pg.outbox[low].id == outbox_id ? low : -1;
}

static void mark_committed(void)
{
    for (int i = 0; i < pg.outbox_count; i++) {
        if (ever_marked[i] || !pg_committed(pg.outbox[i].tx))
            continue;
        ever_marked[i] = true;
        pr_assert(never < EVER_MAX);
        memcpy(&ever[never++], pg.outbox[i].notify_id, sizeof ever[0]);
    }
}

static void check_attempts(void)
{
    for (; attempts_seen < pg.attempts_count; attempts_seen++) {
        const attempt_row_t *new_one = &pg.attempts[attempts_seen];
        int row = row_of(new_one->outbox_id);
        for (int i = 0; i < attempts_seen; i++) {
            const attempt_row_t *old = &pg.attempts[i];
            if (old->outbox_id != new_one->outbox_id || old->endpoint != new_one->endpoint)
                continue;
            if (old->salt == new_one->salt && old->attempt == new_one->attempt)
                sim_fail("outbox %" PRId64 "/%" PRId64 ": try %d is on record twice",
                         old->outbox_id, old->endpoint, old->attempt);
            if (old->salt == new_one->salt && old->outcome == 1)
                sim_fail("outbox %" PRId64 "/%" PRId64 ": a try after it was delivered",
                         old->outbox_id, old->endpoint);
        }
        if (new_one->outcome == 1 && row >= 0)
            delivered[row] |= (uint8_t)(1u << new_one->endpoint);
    }
}

static void check_jobs(uint8_t has_job[OUTBOX_MAX])
{
    for (int i = 0; i < pg.jobs_count; i++) {
        const job_row_t *job = &pg.jobs[i];
        if (!job->used)
            continue;
        int row = row_of(job->outbox_id);
        uint8_t bit = (uint8_t)(1u << job->endpoint);
        if (row < 0) {
            sim_fail("a job of outbox %" PRId64 ", which does not exist", job->outbox_id);
            return;
        }
        if (has_job[row] & bit)
            sim_fail("outbox %" PRId64 "/%" PRId64 " has two jobs", job->outbox_id, job->endpoint);
        has_job[row] |= bit;
        if (!pg_committed(pg.outbox[row].tx))
            sim_fail("a job of outbox %" PRId64 ", which is not committed", job->outbox_id);
        if (job->seq > pg.ticks[job->class_no].seq)
            sim_fail("job %" PRId64 " lies before the cursor", job->seq & 0xffffff);
        const dead_row_t *dead = pg_dead(job->outbox_id, job->endpoint);
        if (dead && dead->state == DEAD_OPEN)
            sim_fail("outbox %" PRId64 "/%" PRId64 " is dead and has a job", job->outbox_id,
                     job->endpoint);
    }
    /* each number once: only new ones can break it, and they stand at the end */
    for (; jobs_seen < pg.jobs_count; jobs_seen++)
        for (int i = 0; i < jobs_seen; i++)
            if (pg.jobs[i].seq == pg.jobs[jobs_seen].seq)
                sim_fail("seq %" PRId64 " was given out twice", pg.jobs[i].seq & 0xffffff);
}

static bool revives(const dead_row_t *dead)
{
    for (int i = 0; i < pg.outbox_count; i++) {
        const outbox_row_t *row = &pg.outbox[i];
        if (row->kind == 1 && row->ref_id == dead->outbox_id &&
            row->ref_endpoint == dead->endpoint && !pg_moved(row))
            return true;
    }
    return false;
}

static void check_accounted(const uint8_t has_job[OUTBOX_MAX])
{
    for (int i = 0; i < pg.outbox_count; i++) {
        const outbox_row_t *row = &pg.outbox[i];
        if (row->kind != 0 || !pg_committed(row->tx) || !pg_moved(row))
            continue;
        for (int e = 0; e < pg.endpoints_count; e++) {
            int64_t endpoint = pg.endpoints[e].id;
            uint8_t bit = (uint8_t)(1u << endpoint);
            if (delivered[i] & bit && pg_is_cancelled(row->id, endpoint))
                sim_fail("outbox %" PRId64 "/%" PRId64 " is delivered and cancelled", row->id,
                         endpoint);
            if (pg.endpoints[e].merchant != row->merchant || (delivered[i] | has_job[i]) & bit)
                continue;
            const dead_row_t *dead = pg_dead(row->id, endpoint);
            bool ended = (dead && (dead->state == DEAD_OPEN || revives(dead))) ||
                         pg_is_cancelled(row->id, endpoint) || pg_is_cancelled(row->id, 0);
            if (!ended)
                sim_fail("outbox %" PRId64 "/%" PRId64
                         " is lost: handed over, without job, delivery, letter or cancellation",
                         row->id, endpoint);
        }
    }
}

static void check_sessions(void)
{
    for (int n = 0; n < SHARDS; n++)
        if (pg.shards[n].session != 0 && pg.sessions[pg.shards[n].session - 1].ended)
            sim_fail("shard %d belongs to session %d, which was ended", n,
                     pg.shards[n].session - 1);
}

static void check_lows(void)
{
    for (int i = 0; i < pg.jobs_count; i++) {
        const job_row_t *job = &pg.jobs[i];
        if (!job->used || job->due_us != NO_DUE)
            continue;
        int shard = pg_endpoint(job->endpoint)->shard;
        if (job->seq < pg_first_tries_from(&pg.shards[shard], job->class_no))
            sim_fail("the next owner of shard %d would not see its first try, seq %" PRId64, shard,
                     job->seq & 0xffffff);
    }
}

void sim_check_looked(int pid, const int64_t *shards, int count, int class_no, int64_t behind)
{
    int64_t lowest = INT64_MAX;
    for (int i = 0; i < count; i++) {
        const shard_row_t *shard = &pg.shards[shards[i]];
        if (shard->session == 0 || pg.sessions[shard->session - 1].pid != pid)
            return; /* the session was ended meanwhile: its owner does not know yet */
        lowest = shard->low[class_no] < lowest ? shard->low[class_no] : lowest;
    }
    if (count > 0 && behind < lowest - 1)
        sim_fail("first tries of class %d are looked for behind %" PRId64
                 ", though none lie before %" PRId64,
                 class_no, behind & 0xffffff, lowest & 0xffffff);
}

void sim_check_commit(void)
{
    uint8_t has_job[OUTBOX_MAX] = {0};
    mark_committed();
    check_attempts();
    check_lows();
    if (!pg_dirty)
        return;
    pg_dirty = false;
    check_jobs(has_job);
    check_accounted(has_job);
    check_sessions();
}

/* ---- requests ---- */

void sim_check_arrival(const sim_token_t *token, int64_t outbox_id, uint64_t notify,
                       int64_t endpoint)
{
    bool was_committed = false;
    for (int i = 0; i < never && !was_committed; i++)
        was_committed = ever[i] == notify;
    if (!was_committed)
        sim_fail("outbox %" PRId64 " is sent before it is committed", outbox_id);
    known_t *one = token_of(token);
    one->endpoint = endpoint;
    if (one->arrivals++ == 0) {
        one->first_us = one->dispatched ? one->first_us : sim->now_us;
    } else if (++one->repeats > causes(one)) {
        sim_fail("outbox %" PRId64 "/%" PRId64
                 " try %u is sent %d times, but only %d things went wrong meanwhile",
                 outbox_id, endpoint, token->attempt + 1, one->arrivals, causes(one));
    }
    const job_row_t *job = job_with(token);
    if (job && job->due_us != NO_DUE && job->attempt > 0 && pg_now_us() + EARLY_US < job->due_us)
        sim_fail("outbox %" PRId64 "/%" PRId64 " try %u is sent %" PRId64 " ms before it is due",
                 outbox_id, endpoint, token->attempt + 1, (job->due_us - pg_now_us()) / 1000);
    /* a worker that stood still may make a try late, which another has made in its place */
    for (int i = 0; i < pg.attempts_count && !failed_over && causes(one) == 0; i++) {
        const attempt_row_t *attempt = &pg.attempts[i];
        if (attempt->salt == token->salt && attempt->endpoint == endpoint &&
            attempt->outcome == 1 && one->arrivals == 1)
            sim_fail("outbox %" PRId64 "/%" PRId64 " is tried anew after it was delivered",
                     outbox_id, endpoint);
    }
}

void sim_check_result(const sim_token_t *token, bool again, int outcome, int64_t age_us)
{
    if (outcome > 0 && !token_of(token)->said)
        sim_fail("the result of a try is written that no worker reported: seq %" PRId64 ", try %u",
                 token->seq & 0xffffff, token->attempt + 1);
    if (again && outcome > 0 && sim->strict && age_us > sim->max_age_us + SIM_SECOND)
        sim_fail("seq %" PRId64 " is %" PRId64 " ms old and is to be tried again",
                 token->seq & 0xffffff, age_us / SIM_MS);
}

/* ---- what schedulers and workers say ---- */

static sim_token_t token_from(const Postrider__V1__Token *token)
{
    return (sim_token_t){token->salt, token->attempt, token->seq};
}

/* As the owner of the endpoint will hear it in a moment. */
static void count_failures(int64_t endpoint, int result)
{
    if (result == POSTRIDER__V1__OUTCOME__RESULT__RESULT_DELIVERED) {
        failures[endpoint] = 0;
        opened_us[endpoint] = 0;
    } else if (result == POSTRIDER__V1__OUTCOME__RESULT__RESULT_REFUSED ||
               result == POSTRIDER__V1__OUTCOME__RESULT__RESULT_UNREACHABLE) {
        if (++failures[endpoint] == BREAKER_FAILURES)
            opened_us[endpoint] = sim->now_us;
    }
}

static void on_outcomes(const Postrider__V1__OutcomeBatch *batch)
{
    for (size_t i = 0; i < batch->n_outcomes; i++) {
        sim_token_t token = token_from(batch->outcomes[i]->token);
        known_t *one = token_of(&token);
        if (!one->said)
            count_failures(batch->outcomes[i]->endpoint_id, (int)batch->outcomes[i]->result);
        one->said = true;
        if (batch->outcomes[i]->result == POSTRIDER__V1__OUTCOME__RESULT__RESULT_DELIVERED)
            one->said_delivered = true;
    }
}

static void on_acks(const Postrider__V1__OutcomeAck *ack)
{
    for (size_t i = 0; i < ack->n_tokens && !failed_over && !sim->poison; i++) {
        sim_token_t token = token_from(ack->tokens[i]);
        const job_row_t *job = job_with(&token);
        /* A crash may have undone the move that the job was born by: its result is then nobody's, and when it is born again with
         * the same token its worker remembers (lib/worker/worker.h). It left before the job was born, then. */
        if (job && token_of(&token)->said_delivered && token_of(&token)->first_us >= job->moved_us)
            sim_fail("outbox %" PRId64 "/%" PRId64
                     ": a worker hears that its delivery is safe, and it is not committed",
                     job->outbox_id, job->endpoint);
    }
}

static void check_order(const job_row_t *job, const outbox_row_t *row)
{
    /* what does not fit waits in Postgres: orders are kept among what is in memory */
    int waiting = 0;
    for (int i = 0; i < pg.jobs_count; i++)
        waiting += pg.jobs[i].used && pg.jobs[i].endpoint == job->endpoint;
    bool all_in_memory = waiting < MEMORY_JOBS;
    for (int i = 0; i < pg.jobs_count; i++) {
        const job_row_t *other = &pg.jobs[i];
        const outbox_row_t *other_row =
            other->used && other != job ? pg_outbox(other->outbox_id) : NULL;
        if (!other_row || other->endpoint != job->endpoint || other_row->order != row->order)
            continue;
        sim_token_t token = {other->salt, (uint32_t)other->attempt, other->seq};
        const known_t *one = token_of(&token);
        if (one->dispatched && !one->said)
            sim_fail("order %d at endpoint %" PRId64 ": outbox %" PRId64 " goes while %" PRId64
                     " is under way",
                     row->order, job->endpoint, row->id, other_row->id);
        if (all_in_memory && !one->dispatched && other->attempt == 0 && job->attempt == 0 &&
            other->due_us == NO_DUE && other->tried_before == 0 &&
            pg_now_us() - other->born_us < sim->max_age_us && /* else its end is being written */
            other_row->version < row->version && other->class_no == job->class_no &&
            other->seq < job->seq &&
            other->born_us > first_sent_us) /* read like this one, not adopted beside it */
            sim_fail("order %d at endpoint %" PRId64 ": version %" PRId64
                     " goes before version %" PRId64,
                     row->order, job->endpoint, row->version, other_row->version);
    }
}

/* Words of two workers may overtake each other: the record must say so too. */
static bool failed_in_a_row(int64_t endpoint)
{
    int row = 0;
    for (int i = pg.attempts_count; i-- > 0 && row < BREAKER_FAILURES;) {
        const attempt_row_t *attempt = &pg.attempts[i];
        if (attempt->endpoint != endpoint)
            continue;
        if (attempt->outcome != POSTRIDER__V1__OUTCOME__RESULT__RESULT_REFUSED &&
            attempt->outcome != POSTRIDER__V1__OUTCOME__RESULT__RESULT_UNREACHABLE)
            return false;
        row++;
    }
    return row == BREAKER_FAILURES;
}

static void check_breaker(known_t *one, int64_t endpoint)
{
    known_t *probe = probes[endpoint];
    if (pg_endpoint(endpoint)->off_us != 0)
        return; /* whoever enables an endpoint resets its breaker */
    if (probe && !probe->said)
        sim_fail("endpoint %" PRId64 ": a job goes while its probe is under way", endpoint);
    if (probe && probe->said)
        probes[endpoint] = NULL;
    if (one->probe)
        probes[endpoint] = one;
    if (opened_us[endpoint] != 0 && !one->probe && failed_in_a_row(endpoint) &&
        sim->now_us - opened_us[endpoint] > 100 * SIM_MS &&
        sim->now_us - opened_us[endpoint] < sim->breaker_open_us - 100 * SIM_MS)
        sim_fail("endpoint %" PRId64 ": a job goes while its breaker is open", endpoint);
}

static void on_jobs(const Postrider__V1__JobBatch *batch)
{
    if (first_sent_us == INT64_MAX)
        first_sent_us = pg_now_us();
    for (size_t i = 0; i < batch->n_jobs; i++) {
        const Postrider__V1__Job *from = batch->jobs[i];
        sim_token_t token = token_from(from->token);
        known_t *one = token_of(&token);
        if (!one->dispatched)
            one->first_us = sim->now_us;
        one->dispatched = true;
        one->probe = from->probe;
        const job_row_t *job = job_with(&token);
        const outbox_row_t *row = job ? pg_outbox(job->outbox_id) : NULL;
        if (!sim->strict || !row)
            continue;
        check_order(job, row);
        check_breaker(one, from->endpoint_id);
    }
}

static void trace_sent(const Postrider__V1__Envelope *envelope)
{
    char text[256];
    int at = 0;
    switch (envelope->body_case) {
    case POSTRIDER__V1__ENVELOPE__BODY_JOB_BATCH:
        for (size_t i = 0; i < envelope->job_batch->n_jobs && at < 220; i++)
            at += snprintf(
                text + at, sizeof text - (size_t)at, " %" PRId64 "/%" PRId64 " try %u%s,",
                envelope->job_batch->jobs[i]->outbox_id, envelope->job_batch->jobs[i]->endpoint_id,
                envelope->job_batch->jobs[i]->token->attempt + 1,
                envelope->job_batch->jobs[i]->probe ? " (probe)" : "");
        sim_trace("sends jobs%s", at > 0 ? text : "");
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_BATCH:
        for (size_t i = 0; i < envelope->outcome_batch->n_outcomes && at < 220; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, " salt %04x try %u: %d,",
                           (unsigned)(envelope->outcome_batch->outcomes[i]->token->salt & 0xffff),
                           envelope->outcome_batch->outcomes[i]->token->attempt + 1,
                           (int)envelope->outcome_batch->outcomes[i]->result);
        sim_trace("sends outcomes%s", at > 0 ? text : "");
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_ACK:
        sim_trace("sends %zu acknowledgements", envelope->outcome_ack->n_tokens);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_WORKER_HELLO:
        sim_trace("greets as a worker, %u", envelope->worker_hello->greeting);
        break;
    default:
        break;
    }
}

void sim_check_sent(pr_actor_t *actor, const Postrider__V1__Envelope *envelope)
{
    sim_kind_t kind = sim_slot_of(actor)->kind;
    if (sim->trace && kind != SIM_BROKER)
        trace_sent(envelope);
    if (kind == SIM_SCHEDULER && envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY_JOB_BATCH)
        on_jobs(envelope->job_batch);
    else if (kind == SIM_SCHEDULER &&
             envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_ACK)
        on_acks(envelope->outcome_ack);
    else if (kind == SIM_NOTIFIER &&
             envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY_OUTCOME_BATCH)
        on_outcomes(envelope->outcome_batch);
}

/* ---- the end ---- */

bool sim_check_finished(void)
{
    if (!sim_pg_up())
        return false;
    for (int i = 0; i < pg.outbox_count; i++)
        if (pg.xids[pg.outbox[i].tx] != XID_ABORTED &&
            !(pg_committed(pg.outbox[i].tx) && pg_moved(&pg.outbox[i])))
            return false;
    for (int i = 0; i < pg.jobs_count; i++)
        if (pg.jobs[i].used)
            return false;
    return true;
}

void sim_check_unfinished(void)
{
    for (int i = 0; i < pg.outbox_count; i++) {
        const outbox_row_t *row = &pg.outbox[i];
        if (pg_committed(row->tx) && !pg_moved(row)) {
            sim_fail("outbox %" PRId64 " is not handed over, long after the last fault", row->id);
            return;
        }
    }
    for (int i = 0; i < pg.jobs_count; i++) {
        const job_row_t *job = &pg.jobs[i];
        if (!job->used)
            continue;
        sim_fail("outbox %" PRId64 "/%" PRId64 " (class %d, seq %" PRId64
                 ", try %d, %s) does not end, long after the last fault",
                 job->outbox_id, job->endpoint, job->class_no, job->seq & 0xffffff,
                 job->attempt + 1, job->due_us == NO_DUE ? "no due time" : "dated");
        return;
    }
    sim_fail("it does not end");
}
