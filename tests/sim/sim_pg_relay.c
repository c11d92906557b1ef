/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements of outbox-relay, circuit-breaker and dead-letter, as sql/queries has them.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "sim_pg_statements.h"

#include <inttypes.h>
#include <string.h>

/* ---- outbox-relay ---- */

pr_rc_t pg_set_session(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                       pr_error_t *error)
{
    (void)params;
    (void)error;
    backend->async = true;
    *rows = sim_rows_new(1);
    return PR_OK;
}

bool pg_follow(int pid)
{
    if (pg.timeline == pg_real_timeline())
        return false;
    PG_TOUCH(pg.timeline);
    PG_TOUCH(pg.next_outbox_id);
    pg.timeline = pg_real_timeline();
    pg.next_outbox_id += 1000001;
    for (int i = 0; i < pg.sessions_count; i++)
        if (!pg.sessions[i].ended)
            (void)pg_end_session(i, pid);
    return true;
}

pr_rc_t pg_follow_timeline(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                           pr_error_t *error)
{
    (void)params;
    (void)error;
    bool promoted = pg_follow(backend->pid);
    pg_commit(backend->async);
    *rows = sim_rows_new(1);
    sim_rows_add(*rows);
    sim_row_bool(*rows, 0, promoted);
    return PR_OK;
}

pr_rc_t pg_check_cluster(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                         pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    bool ahead = false;
    for (int c = 0; c < SIM_CLASSES; c++)
        ahead = ahead || pg.ticks[c].hi.xmax > pg.next_xid;
    *rows = sim_rows_new(3);
    sim_rows_add(*rows);
    sim_row_i64(*rows, 0, 4711);
    sim_row_bool(*rows, 1, !ahead);
    if (ahead)
        sim_row_text(*rows, 2, "the cursor is ahead of this database");
    return PR_OK;
}

pr_rc_t pg_peek_windows(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                        pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(2);
    for (int c = 0; c < SIM_CLASSES; c++) {
        const tick_row_t *tick = &pg.ticks[c];
        bool named = tick->more;
        for (int i = 0; i < pg.outbox_count && !named; i++)
            named = pg.outbox[i].class_no == c && pg_committed(pg.outbox[i].tx) &&
                    !pg_in_snapshot(pg.outbox[i].tx, &tick->hi);
        if (!named && sim->mutant == MUTANT_ID_CURSOR)
            for (int i = 0; i < pg.outbox_count; i++)
                named = named || (pg.outbox[i].class_no == c && pg.outbox[i].id > tick->di);
        if (!named)
            continue;
        sim_rows_add(*rows);
        sim_row_i16(*rows, 0, c);
        sim_row_bool(*rows, 1, false);
    }
    return PR_OK;
}

/* The rows of the window, in (tx, id) order, at most `most`. */
static int window_rows(const tick_row_t *w, int class_no, int64_t most, outbox_row_t **out)
{
    int count = 0;
    for (int i = 0; i < pg.outbox_count; i++) {
        outbox_row_t *row = &pg.outbox[i];
        bool committed = pg_committed(row->tx) || (sim->mutant == MUTANT_UNCOMMITTED_MOVED &&
                                                   pg.xids[row->tx] == XID_RUNNING);
        if (row->class_no != class_no || !committed)
            continue;
        bool inside = !pg_in_snapshot(row->tx, &w->lo) && pg_in_snapshot(row->tx, &w->hi) &&
                      (row->tx > w->dt || (row->tx == w->dt && row->id > w->di));
        if (sim->mutant == MUTANT_UNCOMMITTED_MOVED)
            inside = row->tx > w->dt || (row->tx == w->dt && row->id > w->di);
        if (sim->mutant == MUTANT_ID_CURSOR)
            inside = row->id > pg.ticks[class_no].di;
        if (!inside)
            continue;
        int at = count;
        for (; at > 0 && (out[at - 1]->tx > row->tx ||
                          (out[at - 1]->tx == row->tx && out[at - 1]->id > row->id));
             at--)
            out[at] = out[at - 1];
        out[at] = row;
        count++;
    }
    return count < most ? count : (int)most;
}

