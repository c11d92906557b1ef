/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements of the scheduler, as sql/queries/scheduler and the functions of sql/migrations/0004 have them.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sim_pg_statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sessions and shards ---- */

static int living_sessions(void)
{
    int count = 0;
    for (int i = 0; i < pg.sessions_count; i++)
        count += !pg.sessions[i].ended;
    return count;
}

static int target(void)
{
    int living = living_sessions();
    return (SHARDS + living - 1) / (living > 0 ? living : 1);
}

static int owned(int session)
{
    int count = 0;
    for (int n = 0; n < SHARDS; n++)
        count += pg.shards[n].session == session + 1;
    return count;
}

static bool alive(int session)
{
    return session >= 0 && !pg.sessions[session].ended;
}

pr_rc_t pg_open_session(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                        pr_error_t *error)
{
    (void)error;
    pr_assert(pg.sessions_count < SESSIONS_MAX);
    (void)pg_xid();
    PG_TOUCH(pg.sessions_count);
    int index = pg.sessions_count++;
    session_row_t *session = &pg.sessions[index];
    PG_TOUCH(*session);
    *session = (session_row_t){.pid = backend->pid};
    for (int i = 0; i < 2; i++) {
        uint64_t bits = sim_random();
        memcpy(session->id + 8 * i, &bits, 8);
    }
    snprintf(session->address, sizeof session->address, "%s", sim_param_text(params, 0));
    for (int c = 0; c < SIM_CLASSES; c++)
        session->low[c] = (int64_t)c << CLASS_SHIFT_SIM;
    pg_lock(index, backend->pid);
    pg_commit(backend->async);
    sim_trace("db: session %d opens on backend %d", index, backend->pid);
    *rows = sim_rows_new(2);
    sim_rows_add(*rows);
    sim_row_uuid(*rows, 0, session->id);
    sim_row_i64(*rows, 1, index + 1);
    return PR_OK;
}

pr_rc_t pg_resume_session(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                          pr_error_t *error)
{
    (void)error;
    if (sim->mutant != MUTANT_RESUME_BEHIND && pg_follow(backend->pid))
        pg_commit(backend->async);
    int session = pg_session(sim_param_uuid(params, 0));
    bool living = alive(session), locked = false;
    if (living) {
        session_row_t *row = &pg.sessions[session];
        if (row->pid != backend->pid && pg_locked(session, row->pid) &&
            sim_db_backend_alive(row->pid)) {
            if (!sim->unkillable)
                sim_db_terminate(row->pid);
        } else if (pg_lock_pid(session) == 0 || pg_locked(session, backend->pid)) {
            locked = true;
            pg_lock(session, backend->pid);
            (void)pg_xid();
            PG_TOUCH(row->pid);
            row->pid = backend->pid;
            pg_commit(backend->async);
        }
    }
    sim_trace("db: session %d resumes: alive %d, locked %d", session, living, locked);
    *rows = sim_rows_new(2);
    sim_rows_add(*rows);
    sim_row_bool(*rows, 0, living);
    sim_row_bool(*rows, 1, locked);
    return PR_OK;
}

/* What end_session() would leave as the shard's low. */
int64_t pg_first_tries_from(const shard_row_t *shard, int class_no)
{
    if (shard->session == 0)
        return shard->low[class_no];
    const session_row_t *owner = &pg.sessions[shard->session - 1];
    int64_t early = sim->mutant == MUTANT_LOW_TOO_EARLY ? 0 : 1;
    bool speaks = owner->beat > shard->beat + early;
    return speaks && owner->low[class_no] > shard->low[class_no] ? owner->low[class_no]
                                                                 : shard->low[class_no];
}

