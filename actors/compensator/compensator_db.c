/* SPDX-License-Identifier: Apache-2.0
 *
 * compensator, the database: sql/queries/compensator.
 */
#include "actors/compensator/compensator_private.h"
#include "base/log.h"
#include "sql/compensator.h"
#include "sql/migrations.h"

#include <string.h>

#define SWEEP_MAX 200

static void report(const comp_t *self, pr_rc_t rc, const char *event, const pr_error_t *error)
{
    if (rc == PR_FATAL)
        pr_actor_fail(self->actor, rc, error);
    else if (!self->stopping)
        pr_log_error(PR_LOG_WARN, event, error);
}

/* ---- session ---- */

static void on_configured(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)rows;
    comp_t *self = arg;
    if (rc == PR_BAD && !self->stopping)
        pr_actor_fail(self->actor, PR_FATAL, error); /* the file says what the database refuses */
    else if (rc != PR_OK)
        report(self, rc, "configure.failed", error);
}

static void on_opened(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    comp_t *self = arg;
    bool good = rc == PR_OK && pr_rows_uuid(rows, 0, 0, self->session);
    if (!good)
        report(self, rc, "session.failed", error);
    comp_give(self, &(pr_comp_event_t){.kind = PR_COMP_OPENED, .good = good});
    if (!good)
        return;
    pr_actor_ready(self->actor);
    for (int i = 0; i < COMP_SLOTS_MAX; i++) {
        if (self->runs[i].used && self->runs[i].result != NULL)
            comp_db_finish(&self->runs[i]); /* what could not be told before */
    }
}

void comp_db_session(comp_t *self)
{
    pr_params_clear(self->params);
    pr_params_add_text(self->params, self->kinds_json);
    pr_rc_t rc =
        pr_db_query(self->db, PR_SQL_COMPENSATOR_CONFIGURE, self->params, on_configured, self);
    pr_params_clear(self->params);
    pr_params_add_text(self->params, pr_actor_id(self->actor));
    if (rc != PR_OK || pr_db_query(self->db, PR_SQL_COMPENSATOR_OPEN_SESSION, self->params,
                                   on_opened, self) != PR_OK)
        comp_give(self, &(pr_comp_event_t){.kind = PR_COMP_OPENED});
}

/* ---- claiming ---- */

static bool session_ended(const pr_error_t *error)
{
    return strcmp(error->code, "PR009") == 0;
}

static void on_claimed(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    comp_t *self = arg;
    int count = rc == PR_OK ? pr_rows_count(rows) : 0;
    if (rc != PR_OK)
        report(self, rc, "claim.failed", error);
    if (self->stopping)
        return;
    comp_give(self, &(pr_comp_event_t){.kind = PR_COMP_CLAIMED,
                                       .good = rc == PR_OK,
                                       .count = count,
                                       .asked = self->asked});
    for (int row = 0; row < count; row++)
        comp_run_begin(self, rows, row);
    if (rc == PR_BAD && session_ended(error))
        comp_give(self, &(pr_comp_event_t){.kind = PR_COMP_ENDED});
}

void comp_db_claim(comp_t *self, int most)
{
    self->asked = most;
    pr_params_clear(self->params);
    pr_params_add_uuid(self->params, self->session);
    pr_params_add_i32(self->params, most);
    pr_params_add_text_array(self->params, self->own, self->own_count);
    if (pr_db_query(self->db, PR_SQL_COMPENSATOR_CLAIM, self->params, on_claimed, self) != PR_OK)
        comp_give(self, &(pr_comp_event_t){.kind = PR_COMP_CLAIMED, .asked = most});
}

/* ---- sweeping ---- */

static void on_swept(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    comp_t *self = arg;
    if (rc != PR_OK)
        report(self, rc, "sweep.failed", error);
    else if (pr_rows_i64(rows, 0, 0) > 0 || pr_rows_i64(rows, 0, 1) > 0)
        pr_log_warn("sweep.found", "lost=%lld webhooks=%lld", (long long)pr_rows_i64(rows, 0, 0),
                    (long long)pr_rows_i64(rows, 0, 1));
    comp_give(self, &(pr_comp_event_t){.kind = PR_COMP_SWEPT});
}