static void job_add(int64_t seq, int class_no, int64_t outbox_id, int64_t endpoint,
                    int tried_before, uint64_t salt, int64_t born_us)
{
    pr_assert(pg.jobs_count < JOBS_MAX);
    PG_TOUCH(pg.jobs_count);
    job_row_t *job = &pg.jobs[pg.jobs_count++];
    PG_TOUCH(*job);
    *job = (job_row_t){.used = true,
                       .seq = seq,
                       .outbox_id = outbox_id,
                       .endpoint = endpoint,
                       .class_no = class_no,
                       .salt = salt,
                       .tried_before = tried_before,
                       .born_us = born_us,
                       .moved_us = sim->now_us,
                       .due_us = NO_DUE};
}

static uint64_t hash_of(const uint8_t id[16])
{
    uint64_t a, b;
    memcpy(&a, id, 8);
    memcpy(&b, id + 8, 8);
    return (a ^ b * 0x9e3779b97f4a7c15u) | 1;
}

/* One row of the window becomes jobs or an end. */
static int move_row(const outbox_row_t *row, int class_no, int64_t *seq)
{
    int born = 0;
    if (row->kind == 0) {
        for (int e = 0; e < pg.endpoints_count && !row->cancel; e++) {
            if (pg.endpoints[e].merchant != row->merchant)
                continue;
            job_add(++*seq, class_no, row->id, pg.endpoints[e].id, 0, hash_of(row->notify_id),
                    row->at_us);
            born++;
        }
        if (born == 0)
            pg_cancelled_add(row->id, 0);
    } else if (row->kind == 1 && row->cancel) {
        pg_cancelled_add(row->ref_id, row->ref_endpoint);
    } else if (row->kind == 1) {
        const dead_row_t *dead = pg_dead(row->ref_id, row->ref_endpoint);
        if (dead) {
            job_add(++*seq, class_no, row->ref_id, row->ref_endpoint, dead->tries, sim_random() | 1,
                    pg_now_us());
            born++;
        }
    } else {
        for (int i = 0; i < pg.jobs_count; i++) {
            job_row_t *job = &pg.jobs[i];
            if (job->used && job->outbox_id == row->ref_id) {
                pg_job_delete(job);
                pg_cancelled_add(row->ref_id, job->endpoint);
            }
        }
    }
    return born;
}

/* The last column is move_plain's alone. */
static void moved_row(pr_rows_t *rows, int moved, int jobs, int64_t last_seq, bool more, bool plain)
{
    sim_rows_add(rows);
    sim_row_i32(rows, 0, moved);
    sim_row_i32(rows, 1, jobs);
    sim_row_i64(rows, 2, last_seq);
    sim_row_bool(rows, 3, more);
    sim_row_bool(rows, 4, true);
    sim_row_bool(rows, 5, plain);
}

/* The bounds of the window that comes after a tick. */
static tick_row_t window_of(const tick_row_t *tick)
{
    tick_row_t w = *tick;
    w.lo = tick->more ? tick->lo : tick->hi;
    w.hi = tick->more ? tick->hi : pg_snapshot();
    w.dt = tick->more ? tick->dt : 0;
    w.di = tick->more ? tick->di : 0;
    if (sim->mutant == MUTANT_ID_CURSOR)
        w.di = tick->di;
    if (sim->mutant == MUTANT_UNCOMMITTED_MOVED) {
        w.dt = tick->dt;
        w.di = tick->di;
    }
    return w;
}

static bool has_endpoint(int merchant)
{
    for (int e = 0; e < pg.endpoints_count; e++)
        if (pg.endpoints[e].merchant == merchant)
            return true;
    return false;
}

/* Left alone unless each row is a notification, not cancelled, for an endpoint. */
pr_rc_t pg_move_plain(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                      pr_error_t *error)
{
    int class_no = (int)sim_param_i64(params, 0);
    const tick_row_t *tick = &pg.ticks[class_no];
    tick_row_t w = window_of(tick);
    outbox_row_t *window[OUTBOX_MAX];
    int count = window_rows(&w, class_no, sim_param_i64(params, 2), window);
    bool plain = true;
    for (int i = 0; i < count && plain; i++)
        plain = window[i]->kind == 0 && !window[i]->cancel && has_endpoint(window[i]->merchant);
    if (plain)
        return pg_move_window(backend, params, rows, error);
    *rows = sim_rows_new(6);
    moved_row(*rows, 0, 0, tick->seq, true, false);
    return PR_OK;
}