bool pg_end_session(int session, int caller_pid)
{
    if (!alive(session))
        return false;
    session_row_t *row = &pg.sessions[session];
    int pid = row->pid;
    (void)pg_xid();
    PG_TOUCH(row->ended);
    row->ended = true;
    for (int n = 0; n < SHARDS && sim->mutant != MUTANT_SHARD_STAYS; n++) {
        shard_row_t *shard = &pg.shards[n];
        if (shard->session != session + 1)
            continue;
        PG_TOUCH(*shard);
        for (int c = 0; c < SIM_CLASSES; c++) {
            shard->low[c] = pg_first_tries_from(shard, c);
            if (sim->mutant == MUTANT_LOST_ADOPTION)
                shard->low[c] = pg.ticks[c].seq + 1;
        }
        shard->session = 0;
    }
    if (pid == caller_pid)
        pg_lock(session, 0);
    else if (pg_locked(session, pid) && !sim->unkillable)
        sim_db_terminate(pid);
    sim_trace("db: session %d is ended by backend %d", session, caller_pid);
    return true;
}

pr_rc_t pg_end_session_statement(sim_backend_t *backend, const pr_params_t *params,
                                 pr_rows_t **rows, pr_error_t *error)
{
    (void)error;
    bool ended = pg_end_session(pg_session(sim_param_uuid(params, 0)), backend->pid);
    pg_commit(backend->async);
    *rows = sim_rows_new(1);
    sim_rows_add(*rows);
    sim_row_bool(*rows, 0, ended);
    return PR_OK;
}

pr_rc_t pg_beat(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                pr_error_t *error)
{
    (void)error;
    int self = pg_session(sim_param_uuid(params, 0));
    bool living = alive(self);
    if (self >= 0) {
        session_row_t *row = &pg.sessions[self];
        (void)pg_xid();
        PG_TOUCH(row->beat);
        PG_TOUCH(row->low);
        row->beat = sim_param_i64(params, 1);
        memcpy(row->low, sim_param_i64s(params, 2, NULL), sizeof row->low);
        pg_commit(backend->async);
    }
    *rows = sim_rows_new(7);
    for (int i = 0; i <= pg.sessions_count; i++) {
        bool last = i == pg.sessions_count;
        const session_row_t *other = &pg.sessions[last ? 0 : i];
        if (last ? (*rows != NULL && pr_rows_count(*rows) > 0) : (other->ended || i == self))
            continue;
        sim_rows_add(*rows);
        sim_row_bool(*rows, 0, living);
        sim_row_i32(*rows, 1, target());
        sim_row_i32(*rows, 2, self >= 0 ? owned(self) : 0);
        if (last)
            continue;
        sim_row_uuid(*rows, 3, other->id);
        sim_row_i64(*rows, 4, other->beat);
        sim_row_text(*rows, 5, other->address);
        sim_row_bool(*rows, 6, pg_locked(i, other->pid));
    }
    return PR_OK;
}

pr_rc_t pg_acquire_shards(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                          pr_error_t *error)
{
    int self = pg_session(sim_param_uuid(params, 0));
    if (!alive(self))
        return pr_error_set(error, PR_BAD, "db", "PR009", "this session has ended");
    int wanted = target() - owned(self);
    *rows = sim_rows_new(2);
    (void)pg_xid();
    for (int n = 0; n < SHARDS && wanted > 0; n++) {
        shard_row_t *shard = &pg.shards[n];
        bool free_one = shard->session == 0;
        if (sim->mutant == MUTANT_SHARD_TWICE && shard->session != self + 1)
            free_one = true;
        if (!free_one)
            continue;
        PG_TOUCH(*shard);
        shard->session = self + 1;
        shard->beat = pg.sessions[self].beat;
        sim_rows_add(*rows);
        sim_row_i16(*rows, 0, n);
        sim_row_i64s(*rows, 1, shard->low, SIM_CLASSES);
        wanted--;
    }
    pg_commit(backend->async);
    sim_trace("db: session %d takes %d shards", self, pr_rows_count(*rows));
    return PR_OK;
}

