/* SPDX-License-Identifier: Apache-2.0
 *
 * What dead_letter_io.c (life, facts), dead_letter_db.c (chores) and dead_letter_hook.c (webhook)
 * share. Nobody else includes this.
 */
#ifndef PR_DEAD_LETTER_PRIVATE_H
#define PR_DEAD_LETTER_PRIVATE_H

#include "actor/actor.h"
#include "actor/fact_inbox.h"
#include "actors/dead-letter/dead_letter.h"
#include "http/http.h"

typedef struct dead_t dead_t;

typedef struct {
    dead_t *dead;
    int number; /* chore, slot of the inbox, or slot of a post */
} dead_ref_t;

typedef struct {
    char *body; /* JSON; NULL when the slot is free */
    size_t len;
    int64_t alert_id;
} dead_post_body_t;

struct dead_t {
    pr_actor_t *actor;
    pr_dead_t step;
    pr_db_t *db;
    pr_params_t *params;
    int timer;
    int64_t retention_ms;
    int64_t threshold; /* alerts.dead_letters */
    char *webhook;     /* URL, "" = none */
    pr_http_t *http;   /* NULL without a webhook */
    int http_timer;
    pr_fact_inbox_t *facts;
    dead_ref_t chore_refs[PR_CHORES];
    dead_ref_t raise_refs[PR_ALERT_INBOX_MAX];
    dead_ref_t post_refs[PR_DEAD_POSTS_MAX];
    dead_post_body_t posts[PR_DEAD_POSTS_MAX];
    bool stopping;
};

typedef struct {
    int64_t id;
    const char *kind, *subject, *severity, *message;
    int64_t count;
} dead_alert_t;

/* dead_letter_io.c */
void dead_give(dead_t *self, const pr_dead_event_t *event);
/* A log line, and the webhook when there is one. */
void dead_tell(dead_t *self, const dead_alert_t *alert);
void dead_send_alert_fact(dead_t *self, const dead_alert_t *alert);

/* dead_letter_db.c */
void dead_db_open(dead_t *self, const pr_config_t *config);
void dead_db_chore(dead_t *self, pr_chore_t chore);
void dead_db_raise(dead_t *self, int slot);

/* dead_letter_hook.c */
void dead_hook_open(dead_t *self, const pr_config_t *config);
void dead_hook_close(dead_t *self);
void dead_hook_queue(dead_t *self, const dead_alert_t *alert);
void dead_hook_send(dead_t *self, int slot);
void dead_hook_forget(dead_t *self, int slot);

#endif
