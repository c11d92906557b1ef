/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/reconciler/reconciler_io.h"

#include "actors/reconciler/reconciler_private.h"
#include "base/alloc.h"
#include "base/log.h"
#include "sql/migrations.h"
#include "sql/reconciler.h"

#include <inttypes.h>
#include <string.h>

#define MATCH_ROWS 5000 /* of one step: half a second */
#define POOL_ROWS 5000
#define SWEEP_ROWS 10000
#define PURGE_ROWS 5000
#define MATCH_MS 5000 /* a file that somebody else imported or released */
#define POOL_MS (600 * 1000)
#define DELIVERIES_MS (60 * 1000)
#define STATEMENT_TIMEOUT_MS (10 * 60 * 1000) /* a day's payments are one statement */

/* ---- what the chores came to ---- */

static void chore_done(const recon_ref_t *ref, bool good, bool more)
{
    recon_give(ref->io,
               &(pr_recon_event_t){
                   .kind = PR_RECON_CHORE_DONE, .chore = ref->chore, .good = good, .more = more});
}

/* True: it failed, and that is said. */
static bool has_failed(const recon_ref_t *ref, pr_rc_t rc, const char *event,
                       const pr_error_t *error)
{
    if (rc == PR_OK) {
        return false;
    }
    if (rc == PR_FATAL) {
        pr_actor_fail(ref->io->actor, rc, error);
    } else if (!ref->io->stopping) {
        pr_log_error(PR_LOG_WARN, event, error);
    }
    chore_done(ref, false, false);
    return true;
}

static void copy_text(char *out, size_t size, const pr_rows_t *rows, int row, int column)
{
    (void)snprintf(out, size, "%s",
                   pr_rows_null(rows, row, column) ? "" : pr_rows_text(rows, row, column));
}

/* channel, day, source, format, tries, late, correct */
static void on_due(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const recon_ref_t *ref = arg;
    recon_io_t *self = ref->io;
    if (has_failed(ref, rc, "due.failed", error)) {
        return;
    }
    self->nday = pr_rows_count(rows);
    self->next_day = 0;
    for (int i = 0; i < self->nday; i++) {
        recon_day_t *day = &self->days[i];
        copy_text(day->channel, sizeof day->channel, rows, i, 0);
        copy_text(day->day, sizeof day->day, rows, i, 1);
        copy_text(day->source, sizeof day->source, rows, i, 2);
        copy_text(day->format, sizeof day->format, rows, i, 3);
        day->correct = pr_rows_bool(rows, i, 6);
    }
    int count = self->nday;
    chore_done(ref, true, false);
    recon_give(self, &(pr_recon_event_t){.kind = PR_RECON_TAKEN, .count = count});
}

/* state, matched_to, items */
static void on_matched(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const recon_ref_t *ref = arg;
    if (has_failed(ref, rc, "match.failed", error)) {
        return;
    }
    const char *state = pr_rows_text(rows, 0, 0);
    if (strcmp(state, "imported") != 0) {
        pr_log_info("statement.matched", "file=%lld state=%s items=%lld",
                    (long long)ref->io->matching, state, (long long)pr_rows_i64(rows, 0, 2));
    }
    chore_done(ref, true, true);
}

/* file_id, channel, day */
static void on_open_files(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    recon_ref_t *ref = arg;
    recon_io_t *self = ref->io;
    if (has_failed(ref, rc, "match.failed", error)) {
        return;
    }
    if (pr_rows_count(rows) == 0) {
        chore_done(ref, true, false);
        return;
    }
    self->matching = pr_rows_i64(rows, 0, 0);
    pr_params_clear(self->params);
    pr_params_add_i64(self->params, self->matching);
    pr_params_add_i32(self->params, MATCH_ROWS);
    if (pr_db_query(self->db, PR_SQL_RECONCILER_MATCH_STEP, self->params, on_matched, ref) !=
        PR_OK) {
        chore_done(ref, false, false);
    }
}

/* settled, opened */
static void on_pool(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const recon_ref_t *ref = arg;
    if (has_failed(ref, rc, "pool.failed", error)) {
        return;
    }
    if (pr_rows_i64(rows, 0, 0) + pr_rows_i64(rows, 0, 1) > 0) {
        pr_log_info("pool.stepped", "settled=%lld opened=%lld", (long long)pr_rows_i64(rows, 0, 0),
                    (long long)pr_rows_i64(rows, 0, 1));
    }
    chore_done(ref, true, false);
}

/* opened, through */
static void on_deliveries(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const recon_ref_t *ref = arg;
    if (has_failed(ref, rc, "deliveries.failed", error)) {
        return;
    }
    if (pr_rows_i64(rows, 0, 0) > 0) {
        pr_log_info("deliveries.late", "opened=%lld", (long long)pr_rows_i64(rows, 0, 0));
    }
    chore_done(ref, true, pr_rows_i64(rows, 0, 0) == SWEEP_ROWS);
}