pr_rc_t pg_release_shards(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                          pr_error_t *error)
{
    (void)error;
    int self = pg_session(sim_param_uuid(params, 0)), count, given = 0;
    const int64_t *shards = sim_param_i64s(params, 1, &count),
                  *low = sim_param_i64s(params, 2, NULL);
    (void)pg_xid();
    for (int i = 0; i < count; i++) {
        shard_row_t *shard = &pg.shards[shards[i]];
        if (shard->session != self + 1)
            continue;
        PG_TOUCH(*shard);
        shard->session = 0;
        for (int c = 0; c < SIM_CLASSES; c++)
            if (low[c] > shard->low[c])
                shard->low[c] = low[c];
        given++;
    }
    pg_commit(backend->async);
    sim_trace("db: session %d gives %d shards up", self, given);
    *rows = sim_rows_new(1);
    sim_rows_add(*rows);
    sim_row_i32(*rows, 0, given);
    return PR_OK;
}

/* The lock's key is the session's number (pg_open_session). */
pr_rc_t pg_prove_reader(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                        pr_error_t *error)
{
    (void)backend;
    (void)error;
    int session = (int)sim_param_i64(params, 0) - 1;
    bool same =
        session >= 0 && session < SESSIONS_MAX && pg_locked(session, (int)sim_param_i64(params, 1));
    *rows = sim_rows_new(1);
    sim_rows_add(*rows);
    sim_row_bool(*rows, 0, same);
    return PR_OK;
}

pr_rc_t pg_owned_shards(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                        pr_error_t *error)
{
    (void)backend;
    (void)error;
    int self = pg_session(sim_param_uuid(params, 0));
    *rows = sim_rows_new(2);
    for (int n = 0; n < SHARDS; n++) {
        if (self < 0 || pg.shards[n].session != self + 1)
            continue;
        sim_rows_add(*rows);
        sim_row_i16(*rows, 0, n);
        sim_row_i64s(*rows, 1, pg.shards[n].low, SIM_CLASSES);
    }
    return PR_OK;
}

/* ---- rows ---- */

static bool has_shard(const int64_t *shards, int count, int shard)
{
    for (int i = 0; i < count; i++)
        if (shards[i] == shard)
            return true;
    return false;
}

/* A row of load_new, load_first_tries, page_due. */
static void job_out(pr_rows_t *rows, const job_row_t *job, bool mine, bool dated)
{
    const outbox_row_t *outbox = pg_outbox(job->outbox_id);
    sim_rows_add(rows);
    sim_row_i64(rows, 0, job->seq);
    sim_row_i16(rows, 1, job->class_no);
    sim_row_bool(rows, 2, mine && outbox);
    sim_row_i64(rows, 3, (int64_t)job->salt);
    sim_row_i32(rows, 4, job->attempt);
    sim_row_i32(rows, 5, job->tried_before);
    sim_row_i64(rows, 6, job->endpoint);
    sim_row_i64(rows, 7, job->outbox_id);
    sim_row_i64(rows, 8, (pg_now_us() - job->born_us) / 1000);
    int64_t due_in_us = dated ? job->due_us - pg_now_us() : 0;
    sim_row_i64(rows, 9, due_in_us > 0 ? (due_in_us + 999) / 1000 : -(-due_in_us / 1000));
    if (!mine || !outbox)
        return;
    char text[80];
    sim_row_i64(rows, 10, outbox->version);
    snprintf(text, sizeof text, "order-%d", outbox->order);
    sim_row_text(rows, 11, text);
    sim_row_text(rows, 12, "payment.succeeded");
    sim_row_uuid(rows, 13, outbox->notify_id);
    uint64_t notify;
    memcpy(&notify, outbox->notify_id, sizeof notify);
    snprintf(text, sizeof text, "N%" PRId64 "/%" PRId64 "/%" PRIx64, outbox->id, job->endpoint,
             notify);
    sim_row_bytes(rows, 15, text, strlen(text));
}

