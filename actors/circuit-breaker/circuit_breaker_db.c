/* SPDX-License-Identifier: Apache-2.0
 *
 * circuit-breaker, the statements: sql/queries/circuit-breaker.
 */
#include "actors/circuit-breaker/circuit_breaker_private.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "sql/circuit_breaker.h"
#include "sql/migrations.h"

#include <string.h>

static void report(const watch_t *self, pr_rc_t rc, const char *event, const pr_error_t *error)
{
    if (rc == PR_FATAL) {
        pr_actor_fail(self->actor, rc, error);
    } else if (!self->stopping) {
        pr_log_error(PR_LOG_WARN, event, error);
    }
}

/* ---- load: endpoint, merchant, forced, failing, since_ms ---- */

static pr_breaker_state_t forced_of(const pr_rows_t *rows, int row)
{
    if (pr_rows_null(rows, row, 2)) {
        return PR_BREAKER_NONE;
    }
    return strcmp(pr_rows_text(rows, row, 2), "open") == 0 ? PR_BREAKER_FORCED_OPEN
                                                           : PR_BREAKER_FORCED_CLOSED;
}

static void on_loaded(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    watch_t *self = arg;
    if (rc != PR_OK) {
        report(self, rc, "breaker.load_failed", error);
        watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_LOAD_END, .good = false});
        return;
    }
    watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_LOAD_BEGIN});
    for (int row = 0; row < pr_rows_count(rows); row++) {
        watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_LOAD_ROW,
                                             .endpoint_id = pr_rows_i64(rows, row, 0),
                                             .merchant_id = pr_rows_text(rows, row, 1),
                                             .to = forced_of(rows, row),
                                             .failing = pr_rows_bool(rows, row, 3),
                                             .since_ms = pr_rows_i64(rows, row, 4)});
    }
    watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_LOAD_END, .good = true});
}

void watch_db_load(watch_t *self)
{
    pr_params_clear(self->params);
    if (pr_db_query(self->db, PR_SQL_CIRCUIT_BREAKER_LOAD_WATCH, self->params, on_loaded, self) !=
        PR_OK) {
        watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_LOAD_END, .good = false});
    }
}

/* ---- wishes ---- */

static void on_saved(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    watch_save_t *save = arg;
    watch_t *self = save->watch;
    save->used = false;
    if (rc != PR_OK) {
        report(self, rc, "breaker.save_failed", error);
    } else if ((save->wish & (PR_WATCH_WISH_OFF_GONE | PR_WATCH_WISH_OFF_FAILING)) != 0 &&
               pr_rows_count(rows) > 0) {
        pr_log_warn("endpoint.switched_off", "endpoint=%lld merchant=%s reason=%s",
                    (long long)save->endpoint_id, pr_rows_text(rows, 0, 0),
                    save->wish == PR_WATCH_WISH_OFF_GONE ? "410" : "failing");
    }
    watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_SAVED,
                                         .endpoint_id = save->endpoint_id,
                                         .wish = save->wish,
                                         .good = rc == PR_OK,
                                         .found = rc == PR_OK && pr_rows_count(rows) > 0});
}

static int statement_of(pr_watch_wish_t wish)
{
    static const struct {
        pr_watch_wish_t wish;
        int statement;
    } table[] = {
        {PR_WATCH_WISH_CLEAR, PR_SQL_CIRCUIT_BREAKER_CLEAR_FAILING},
        {PR_WATCH_WISH_MARK, PR_SQL_CIRCUIT_BREAKER_MARK_FAILING},
        {PR_WATCH_WISH_OPEN, PR_SQL_CIRCUIT_BREAKER_MARK_OPEN},
        {PR_WATCH_WISH_OFF_GONE, PR_SQL_CIRCUIT_BREAKER_DISABLE_GONE},
        {PR_WATCH_WISH_OFF_FAILING, PR_SQL_CIRCUIT_BREAKER_DISABLE_FAILING},
    };
    for (size_t i = 0; i < PR_COUNT(table); i++) {
        if (table[i].wish == wish) {
            return table[i].statement;
        }
    }
    pr_assert(false);
    return -1;
}