/* what, found, repaired, tasks */
static void on_swept(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const recon_ref_t *ref = arg;
    if (has_failed(ref, rc, "sweep.failed", error)) {
        return;
    }
    for (int i = 0; i < pr_rows_count(rows); i++) {
        if (pr_rows_i64(rows, i, 1) > 0) {
            pr_log(PR_LOG_WARN, "sweep.found", "found=%lld repaired=%lld tasks=%lld what=%s",
                   (long long)pr_rows_i64(rows, i, 1), (long long)pr_rows_i64(rows, i, 2),
                   (long long)pr_rows_i64(rows, i, 3), pr_rows_text(rows, i, 0));
        }
    }
    chore_done(ref, true, false);
}

/* gone */
static void on_purged(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const recon_ref_t *ref = arg;
    if (!has_failed(ref, rc, "purge.failed", error)) {
        chore_done(ref, true, pr_rows_i64(rows, 0, 0) >= PURGE_ROWS);
    }
}

static void on_missed(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const recon_io_t *self = arg;
    (void)rows;
    if (rc != PR_OK && !self->stopping) {
        pr_log_error(PR_LOG_WARN, "missed.not_written", error); /* its lease ends by itself */
    }
}

void recon_missed(recon_io_t *self, const char *why)
{
    pr_params_clear(self->params);
    pr_params_add_text(self->params, self->day.channel);
    pr_params_add_text(self->params, self->day.day);
    pr_params_add_text(self->params, why);
    if (pr_db_query(self->db, PR_SQL_RECONCILER_MISSED, self->params, on_missed, self) != PR_OK) {
        pr_log_limited(PR_LOG_WARN, "missed.not_written", "", "channel=%s", self->day.channel);
    }
}

/* ---- actions ---- */

static void run_chore(recon_io_t *self, pr_recon_chore_t chore)
{
    static const struct {
        int statement;
        pr_db_result_fn *done;
        int most;
    } table[PR_RECON_CHORES] = {
        [PR_RECON_DUE] = {PR_SQL_RECONCILER_DUE, on_due, PR_RECON_DUE_MAX},
        [PR_RECON_MATCH] = {PR_SQL_RECONCILER_OPEN_FILES, on_open_files, 1},
        [PR_RECON_POOL] = {PR_SQL_RECONCILER_POOL_STEP, on_pool, POOL_ROWS},
        [PR_RECON_DELIVERIES] = {PR_SQL_RECONCILER_DELIVERIES, on_deliveries, SWEEP_ROWS},
        [PR_RECON_SWEEP] = {PR_SQL_RECONCILER_SWEEP, on_swept, SWEEP_ROWS},
        [PR_RECON_PURGE] = {PR_SQL_RECONCILER_PURGE, on_purged, PURGE_ROWS},
    };
    pr_params_clear(self->params);
    if (chore == PR_RECON_DUE) {
        pr_params_add_text(self->params, pr_actor_id(self->actor));
    } else if (chore == PR_RECON_PURGE) {
        pr_params_add_i64(self->params, self->keep_calls_ms);
        pr_params_add_i64(self->params, self->keep_webhooks_ms);
        pr_params_add_i64(self->params, self->keep_statements_ms);
    }
    pr_params_add_i32(self->params, table[chore].most);
    recon_ref_t *ref = &self->refs[chore];
    if (pr_db_query(self->db, table[chore].statement, self->params, table[chore].done, ref) !=
        PR_OK) {
        chore_done(ref, false, false);
    }
}

static void perform(recon_io_t *self, const pr_recon_action_t *action)
{
    if (action->kind == PR_RECON_ACTION_CHORE) {
        run_chore(self, action->chore);
    } else if (action->kind == PR_RECON_ACTION_IMPORT) {
        self->day = self->days[self->next_day++];
        recon_import_begin(self);
    }
}

void recon_give(recon_io_t *self, const pr_recon_event_t *event)
{
    if (self->stopping) {
        return;
    }
    pr_recon_action_t actions[PR_RECON_ACTIONS_MAX];
    pr_loop_t *loop = pr_actor_loop(self->actor);
    int count = pr_recon_step(&self->step, event, pr_loop_now_ms(loop), actions);
    for (int i = 0; i < count; i++) {
        perform(self, &actions[i]);
    }
    pr_loop_timer_at(loop, self->timer, pr_recon_deadline_ms(&self->step));
}

static void on_timer(void *arg, int64_t now_ms)
{
    (void)now_ms;
    recon_give(arg, &(pr_recon_event_t){.kind = PR_RECON_TICK});
}