pr_rc_t pg_load_new(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                    pr_error_t *error)
{
    (void)backend;
    (void)error;
    int count;
    const int64_t *shards = sim_param_i64s(params, 0, &count),
                  *low = sim_param_i64s(params, 1, NULL), *most = sim_param_i64s(params, 2, NULL);
    *rows = sim_rows_new(16);
    for (int c = 0; c < SIM_CLASSES; c++) {
        int64_t left = most[c];
        for (int i = 0; i < pg.jobs_count && left > 0; i++) {
            const job_row_t *job = &pg.jobs[i];
            if (!job->used || job->class_no != c || job->seq <= low[c])
                continue;
            job_out(*rows, job,
                    has_shard(shards, count, pg_endpoint(job->endpoint)->shard) &&
                        job->due_us == NO_DUE,
                    false);
            left--;
        }
    }
    return PR_OK;
}

pr_rc_t pg_load_first_tries(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                            pr_error_t *error)
{
    (void)error;
    int count;
    const int64_t *shards = sim_param_i64s(params, 0, &count),
                  *low = sim_param_i64s(params, 1, NULL), *high = sim_param_i64s(params, 2, NULL);
    *rows = sim_rows_new(16);
    for (int c = 0; c < SIM_CLASSES; c++) {
        int64_t left = sim_param_i64(params, 3), looks = sim_param_i64(params, 4), upto = low[c];
        sim_check_looked(backend->pid, shards, count, c, low[c]);
        int i = 0;
        for (; i < pg.jobs_count && left > 0 && looks > 0; i++) {
            const job_row_t *job = &pg.jobs[i];
            if (!job->used || job->seq <= low[c] || job->seq > high[c])
                continue;
            upto = job->seq;
            looks--;
            left -= job->due_us == NO_DUE;
            if (job->due_us == NO_DUE &&
                has_shard(shards, count, pg_endpoint(job->endpoint)->shard))
                job_out(*rows, job, true, false);
        }
        sim_rows_add(*rows); /* how far was read */
        sim_row_i64(*rows, 0, i == pg.jobs_count ? high[c] : upto);
        sim_row_i16(*rows, 1, c);
        sim_row_bool(*rows, 2, false);
    }
    return PR_OK;
}

pr_rc_t pg_cursors(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                   pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(2);
    for (int c = 0; c < SIM_CLASSES; c++) {
        sim_rows_add(*rows);
        sim_row_i16(*rows, 0, c);
        sim_row_i64(*rows, 1, pg.ticks[c].seq);
    }
    return PR_OK;
}

/* The next dated job of the pair after (due, seq) `after`; NULL: none. */
static const job_row_t *next_dated(int64_t endpoint, int64_t class_no, const job_row_t *after)
{
    const job_row_t *next = NULL;
    for (int i = 0; i < pg.jobs_count; i++) {
        const job_row_t *job = &pg.jobs[i];
        if (!job->used || job->endpoint != endpoint || job->class_no != class_no ||
            job->due_us == NO_DUE)
            continue;
        if (after && (job->due_us < after->due_us ||
                      (job->due_us == after->due_us && job->seq <= after->seq)))
            continue;
        if (!next || job->due_us < next->due_us ||
            (job->due_us == next->due_us && job->seq < next->seq))
            next = job;
    }
    return next;
}

pr_rc_t pg_dated_pairs(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                       pr_error_t *error)
{
    (void)backend;
    (void)error;
    int count;
    const int64_t *shards = sim_param_i64s(params, 0, &count);
    *rows = sim_rows_new(3);
    for (int e = 0; e < pg.endpoints_count; e++) {
        for (int c = 0; c < SIM_CLASSES && has_shard(shards, count, pg.endpoints[e].shard); c++) {
            const job_row_t *job = next_dated(pg.endpoints[e].id, c, NULL);
            if (!job)
                continue;
            sim_rows_add(*rows);
            sim_row_i64(*rows, 0, job->endpoint);
            sim_row_i16(*rows, 1, c);
            sim_row_i64(*rows, 2, (job->due_us - pg_now_us()) / 1000);
        }
    }
    return PR_OK;
}