void comp_db_sweep(comp_t *self)
{
    pr_params_clear(self->params);
    pr_params_add_uuid(self->params, self->session);
    pr_params_add_i64(self->params, self->lock_timeout_ms);
    pr_params_add_i32(self->params, SWEEP_MAX);
    if (pr_db_query(self->db, PR_SQL_COMPENSATOR_SWEEP, self->params, on_swept, self) != PR_OK)
        comp_give(self, &(pr_comp_event_t){.kind = PR_COMP_SWEPT});
}

/* ---- ends of runs ---- */

static void tell(const comp_run_t *run, const char *state, const char *code)
{
    pr_log_level_t level = strcmp(state, "stale") == 0 ? PR_LOG_WARN : PR_LOG_INFO;
    pr_log(level, "task.ran", "task=%s kind=%s try=%d state=%s code=%s", run->task_no,
           run->biz_type, run->tries + 1, state, code);
    pr_actor_count(run->comp->actor, 1);
}

/* Failed, or its outcome is not known: it was done whole or not at all, and the sweep sends the
 * task back if it is still ours. */
static void on_acted(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    comp_run_t *run = arg;
    if (rc == PR_OK)
        tell(run, pr_rows_text(rows, 0, 0), pr_rows_text(rows, 0, 1));
    else
        report(run->comp, rc, "task.act_failed", error);
    comp_run_end(run);
}

void comp_db_act(comp_run_t *run, int64_t retry_ms)
{
    comp_t *self = run->comp;
    pr_params_clear(self->params);
    pr_params_add_uuid(self->params, run->token);
    pr_params_add_i64(self->params, retry_ms);
    if (pr_db_query(self->db, PR_SQL_COMPENSATOR_ACT, self->params, on_acted, run) != PR_OK)
        comp_run_end(run);
}

static void on_finished(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    comp_run_t *run = arg;
    if (rc == PR_AGAIN) {
        report(run->comp, rc, "task.finish_waits", error); /* told again when the session is back */
        if (pr_db_ready(run->comp->db) && !run->comp->stopping)
            comp_db_finish(run); /* a deadlock or the like: the connection is there */
        return;
    }
    if (rc == PR_OK)
        tell(run, pr_rows_text(rows, 0, 0), "");
    else
        report(run->comp, rc, "task.finish_failed", error);
    comp_run_end(run);
}

void comp_db_finish(comp_run_t *run)
{
    comp_t *self = run->comp;
    pr_params_clear(self->params);
    pr_params_add_uuid(self->params, run->token);
    pr_params_add_text(self->params, run->result);
    pr_rc_t rc = pr_db_query(self->db, PR_SQL_COMPENSATOR_FINISH, self->params, on_finished, run);
    if (rc != PR_OK)
        pr_log_limited(PR_LOG_WARN, "task.finish_waits", "", "task=%s", run->task_no);
}

/* ---- connection ---- */

static void on_ready(void *arg)
{
    comp_give(arg, &(pr_comp_event_t){.kind = PR_COMP_CONNECTED});
}

static void on_lost(void *arg)
{
    comp_give(arg, &(pr_comp_event_t){.kind = PR_COMP_DISCONNECTED});
}

void comp_db_open(comp_t *self, const pr_config_t *config)
{
    self->db = pr_db_new(&(pr_db_options_t){.url = pr_config_text(config, "database.url"),
                                            .application_name = "postrider compensator",
                                            .role = "postrider_compensator",
                                            .statements = pr_sql_compensator,
                                            .nstatements = PR_SQL_COMPENSATOR_COUNT,
                                            .schema_version = pr_migrations_count,
                                            .on_ready = on_ready,
                                            .on_lost = on_lost,
                                            .arg = self});
    pr_loop_add_db(pr_actor_loop(self->actor), self->db);
}
