/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/circuit-breaker/circuit_breaker_io.h"

#include "actors/circuit-breaker/circuit_breaker_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>

/* How often forces are looked at that somebody made past us. */
#define RELOAD_MS 10000

/* ---- facts ---- */

static pr_watch_attempt_t attempt_of(Postrider__V1__Outcome__Result result)
{
    switch (result) {
    case POSTRIDER__V1__OUTCOME__RESULT__RESULT_DELIVERED:
        return PR_WATCH_ATTEMPT_GOOD;
    case POSTRIDER__V1__OUTCOME__RESULT__RESULT_REFUSED:
    case POSTRIDER__V1__OUTCOME__RESULT__RESULT_UNREACHABLE:
        return PR_WATCH_ATTEMPT_BAD;
    case POSTRIDER__V1__OUTCOME__RESULT__RESULT_GONE:
        return PR_WATCH_ATTEMPT_GONE;
    default: /* throttled, our own fault, returned, numbers of a later version */
        return PR_WATCH_ATTEMPT_NONE;
    }
}

static void take_moved(watch_t *self, const Postrider__V1__BreakerMoved *fact)
{
    watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_MOVED,
                                         .endpoint_id = fact->endpoint_id,
                                         .merchant_id = fact->merchant_id,
                                         .from = (pr_breaker_state_t)fact->from,
                                         .to = (pr_breaker_state_t)fact->to,
                                         .failures = fact->failures,
                                         .at_us = fact->at_us,
                                         .held_jobs = fact->held_jobs,
                                         .open_ms = fact->open_ms});
}

static void take(void *arg, const Postrider__V1__Envelope *envelope)
{
    watch_t *self = arg;
    pr_watch_event_t event = {0};
    switch (envelope->body_case) {
    case POSTRIDER__V1__ENVELOPE__BODY_BREAKER_MOVED:
        take_moved(self, envelope->breaker_moved);
        return;
    case POSTRIDER__V1__ENVELOPE__BODY_ATTEMPT_FACT:
        event.kind = PR_WATCH_ATTEMPTED;
        event.endpoint_id = envelope->attempt_fact->endpoint_id;
        event.merchant_id = envelope->attempt_fact->merchant_id;
        event.attempt = attempt_of(envelope->attempt_fact->result);
        break;
    case POSTRIDER__V1__ENVELOPE__BODY_ENDPOINT_GONE:
        event.kind = PR_WATCH_GONE;
        event.endpoint_id = envelope->endpoint_gone->endpoint_id;
        event.merchant_id = envelope->endpoint_gone->merchant_id;
        break;
    default:
        pr_log_limited(PR_LOG_WARN, "fact.unexpected", pr_envelope_kind(envelope), "kind=%s",
                       pr_envelope_kind(envelope));
        return;
    }
    watch_give(self, &event);
}

/* ---- actions ---- */

static void send_alert(watch_t *self, const pr_watch_action_t *action)
{
    Postrider__V1__Alert alert = POSTRIDER__V1__ALERT__INIT;
    alert.kind = (char *)action->alert; /* protobuf-c has no const; it is only read */
    alert.subject = (char *)action->subject;
    alert.severity = (char *)"warn";
    alert.message = (char *)action->text;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_ALERT;
    envelope.alert = &alert;
    pr_actor_send_fact(self->actor, &envelope);
    pr_log_info("alert.sent", "kind=%s subject=%s", action->alert, action->subject);
}

static void broadcast(watch_t *self, const watch_ticket_t *ticket)
{
    Postrider__V1__BreakerCommand command = POSTRIDER__V1__BREAKER_COMMAND__INIT;
    command.verb = (Postrider__V1__BreakerCommand__Verb)ticket->verb;
    command.endpoint_id = ticket->endpoint_id;
    command.operator_ = (char *)ticket->operator_name;
    command.reason = (char *)ticket->reason;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_BREAKER_COMMAND;
    envelope.breaker_command = &command;
    pr_actor_send_fact(self->actor, &envelope);
    pr_log_info("breaker.commanded", "verb=%d endpoint=%lld operator=%s", (int)ticket->verb,
                (long long)ticket->endpoint_id, ticket->operator_name);
}