pr_rc_t pg_page_due(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                    pr_error_t *error)
{
    (void)backend;
    (void)error;
    int count;
    const int64_t *endpoints = sim_param_i64s(params, 0, &count),
                  *classes = sim_param_i64s(params, 1, NULL);
    int64_t horizon_us = pg_now_us() + sim_param_i64(params, 2) * 1000;
    const int64_t *most = sim_param_i64s(params, 3, NULL);
    *rows = sim_rows_new(16);
    for (int i = 0; i < count; i++) {
        const job_row_t *job = NULL;
        int64_t left = most[i];
        while (left-- > 0 && (job = next_dated(endpoints[i], classes[i], job)) &&
               job->due_us <= horizon_us)
            job_out(*rows, job, true, true);
    }
    for (int i = 0; i < count; i++) {
        const job_row_t *job = NULL;
        while ((job = next_dated(endpoints[i], classes[i], job)) && job->due_us <= horizon_us) {
        }
        if (!job)
            continue;
        sim_rows_add(*rows);
        sim_row_i64(*rows, 0, 0);
        sim_row_i16(*rows, 1, classes[i]);
        sim_row_bool(*rows, 2, false);
        sim_row_i64(*rows, 6, endpoints[i]);
        sim_row_i64(*rows, 9, (job->due_us - pg_now_us() + 999) / 1000);
    }
    return PR_OK;
}

pr_rc_t pg_load_endpoints(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                          pr_error_t *error)
{
    (void)backend;
    (void)error;
    int64_t since = strtoll(sim_param_text(params, 0), NULL, 10);
    char horizon[24];
    snprintf(horizon, sizeof horizon, "%" PRId64, pg_snapshot().xmin);
    *rows = sim_rows_new(21);
    for (int i = 0; i < pg.endpoints_count; i++) {
        const endpoint_tuple_t *endpoint = &pg.endpoints[i];
        if (endpoint->tx < since)
            continue;
        sim_rows_add(*rows);
        sim_row_text(*rows, 0, horizon);
        sim_row_i64(*rows, 1, endpoint->id);
        sim_row_text(*rows, 2, "m");
        sim_row_i16(*rows, 3, endpoint->shard);
        char url[64];
        snprintf(url, sizeof url, "https://merchant.example/%" PRId64, endpoint->id);
        sim_row_text(*rows, 4, url);
        sim_row_text(*rows, 5, "postrider");
        sim_row_bytes(*rows, 6, "sealed", 6);
        sim_row_text(*rows, 9, "default");
        sim_row_text(*rows, 10, "");
        sim_row_text(*rows, 14, "{}");
        sim_row_bool(*rows, 17, false);
        sim_row_bool(*rows, 18, endpoint->active || strcmp(endpoint->reason, "failing") == 0);
        if (endpoint->paused_until_us > 0)
            sim_row_i64(*rows, 20, (endpoint->paused_until_us - pg_now_us()) / 1000);
    }
    if (pr_rows_count(*rows) == 0) {
        sim_rows_add(*rows);
        sim_row_text(*rows, 0, horizon);
    }
    return PR_OK;
}

pr_rc_t pg_pause_endpoints(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                           pr_error_t *error)
{
    (void)error;
    int count;
    const int64_t *ids = sim_param_i64s(params, 0, &count), *ms = sim_param_i64s(params, 1, NULL);
    int64_t longer = 0;
    for (int i = 0; i < count; i++) {
        endpoint_tuple_t *endpoint = pg_endpoint(ids[i]);
        int64_t until_us = pg_now_us() + ms[i] * 1000;
        if (!endpoint || endpoint->paused_until_us >= until_us)
            continue;
        int64_t xid = pg_xid();
        PG_TOUCH(*endpoint);
        endpoint->paused_until_us = until_us;
        endpoint->tx = xid;
        longer++;
    }
    if (longer > 0)
        pg_commit(backend->async);
    *rows = sim_rows_new(1);
    sim_rows_add(*rows);
    sim_row_i64(*rows, 0, longer);
    return PR_OK;
}