pr_rc_t pg_move_window(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                       pr_error_t *error)
{
    (void)error;
    int class_no = (int)sim_param_i64(params, 0);
    int64_t most = sim_param_i64(params, 2);
    tick_row_t *tick = &pg.ticks[class_no];
    tick_row_t w = window_of(tick);
    *rows = sim_rows_new(6);
    outbox_row_t *window[OUTBOX_MAX];
    int count = window_rows(&w, class_no, most, window), jobs = 0;
    if (count == 0 && w.dt == 0) {
        moved_row(*rows, 0, 0, tick->seq, false, true);
        return PR_OK;
    }
    (void)pg_xid();
    PG_TOUCH(*tick);
    int64_t seq = tick->seq;
    for (int i = 0; i < count; i++)
        jobs += move_row(window[i], class_no, &seq);
    tick_row_t next = w;
    next.n = tick->n + 1;
    next.more = count == most;
    next.seq = seq;
    if (count > 0) {
        next.dt = window[count - 1]->tx;
        next.di = window[count - 1]->id;
    }
    if (sim->mutant == MUTANT_TICK_APART && sim_chance(3))
        next = *tick; /* its own transaction, and it was lost */
    *tick = next;
    if (count > 0)
        sim_trace("db: relay moves %d rows of class %d: %d jobs, seq %" PRId64, count, class_no,
                  jobs, seq & ((INT64_C(1) << CLASS_SHIFT_SIM) - 1));
    pg_commit(backend->async);
    moved_row(*rows, count, jobs, seq, next.more, true);
    return PR_OK;
}

pr_rc_t pg_supersede(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                     pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(1);
    sim_rows_add(*rows);
    sim_row_i32(*rows, 0, 0);
    return PR_OK;
}

/* ---- circuit-breaker ---- */

pr_rc_t pg_load_watch(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                      pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(5);
    for (int i = 0; i < pg.endpoints_count; i++) {
        const endpoint_tuple_t *endpoint = &pg.endpoints[i];
        if (endpoint->failing_since_us == 0)
            continue;
        sim_rows_add(*rows);
        sim_row_i64(*rows, 0, endpoint->id);
        sim_row_text(*rows, 1, "m");
        sim_row_null(*rows, 2);
        sim_row_bool(*rows, 3, true);
        sim_row_i64(*rows, 4, (pg_now_us() - endpoint->failing_since_us) / 1000);
    }
    return PR_OK;
}

static pr_rc_t one_bool(pr_rows_t **rows, bool value)
{
    *rows = sim_rows_new(1);
    sim_rows_add(*rows);
    sim_row_bool(*rows, 0, value);
    return PR_OK;
}

pr_rc_t pg_mark_failing(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                        pr_error_t *error)
{
    (void)error;
    endpoint_tuple_t *endpoint = pg_endpoint(sim_param_i64(params, 0));
    bool marked = endpoint && endpoint->failing_since_us == 0;
    if (marked) {
        PG_TOUCH(endpoint->failing_since_us);
        endpoint->failing_since_us = pg_now_us();
        pg_commit(backend->async);
    }
    return one_bool(rows, marked);
}

/* What it writes is for people (notification_status.phase): no actor reads it. */
pr_rc_t pg_mark_open(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                     pr_error_t *error)
{
    (void)error;
    (void)backend;
    return one_bool(rows, pg_endpoint(sim_param_i64(params, 0)) != NULL);
}

static void switch_endpoint(endpoint_tuple_t *endpoint, bool active, const char *reason)
{
    int64_t xid = pg_xid();
    PG_TOUCH(*endpoint);
    endpoint->active = active;
    endpoint->off_us = sim->now_us;
    endpoint->tx = xid;
    memset(endpoint->reason, 0, sizeof endpoint->reason);
    memcpy(endpoint->reason, reason, strlen(reason));
}

