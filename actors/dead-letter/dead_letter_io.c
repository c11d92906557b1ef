/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/dead-letter/dead_letter_io.h"

#include "actors/dead-letter/dead_letter_private.h"
#include "base/alloc.h"
#include "base/log.h"

#include <string.h>

#define ANNOUNCE_MS 1000
#define REDRIVE_MS 250 /* four steps a second: a rate of 1/s is even enough, one of 1000/s is */
#define PARTITIONS_MS (3600 * 1000)
#define RETENTION_MS (60 * 1000)

/* ---- telling ---- */

void dead_tell(dead_t *self, const dead_alert_t *alert)
{
    pr_log_level_t level = strcmp(alert->severity, "page") == 0   ? PR_LOG_ERROR
                           : strcmp(alert->severity, "warn") == 0 ? PR_LOG_WARN
                                                                  : PR_LOG_INFO;
    pr_log(level, "alert.raised", "id=%lld kind=%s subject=%s severity=%s count=%lld text=%s",
           (long long)alert->id, alert->kind, alert->subject, alert->severity,
           (long long)alert->count, alert->message);
    dead_hook_queue(self, alert);
}

void dead_send_alert_fact(dead_t *self, const dead_alert_t *alert)
{
    Postrider__V1__Alert fact = POSTRIDER__V1__ALERT__INIT;
    fact.kind = (char *)alert->kind; /* protobuf-c has no const; they are only read */
    fact.subject = (char *)alert->subject;
    fact.severity = (char *)alert->severity;
    fact.message = (char *)alert->message;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_ALERT;
    envelope.alert = &fact;
    pr_actor_send_fact(self->actor, &envelope);
}

/* ---- facts ---- */

/* Alerts that a dead-letter actor itself put on the bus come back over the broker: they are rows
 * already. */
static bool is_own(const Postrider__V1__Envelope *envelope)
{
    static const char name[] = "dead-letter-";
    return strncmp(envelope->sender, name, sizeof name - 1) == 0;
}

static void take_alert(dead_t *self, const Postrider__V1__Alert *alert)
{
    pr_rc_t rc = pr_alert_inbox_add(&self->step.inbox, alert->kind, alert->subject, alert->severity,
                                    alert->message);
    if (rc == PR_BAD) {
        pr_log_limited(PR_LOG_WARN, "alert.malformed", alert->kind, "kind=%s severity=%s",
                       alert->kind, alert->severity);
    } else if (rc != PR_OK) {
        pr_log_limited(PR_LOG_ERROR, "alert.dropped", "", "total=%llu kind=%s subject=%s",
                       (unsigned long long)self->step.inbox.dropped, alert->kind, alert->subject);
    }
    dead_give(self, &(pr_dead_event_t){.kind = PR_DEAD_TICK});
}

static void take(void *arg, const Postrider__V1__Envelope *envelope)
{
    dead_t *self = arg;
    if (envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY_DEAD_FACT) {
        const Postrider__V1__DeadFact *fact = envelope->dead_fact;
        pr_log_info("letter.died", "notify_id=%s endpoint=%lld merchant=%s reason=%s tries=%u",
                    fact->notify_id, (long long)fact->endpoint_id, fact->merchant_id, fact->reason,
                    fact->tries);
        dead_give(self, &(pr_dead_event_t){.kind = PR_DEAD_LETTER});
    } else if (envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY_ALERT) {
        if (!is_own(envelope)) {
            take_alert(self, envelope->alert);
        }
    } else {
        pr_log_limited(PR_LOG_WARN, "fact.unexpected", pr_envelope_kind(envelope), "kind=%s",
                       pr_envelope_kind(envelope));
    }
}

/* ---- actions ---- */