pr_rc_t pg_load_cancelled(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                          pr_error_t *error)
{
    (void)backend;
    (void)error;
    int64_t since = strtoll(sim_param_text(params, 0), NULL, 10);
    char horizon[24];
    snprintf(horizon, sizeof horizon, "%" PRId64, pg_snapshot().xmin);
    *rows = sim_rows_new(3);
    sim_rows_add(*rows);
    sim_row_text(*rows, 0, horizon);
    for (int i = 0; i < pg.cancelled_count; i++) {
        const cancelled_row_t *row = &pg.cancelled[i];
        if (row->tx < since || row->endpoint == 0)
            continue;
        sim_rows_add(*rows);
        sim_row_i64(*rows, 1, row->outbox_id);
        sim_row_i64(*rows, 2, row->endpoint);
    }
    return PR_OK;
}

/* ---- results ---- */

static job_row_t *job_of(int64_t seq)
{
    for (int i = pg.jobs_count; i-- > 0;)
        if (pg.jobs[i].used && pg.jobs[i].seq == seq)
            return &pg.jobs[i];
    return NULL;
}

static void attempt_add(int64_t outbox_id, int64_t endpoint, uint64_t salt, int attempt,
                        int outcome)
{
    pr_assert(pg.attempts_count < ATTEMPTS_MAX);
    PG_TOUCH(pg.attempts_count);
    attempt_row_t *row = &pg.attempts[pg.attempts_count++];
    PG_TOUCH(*row);
    *row = (attempt_row_t){outbox_id, endpoint, salt, attempt, outcome};
}

typedef struct {
    int64_t outbox_id, endpoint;
    int tries;
    bool expired;
} letter_t;

static void write_letter_late(void *arg, uint64_t unused)
{
    (void)unused;
    letter_t *letter = arg;
    if (sim_pg_up()) {
        pg_dead_add(letter->outbox_id, letter->endpoint, letter->tries, letter->expired);
        pg_commit(false);
    }
    pr_free(letter);
}

static void write_letter(int64_t outbox_id, int64_t endpoint, int tries, bool expired)
{
    if (sim->mutant != MUTANT_DEAD_APART) {
        pg_dead_add(outbox_id, endpoint, tries, expired);
        return;
    }
    letter_t *letter = PR_NEW(letter_t);
    *letter = (letter_t){outbox_id, endpoint, tries, expired};
    sim_at(sim->now_us + SIM_MS, write_letter_late, letter, 0);
}

/* One result that may be the job's; true: it is. */
static bool apply(const pr_params_t *params, int i, int session)
{
    int64_t seq = sim_param_i64s(params, 1, NULL)[i];
    uint64_t salt = (uint64_t)sim_param_i64s(params, 2, NULL)[i];
    int attempt = (int)sim_param_i64s(params, 3, NULL)[i];
    int64_t end = sim_param_i64s(params, 4, NULL)[i];
    int outcome = (int)sim_param_i64s(params, 7, NULL)[i];
    job_row_t *job = job_of(seq);
    bool fits = job && job->salt == salt && job->attempt == attempt;
    if (!fits && !(job && sim->mutant == MUTANT_NO_TOKEN)) {
        if (sim->mutant == MUTANT_ATTEMPT_ALWAYS && job && outcome > 0)
            attempt_add(job->outbox_id, job->endpoint, salt, job->tried_before + attempt + 1,
                        outcome);
        sim_trace("db: result of seq %" PRId64 " try %d is stale", seq & 0xffffff, attempt);
        return false;
    }
    if (sim->mutant == MUTANT_NONE || fits)
        sim_check_result(&(sim_token_t){salt, (uint32_t)attempt, seq}, end == 0, outcome,
                         pg_now_us() - job->born_us);
    int64_t outbox_id = job->outbox_id, endpoint = job->endpoint;
    int tries = job->tried_before + attempt;
    sim_trace("db: session %d: outbox %" PRId64 "/%" PRId64 " try %d: %s", session, outbox_id,
              endpoint, tries + 1,
              end == 0   ? "again"
              : end == 1 ? "delivered"
                         : "dead");
    if (end == 0) {
        PG_TOUCH(*job);
        int64_t delay_us = sim_param_i64s(params, 5, NULL)[i] * 1000;
        job->due_us = pg_now_us() + delay_us;
        if (sim_param_null_at(params, 6, i))
            job->attempt++;
        else
            job->salt = (uint64_t)sim_param_i64s(params, 6, NULL)[i];
    } else {
        pg_job_delete(job);
    }
    if (end == 2)
        write_letter(outbox_id, endpoint, tries + (outcome > 0),
                     strcmp(sim_param_text_at(params, 14, i), "expired") == 0);
    if (outcome > 0)
        attempt_add(outbox_id, endpoint, salt, tries + 1, outcome);
    return true;
}