pr_rc_t pg_clear_failing(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                         pr_error_t *error)
{
    (void)error;
    endpoint_tuple_t *endpoint = pg_endpoint(sim_param_i64(params, 0));
    bool marked = endpoint && endpoint->failing_since_us != 0;
    if (marked) {
        PG_TOUCH(endpoint->failing_since_us);
        endpoint->failing_since_us = 0;
    }
    if (endpoint && !endpoint->active && strcmp(endpoint->reason, "failing") == 0)
        switch_endpoint(endpoint, true, "recovered");
    pg_commit(backend->async);
    return one_bool(rows, marked);
}

static pr_rc_t disable(sim_backend_t *backend, int64_t id, const char *why, bool really,
                       pr_rows_t **rows)
{
    endpoint_tuple_t *endpoint = pg_endpoint(id);
    *rows = sim_rows_new(1);
    if (!endpoint || !endpoint->active || !really)
        return PR_OK;
    switch_endpoint(endpoint, false, why);
    sim_trace("db: endpoint %" PRId64 " is switched off: %s", id, why);
    pg_commit(backend->async);
    sim_rows_add(*rows);
    sim_row_text(*rows, 0, "m");
    return PR_OK;
}

pr_rc_t pg_disable_gone(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                        pr_error_t *error)
{
    (void)error;
    return disable(backend, sim_param_i64(params, 0), "410", true, rows);
}

pr_rc_t pg_disable_failing(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                           pr_error_t *error)
{
    (void)error;
    const endpoint_tuple_t *endpoint = pg_endpoint(sim_param_i64(params, 0));
    bool long_enough = endpoint && endpoint->failing_since_us != 0 &&
                       endpoint->failing_since_us <= pg_now_us() - sim_param_i64(params, 1) * 1000;
    return disable(backend, sim_param_i64(params, 0), "failing", long_enough, rows);
}

pr_rc_t pg_set_forced(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                      pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(1);
    return PR_OK;
}

/* ---- dead-letter ---- */

pr_rc_t pg_scan_dead(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                     pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    int64_t open = 0;
    for (int i = 0; i < pg.dead_count; i++)
        open += pg.dead[i].state == DEAD_OPEN;
    *rows = sim_rows_new(1);
    sim_rows_add(*rows);
    sim_row_i64(*rows, 0, open);
    return PR_OK;
}

pr_rc_t pg_take_alerts(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                       pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(6);
    return PR_OK;
}

pr_rc_t pg_announce_alert(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                          pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(3);
    sim_rows_add(*rows);
    sim_row_i64(*rows, 0, 1);
    sim_row_bool(*rows, 1, false);
    sim_row_i64(*rows, 2, 1);
    return PR_OK;
}

pr_rc_t pg_step_redrives(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                         pr_error_t *error)
{
    (void)params;
    (void)error;
    int driven = 0;
    if (pg.redrive_since_us != 0) {
        driven = pg_redrive(pg.redrive_since_us);
        PG_TOUCH(pg.redrive_since_us);
        pg.redrive_since_us = 0;
        pg_commit(backend->async);
        sim_trace("db: dead-letter drives %d letters again", driven);
    }
    *rows = sim_rows_new(2);
    sim_rows_add(*rows);
    sim_row_i64(*rows, 0, driven);
    sim_row_i32(*rows, 1, 0);
    return PR_OK;
}

pr_rc_t pg_ensure_partitions(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                             pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(2);
    sim_rows_add(*rows);
    sim_row_i64(*rows, 0, 0);
    sim_row_i32(*rows, 1, 0);
    return PR_OK;
}

pr_rc_t pg_drop_history(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                        pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(2);
    sim_rows_add(*rows);
    return PR_OK;
}

pr_rc_t pg_purge_history(sim_backend_t *backend, const pr_params_t *params, pr_rows_t **rows,
                         pr_error_t *error)
{
    (void)backend;
    (void)params;
    (void)error;
    *rows = sim_rows_new(1);
    sim_rows_add(*rows);
    sim_row_i64(*rows, 0, 0);
    return PR_OK;
}