static watch_save_t *free_save(watch_t *self)
{
    for (int i = 0; i < WATCH_SAVES_MAX; i++) {
        if (!self->saves[i].used) {
            return &self->saves[i];
        }
    }
    return NULL;
}

void watch_db_save(watch_t *self, const pr_watch_action_t *action)
{
    int64_t endpoint_id = action->endpoint_id;
    pr_watch_wish_t wish = action->wish;
    watch_save_t *save = free_save(self);
    pr_params_clear(self->params);
    pr_params_add_i64(self->params, endpoint_id);
    if (wish == PR_WATCH_WISH_OFF_FAILING) {
        pr_params_add_i64(self->params, self->off_after_ms);
    } else if (wish == PR_WATCH_WISH_OPEN) {
        pr_params_add_i64(self->params, action->open_ms);
    }
    if (save != NULL) {
        save->used = true;
        save->endpoint_id = endpoint_id;
        save->wish = wish;
        if (pr_db_query(self->db, statement_of(wish), self->params, on_saved, save) == PR_OK) {
            return;
        }
        save->used = false;
    }
    watch_give(self, &(pr_watch_event_t){
                         .kind = PR_WATCH_SAVED, .endpoint_id = endpoint_id, .wish = wish});
}

/* ---- a person's command ---- */

static void on_force_saved(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const watch_ticket_t *ticket = arg;
    watch_t *self = ticket->watch;
    bool found = rc == PR_OK && pr_rows_count(rows) > 0;
    if (rc != PR_OK) {
        report(self, rc, "breaker.force_failed", error);
    }
    watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_FORCE_SAVED,
                                         .endpoint_id = ticket->endpoint_id,
                                         .merchant_id = found ? pr_rows_text(rows, 0, 0) : NULL,
                                         .verb = ticket->verb,
                                         .ticket = (int)(ticket - self->tickets),
                                         .good = rc == PR_OK,
                                         .found = found});
}

void watch_db_save_force(watch_t *self, watch_ticket_t *ticket)
{
    pr_params_clear(self->params);
    pr_params_add_i64(self->params, ticket->endpoint_id);
    pr_params_add_text(self->params, ticket->verb == PR_WATCH_FORCE_OPEN     ? "open"
                                     : ticket->verb == PR_WATCH_FORCE_CLOSED ? "closed"
                                                                             : NULL);
    pr_params_add_text(self->params, ticket->operator_name);
    pr_params_add_text(self->params, ticket->reason);
    if (pr_db_query(self->db, PR_SQL_CIRCUIT_BREAKER_SET_FORCED, self->params, on_force_saved,
                    ticket) != PR_OK) {
        watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_FORCE_SAVED,
                                             .endpoint_id = ticket->endpoint_id,
                                             .verb = ticket->verb,
                                             .ticket = (int)(ticket - self->tickets)});
    }
}

/* ---- connection ---- */

static void on_ready(void *arg)
{
    watch_t *self = arg;
    pr_actor_ready(self->actor);
    watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_CONNECTED});
}

static void on_lost(void *arg)
{
    watch_give(arg, &(pr_watch_event_t){.kind = PR_WATCH_DISCONNECTED});
}

void watch_db_open(watch_t *self, const pr_config_t *config)
{
    self->db = pr_db_new(&(pr_db_options_t){.url = pr_config_text(config, "database.url"),
                                            .application_name = "postrider circuit-breaker",
                                            .role = "postrider_breaker",
                                            .statements = pr_sql_circuit_breaker,
                                            .nstatements = PR_SQL_CIRCUIT_BREAKER_COUNT,
                                            .schema_version = pr_migrations_count,
                                            .on_ready = on_ready,
                                            .on_lost = on_lost,
                                            .arg = self});
    pr_loop_add_db(pr_actor_loop(self->actor), self->db);
}