pr_rc_t pg_apply_results(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                         pr_error_t *error)
{
    int session = pg_session(sim_param_uuid(params, 0)), count;
    bool living = alive(session) || sim->mutant == MUTANT_NO_FENCE;
    const int64_t *seqs = sim_param_i64s(params, 1, &count);
    for (int i = 0; i < count && living; i++)
        if (sim_param_i64s(params, 13, NULL)[i] == 0)
            return pr_error_set(error, PR_BAD, "db", "22021", "a bad byte in an excerpt");
    *rows = sim_rows_new(2);
    if (living)
        (void)pg_xid();
    for (int i = 0; i < count && living; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again = again || seqs[k] == seqs[i];
        if (again || !apply(params, i, session))
            continue;
        if (!alive(session))
            sim_fail("a session that was ended wrote the result of seq %" PRId64, seqs[i]);
        sim_rows_add(*rows);
        sim_row_bool(*rows, 0, true);
        sim_row_i64(*rows, 1, seqs[i]);
    }
    if (pr_rows_count(*rows) == 0) {
        sim_rows_add(*rows);
        sim_row_bool(*rows, 0, living);
    }
    pg_commit(backend->async);
    return PR_OK;
}

pr_rc_t pg_late_attempt(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                        pr_error_t *error)
{
    (void)error;
    *rows = sim_rows_new(1);
    int64_t outbox_id = sim_param_i64(params, 1), endpoint = sim_param_i64(params, 2);
    int outcome = (int)sim_param_i64(params, 4);
    if (!alive(pg_session(sim_param_uuid(params, 0))) || !pg_is_cancelled(outbox_id, endpoint))
        return PR_OK;
    (void)pg_xid();
    for (int i = 0;
         i < pg.cancelled_count && outcome == 1 && sim->mutant != MUTANT_LATE_ATTEMPT_KEEPS; i++) {
        cancelled_row_t *row = &pg.cancelled[i];
        if (row->outbox_id != outbox_id || row->endpoint != endpoint)
            continue;
        PG_TOUCH(*row);
        row->outbox_id = 0; /* deleted */
    }
    attempt_add(outbox_id, endpoint, 0, (int)sim_param_i64(params, 3), outcome);
    pg_commit(backend->async);
    return PR_OK;
}

pr_rc_t pg_date_first_tries(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                            pr_error_t *error)
{
    (void)error;
    int count;
    const int64_t *seqs = sim_param_i64s(params, 1, &count),
                  *salts = sim_param_i64s(params, 2, NULL);
    *rows = sim_rows_new(1);
    if (!alive(pg_session(sim_param_uuid(params, 0))))
        return PR_OK;
    (void)pg_xid();
    for (int i = 0; i < count; i++) {
        job_row_t *job = job_of(seqs[i]);
        if (!job || job->salt != (uint64_t)salts[i] || job->attempt != 0 || job->due_us != NO_DUE)
            continue;
        PG_TOUCH(job->due_us);
        job->due_us = pg_now_us();
        sim_rows_add(*rows);
        sim_row_i64(*rows, 0, seqs[i]);
    }
    pg_commit(backend->async);
    return PR_OK;
}