static void perform(watch_t *self, const pr_watch_action_t *action)
{
    switch (action->kind) {
    case PR_WATCH_ACTION_NONE:
        break;
    case PR_WATCH_ACTION_LOAD:
        watch_db_load(self);
        break;
    case PR_WATCH_ACTION_SAVE:
        watch_db_save(self, action);
        break;
    case PR_WATCH_ACTION_SAVE_FORCE:
        watch_db_save_force(self, &self->tickets[action->ticket]);
        break;
    case PR_WATCH_ACTION_BROADCAST:
        broadcast(self, &self->tickets[action->ticket]);
        break;
    case PR_WATCH_ACTION_REPLY:
        watch_door_reply(self, action->ticket, action->text);
        break;
    case PR_WATCH_ACTION_ALERT:
        send_alert(self, action);
        break;
    }
}

void watch_give(watch_t *self, const pr_watch_event_t *event)
{
    if (self->stopping) {
        return;
    }
    pr_watch_action_t actions[PR_WATCH_ACTIONS_MAX];
    pr_loop_t *loop = pr_actor_loop(self->actor);
    int count = pr_watch_step(self->step, event, pr_loop_now_ms(loop), actions);
    for (int i = 0; i < count; i++) {
        perform(self, &actions[i]);
    }
    pr_loop_timer_at(loop, self->timer, pr_watch_deadline_ms(self->step));
}

static void on_timer(void *arg, int64_t now_ms)
{
    (void)now_ms;
    watch_give(arg, &(pr_watch_event_t){.kind = PR_WATCH_TICK});
}

/* ---- life ---- */

static void stop(void **io)
{
    watch_t *self = *io;
    if (self == NULL) {
        return;
    }
    pr_loop_t *loop = pr_actor_loop(self->actor);
    self->stopping = true;
    if (self->db != NULL) {
        pr_loop_remove_db(loop, self->db);
        pr_db_destroy(&self->db);
    }
    pr_fact_inbox_destroy(&self->facts);
    if (self->door != NULL) {
        pr_loop_remove_socket(loop, self->door);
        pr_socket_destroy(&self->door);
    }
    pr_params_destroy(&self->params);
    pr_watch_destroy(&self->step);
    pr_free(self);
    *io = NULL;
}

static pr_watch_policy_t policy_of(const pr_config_t *config)
{
    int64_t threshold = pr_config_int(config, "breaker.threshold");
    return (pr_watch_policy_t){.failing_limit = pr_config_int(config, "breaker.failing_alert"),
                               .mark_limit = threshold,
                               .off_after_ms = pr_config_scaled_ms(config, "breaker.off_after"),
                               .reload_ms = RELOAD_MS};
}

static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(actor);
    watch_t *self = PR_NEW(watch_t);
    *io = self;
    self->actor = actor;
    self->params = pr_params_new();
    pr_watch_policy_t policy = policy_of(config);
    self->off_after_ms = policy.off_after_ms;
    self->step = pr_watch_new(&policy, pr_random_u64());
    self->timer = pr_loop_add_timer(pr_actor_loop(actor), INT64_MAX, 0, on_timer, self);
    for (int i = 0; i < WATCH_TICKETS_MAX; i++) {
        self->tickets[i].watch = self;
    }
    for (int i = 0; i < WATCH_SAVES_MAX; i++) {
        self->saves[i].watch = self;
    }
    pr_rc_t rc = pr_fact_inbox_open(actor, "breaker", take, self, &self->facts, error);
    if (rc == PR_OK) {
        rc = watch_door_open(self, config, error);
    }
    if (rc == PR_OK) {
        watch_db_open(self, config);
    }
    return rc;
}

static pr_rc_t reload(void *io, const pr_config_t *config, pr_error_t *error)
{
    (void)error;
    watch_t *self = io;
    pr_watch_policy_t policy = policy_of(config);
    self->off_after_ms = policy.off_after_ms;
    pr_watch_set_policy(self->step, &policy);
    return PR_OK;
}

static void drain(void *io, int64_t now_ms)
{
    (void)io;
    (void)now_ms;
}

static bool drained(void *io)
{
    const watch_t *self = io;
    return self->db == NULL || pr_db_pending(self->db) == 0;
}

const pr_actor_spec_t pr_watch_spec = {
    .name = "circuit-breaker",
    .summary = "Gathers what is known of every endpoint that fails; keeps forces and switch-offs.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .reload = reload,
    .stop = stop,
};
