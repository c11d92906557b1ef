/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/compensator/compensator_io.h"

#include "actors/compensator/compensator_private.h"
#include "base/alloc.h"
#include "outgoing/outgoing.h"

#include <poll.h>

#define LINES_MAX_BYTES ((size_t)256 * 1024)

static void perform(comp_t *self, const pr_comp_action_t *action)
{
    switch (action->kind) {
    case PR_COMP_ACT_NONE:
        break;
    case PR_COMP_ACT_OPEN:
        comp_db_session(self);
        break;
    case PR_COMP_ACT_CLAIM:
        comp_db_claim(self, action->most);
        break;
    case PR_COMP_ACT_SWEEP:
        comp_db_sweep(self);
        break;
    }
}

void comp_give(comp_t *self, const pr_comp_event_t *event)
{
    if (self->stopping)
        return;
    pr_comp_action_t actions[PR_COMP_ACTIONS_MAX];
    pr_loop_t *loop = pr_actor_loop(self->actor);
    int count = pr_compensator_step(&self->step, event, pr_loop_now_ms(loop), actions);
    for (int i = 0; i < count; i++)
        perform(self, &actions[i]);
    pr_loop_timer_at(loop, self->timer, pr_compensator_deadline_ms(&self->step));
}

static void on_timer(void *arg, int64_t now_ms)
{
    (void)now_ms;
    comp_give(arg, &(pr_comp_event_t){.kind = PR_COMP_TICK});
}

void comp_watch_http(comp_t *self)
{
    pr_loop_timer_at(pr_actor_loop(self->actor), self->http_timer, pr_http_due_at_ms(self->http));
}

static void on_http(void *arg, int64_t now_ms)
{
    comp_t *self = arg;
    pr_http_run(self->http, now_ms);
    comp_watch_http(self);
}

/* ---- life ---- */

static void stop(void **io)
{
    comp_t *self = *io;
    if (self == NULL)
        return;
    pr_loop_t *loop = pr_actor_loop(self->actor);
    self->stopping = true;
    if (self->http != NULL) {
        pr_loop_remove_fd(loop, pr_http_fd(self->http));
        pr_http_destroy(&self->http);
    }
    if (self->db != NULL) {
        pr_loop_remove_db(loop, self->db);
        pr_db_destroy(&self->db);
    }
    for (int i = 0; i < COMP_SLOTS_MAX; i++)
        comp_run_free(&self->runs[i]);
    pr_task_kinds_destroy(&self->kinds);
    pr_profile_dir_destroy(&self->profiles);
    pr_params_destroy(&self->params);
    pr_buffer_free(&self->lines);
    pr_free(self->kinds_json);
    pr_free(self);
    *io = NULL;
}

/* The operator chose where handlers are, so they may be private addresses: nothing guards them. */
static void open_http(comp_t *self, const pr_config_t *config)
{
    pr_loop_t *loop = pr_actor_loop(self->actor);
    self->total_ms = pr_config_duration_ms(config, "http.total_timeout");
    pr_http_limits_t limits = pr_outgoing_limits(config, COMP_SLOTS_MAX);
    self->http = pr_http_new(&limits);
    self->http_timer = pr_loop_add_timer(loop, INT64_MAX, 0, on_http, self);
    pr_loop_add_fd(loop, pr_http_fd(self->http), POLLIN, on_http, self);
}

static pr_rc_t read_kinds(comp_t *self, const pr_config_t *config, pr_error_t *error)
{
    self->profiles = pr_profile_dir_new(pr_config_text(config, "profiles_dir"));
    pr_rc_t rc = pr_task_kinds_load(pr_config_text(config, "tasks.file"), self->profiles,
                                    pr_config_real(config, "time_scale"), &self->kinds, error);
    if (rc != PR_OK)
        return rc;
    self->kinds_json = pr_task_kinds_json(self->kinds);
    for (int i = 0; i < self->kinds->count; i++) {
        if (self->kinds->kinds[i]->handler != NULL)
            self->own[self->own_count++] = self->kinds->kinds[i]->name;
    }
    return PR_OK;
}

static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(actor);
    comp_t *self = PR_NEW(comp_t);
    *io = self;
    self->actor = actor;
    self->params = pr_params_new();
    pr_buffer_init(&self->lines, LINES_MAX_BYTES);
    self->lock_timeout_ms = pr_config_duration_ms(config, "tasks.lock_timeout");
    pr_compensator_policy_t policy = {
        .slots = (int)pr_config_int(config, "tasks.slots"),
        .scan_ms = pr_config_duration_ms(config, "tasks.scan"),
        .sweep_ms = pr_config_duration_ms(config, "tasks.sweep"),
    };
    pr_compensator_init(&self->step, &policy);
    for (int i = 0; i < COMP_SLOTS_MAX; i++)
        self->runs[i].comp = self;
    pr_rc_t rc = read_kinds(self, config, error);
    if (rc != PR_OK)
        return rc;
    self->timer = pr_loop_add_timer(pr_actor_loop(actor), INT64_MAX, 0, on_timer, self);
    open_http(self, config);
    comp_db_open(self, config);
    return PR_OK;
}

static void drain(void *io, int64_t now_ms)
{
    (void)now_ms;
    comp_give(io, &(pr_comp_event_t){.kind = PR_COMP_DRAIN});
}

static bool drained(void *io)
{
    const comp_t *self = io;
    return pr_compensator_drained(&self->step);
}

const pr_actor_spec_t pr_compensator_spec = {
    .name = "compensator",
    .summary =
        "Repairs: claims compensation tasks, looks at the order, acts once, writes the result.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .stop = stop,
};