pr_rc_t pg_expire_held(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                       pr_error_t *error)
{
    (void)error;
    int known;
    int64_t endpoint = sim_param_i64(params, 1), most = sim_param_i64(params, 4);
    int64_t born_us = pg_now_us() - sim_param_i64(params, 2) * 1000;
    const int64_t *seqs = sim_param_i64s(params, 3, &known);
    *rows = sim_rows_new(4);
    if (!alive(pg_session(sim_param_uuid(params, 0))))
        return PR_OK;
    (void)pg_xid();
    for (int i = 0; i < pg.jobs_count && pr_rows_count(*rows) < most; i++) {
        job_row_t *job = &pg.jobs[i];
        if (!job->used || job->endpoint != endpoint || job->due_us == NO_DUE ||
            job->born_us > born_us)
            continue;
        bool in_memory = false;
        for (int k = 0; k < known; k++)
            in_memory = in_memory || seqs[k] == job->seq;
        if (in_memory)
            continue;
        pg_job_delete(job);
        pg_dead_add(job->outbox_id, endpoint, job->tried_before + job->attempt, true);
        sim_rows_add(*rows);
        sim_row_i64(*rows, 0, job->outbox_id);
        sim_row_i32(*rows, 1, job->tried_before + job->attempt);
    }
    pg_commit(backend->async);
    return PR_OK;
}

/* ---- by name ---- */

static const struct {
    const char *name;
    sim_statement_fn *fn;
} statements[] = {
    {"scheduler.acquire_shards", pg_acquire_shards},
    {"scheduler.apply_results", pg_apply_results},
    {"scheduler.beat", pg_beat},
    {"scheduler.cursors", pg_cursors},
    {"scheduler.date_first_tries", pg_date_first_tries},
    {"scheduler.dated_pairs", pg_dated_pairs},
    {"scheduler.end_session", pg_end_session_statement},
    {"scheduler.expire_held", pg_expire_held},
    {"scheduler.late_attempt", pg_late_attempt},
    {"scheduler.load_cancelled", pg_load_cancelled},
    {"scheduler.load_endpoints", pg_load_endpoints},
    {"scheduler.load_first_tries", pg_load_first_tries},
    {"scheduler.load_new", pg_load_new},
    {"scheduler.open_session", pg_open_session},
    {"scheduler.owned_shards", pg_owned_shards},
    {"scheduler.page_due", pg_page_due},
    {"scheduler.pause_endpoints", pg_pause_endpoints},
    {"scheduler.prove_reader", pg_prove_reader},
    {"scheduler.release_shards", pg_release_shards},
    {"scheduler.resume_session", pg_resume_session},
    {"outbox-relay.check_cluster", pg_check_cluster},
    {"outbox-relay.follow_timeline", pg_follow_timeline},
    {"outbox-relay.move_plain", pg_move_plain},
    {"outbox-relay.move_window", pg_move_window},
    {"outbox-relay.peek_windows", pg_peek_windows},
    {"outbox-relay.set_session", pg_set_session},
    {"outbox-relay.supersede", pg_supersede},
    {"circuit-breaker.clear_failing", pg_clear_failing},
    {"circuit-breaker.disable_failing", pg_disable_failing},
    {"circuit-breaker.disable_gone", pg_disable_gone},
    {"circuit-breaker.load_watch", pg_load_watch},
    {"circuit-breaker.mark_failing", pg_mark_failing},
    {"circuit-breaker.mark_open", pg_mark_open},
    {"circuit-breaker.set_forced", pg_set_forced},
    {"dead-letter.announce_alert", pg_announce_alert},
    {"dead-letter.drop_history", pg_drop_history},
    {"dead-letter.ensure_partitions", pg_ensure_partitions},
    {"dead-letter.purge_history", pg_purge_history},
    {"dead-letter.scan_dead", pg_scan_dead},
    {"dead-letter.step_redrives", pg_step_redrives},
    {"dead-letter.take_alerts", pg_take_alerts},
};

sim_statement_fn *sim_pg_statement(const char *name)
{
    for (size_t i = 0; i < PR_COUNT(statements); i++)
        if (strcmp(statements[i].name, name) == 0)
            return statements[i].fn;
    fprintf(stderr, "tests/sim: the model has no statement %s: add it to sim_pg_*.c\n", name);
    exit(2);
}