static void on_turn(void *arg, int64_t now_ms)
{
    recon_io_t *self = arg;
    if (self->download != NULL) {
        recon_download_turn(self->download, now_ms);
    }
    recon_import_turn(self);
    int64_t at_ms = self->download != NULL ? recon_download_deadline_ms(self->download) : INT64_MAX;
    pr_loop_timer_at(pr_actor_loop(self->actor), self->download_timer, at_ms);
}

static void on_download_timer(void *arg, int64_t now_ms)
{
    (void)arg, (void)now_ms; /* the turn does it all */
}

/* ---- life ---- */

static void on_ready(void *arg)
{
    recon_io_t *self = arg;
    pr_actor_ready(self->actor);
    recon_give(self, &(pr_recon_event_t){.kind = PR_RECON_CONNECTED});
}

static void on_lost(void *arg)
{
    recon_give(arg, &(pr_recon_event_t){.kind = PR_RECON_DISCONNECTED});
}

static void take_config(recon_io_t *self, const pr_config_t *config, pr_recon_policy_t *policy)
{
    pr_free(self->directory);
    self->directory = pr_strdup(pr_config_text(config, "reconciler.directory"));
    self->keep_calls_ms = pr_config_duration_ms(config, "retention");
    self->keep_webhooks_ms = pr_config_duration_ms(config, "reconciler.keep_webhooks");
    self->keep_statements_ms = pr_config_duration_ms(config, "reconciler.keep_statements");
    policy->period_ms[PR_RECON_DUE] = pr_config_duration_ms(config, "reconciler.scan");
    policy->period_ms[PR_RECON_MATCH] = MATCH_MS;
    policy->period_ms[PR_RECON_POOL] = POOL_MS;
    policy->period_ms[PR_RECON_DELIVERIES] = DELIVERIES_MS;
    policy->period_ms[PR_RECON_SWEEP] = pr_config_duration_ms(config, "reconciler.sweep");
    policy->period_ms[PR_RECON_PURGE] = pr_config_duration_ms(config, "reconciler.sweep");
}

static void stop(void **io)
{
    recon_io_t *self = *io;
    if (self == NULL) {
        return;
    }
    self->stopping = true;
    recon_import_drop(self);
    if (self->db != NULL) {
        pr_loop_remove_db(pr_actor_loop(self->actor), self->db);
        pr_db_destroy(&self->db);
    }
    pr_profile_dir_destroy(&self->profiles);
    pr_params_destroy(&self->params);
    pr_free(self->piece);
    pr_free(self->directory);
    pr_free(self->url);
    pr_free(self);
    *io = NULL;
}

static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    (void)error;
    const pr_config_t *config = pr_actor_config(actor);
    recon_io_t *self = PR_NEW(recon_io_t);
    *io = self;
    self->actor = actor;
    self->params = pr_params_new();
    self->url = pr_strdup(pr_config_text(config, "database.url"));
    self->profiles = pr_profile_dir_new(pr_config_text(config, "profiles_dir"));
    for (int i = 0; i < PR_RECON_CHORES; i++) {
        self->refs[i] = (recon_ref_t){.io = self, .chore = (pr_recon_chore_t)i};
    }
    pr_recon_policy_t policy;
    take_config(self, config, &policy);
    pr_recon_init(&self->step, &policy);
    pr_loop_t *loop = pr_actor_loop(actor);
    self->timer = pr_loop_add_timer(loop, INT64_MAX, 0, on_timer, self);
    self->download_timer = pr_loop_add_timer(loop, INT64_MAX, 0, on_download_timer, self);
    pr_loop_add_turn(loop, on_turn, self);
    self->db = pr_db_new(&(pr_db_options_t){.url = self->url,
                                            .application_name = "postrider reconciler",
                                            .role = "postrider_reconciler",
                                            .statement_timeout_ms = STATEMENT_TIMEOUT_MS,
                                            .statements = pr_sql_reconciler,
                                            .nstatements = PR_SQL_RECONCILER_COUNT,
                                            .schema_version = pr_migrations_count,
                                            .on_ready = on_ready,
                                            .on_lost = on_lost,
                                            .arg = self});
    pr_loop_add_db(loop, self->db);
    return PR_OK;
}

static pr_rc_t reload(void *io, const pr_config_t *config, pr_error_t *error)
{
    (void)error;
    recon_io_t *self = io;
    pr_recon_policy_t policy;
    take_config(self, config, &policy);
    pr_recon_set_policy(&self->step, &policy);
    return PR_OK;
}

static void drain(void *io, int64_t now_ms)
{
    (void)now_ms;
    recon_import_drop(io);
    recon_give(io, &(pr_recon_event_t){.kind = PR_RECON_DRAIN});
}

static bool drained(void *io)
{
    const recon_io_t *self = io;
    return pr_recon_drained(&self->step);
}

const pr_actor_spec_t pr_reconciler_spec = {
    .name = "reconciler",
    .summary = "Reads channels' statements each day and compares them with our payments; the daily "
               "sweep.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .reload = reload,
    .stop = stop,
};