static void perform(dead_t *self, const pr_dead_action_t *action)
{
    switch (action->kind) {
    case PR_DEAD_ACTION_NONE:
        break;
    case PR_DEAD_ACTION_CHORE:
        dead_db_chore(self, action->chore);
        break;
    case PR_DEAD_ACTION_RAISE:
        dead_db_raise(self, action->slot);
        break;
    case PR_DEAD_ACTION_SEND:
        dead_hook_send(self, action->slot);
        break;
    case PR_DEAD_ACTION_GIVE_UP:
        pr_log(PR_LOG_ERROR, "alert.webhook_given_up", "alert=%lld tries=%d",
               (long long)self->posts[action->slot].alert_id, action->tries);
        dead_hook_forget(self, action->slot);
        break;
    case PR_DEAD_ACTION_SENT:
        dead_hook_forget(self, action->slot);
        break;
    }
}

void dead_give(dead_t *self, const pr_dead_event_t *event)
{
    if (self->stopping) {
        return;
    }
    pr_dead_action_t actions[PR_DEAD_ACTIONS_MAX];
    pr_loop_t *loop = pr_actor_loop(self->actor);
    int count = pr_dead_step(&self->step, event, pr_loop_now_ms(loop), actions);
    for (int i = 0; i < count; i++) {
        perform(self, &actions[i]);
    }
    pr_loop_timer_at(loop, self->timer, pr_dead_deadline_ms(&self->step));
}

static void on_timer(void *arg, int64_t now_ms)
{
    (void)now_ms;
    dead_give(arg, &(pr_dead_event_t){.kind = PR_DEAD_TICK});
}

/* ---- life ---- */

static void stop(void **io)
{
    dead_t *self = *io;
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
    dead_hook_close(self);
    pr_params_destroy(&self->params);
    pr_free(self->webhook);
    pr_free(self);
    *io = NULL;
}

static void take_config(dead_t *self, const pr_config_t *config, pr_dead_policy_t *policy)
{
    self->retention_ms = pr_config_duration_ms(config, "retention");
    self->threshold = pr_config_int(config, "alerts.dead_letters");
    pr_free(self->webhook);
    self->webhook = pr_strdup(pr_config_text(config, "alerts.webhook"));
    policy->period_ms[PR_CHORE_SCAN] = pr_config_duration_ms(config, "alerts.scan");
    policy->period_ms[PR_CHORE_ANNOUNCE] = ANNOUNCE_MS;
    policy->period_ms[PR_CHORE_REDRIVE] = REDRIVE_MS;
    policy->period_ms[PR_CHORE_PARTITIONS] = PARTITIONS_MS;
    policy->period_ms[PR_CHORE_RETENTION] = RETENTION_MS;
}

static void number(dead_t *self, dead_ref_t *refs, int count)
{
    for (int i = 0; i < count; i++) {
        refs[i] = (dead_ref_t){.dead = self, .number = i};
    }
}

static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(actor);
    dead_t *self = PR_NEW(dead_t);
    *io = self;
    self->actor = actor;
    self->params = pr_params_new();
    number(self, self->chore_refs, PR_CHORES);
    number(self, self->raise_refs, PR_ALERT_INBOX_MAX);
    number(self, self->post_refs, PR_DEAD_POSTS_MAX);
    pr_dead_policy_t policy;
    take_config(self, config, &policy);
    pr_dead_init(&self->step, &policy);
    self->timer = pr_loop_add_timer(pr_actor_loop(actor), INT64_MAX, 0, on_timer, self);
    dead_hook_open(self, config);
    pr_rc_t rc = pr_fact_inbox_open(actor, "dead", take, self, &self->facts, error);
    if (rc == PR_OK) {
        dead_db_open(self, config);
    }
    return rc;
}

static pr_rc_t reload(void *io, const pr_config_t *config, pr_error_t *error)
{
    (void)error;
    dead_t *self = io;
    pr_dead_policy_t policy;
    take_config(self, config, &policy);
    pr_dead_set_policy(&self->step, &policy);
    return PR_OK;
}

static void drain(void *io, int64_t now_ms)
{
    (void)now_ms;
    dead_give(io, &(pr_dead_event_t){.kind = PR_DEAD_DRAIN});
}

static bool drained(void *io)
{
    const dead_t *self = io;
    return pr_dead_drained(&self->step);
}

const pr_actor_spec_t pr_dead_spec = {
    .name = "dead-letter",
    .summary =
        "Tells people of what will not be tried again; redrives at a rate; drops old history.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .reload = reload,
    .stop = stop,
};
