/* SPDX-License-Identifier: Apache-2.0
 *
 * What circuit_breaker_io.c (life, facts), circuit_breaker_db.c (statements) and
 * circuit_breaker_door.c (questions and commands of people) share. Nobody else includes this.
 */
#ifndef PR_CIRCUIT_BREAKER_PRIVATE_H
#define PR_CIRCUIT_BREAKER_PRIVATE_H

#include "actor/actor.h"
#include "actor/fact_inbox.h"
#include "actors/circuit-breaker/circuit_breaker.h"

#define WATCH_TICKETS_MAX 64 /* commands of people being saved */
#define WATCH_SAVES_MAX 256  /* wishes under way: beyond, the step hears that it failed */
#define WATCH_BUDGET 256     /* questions in one turn */
#define WATCH_OPERATOR_MAX 64
#define WATCH_REASON_MAX 500

typedef struct watch_t watch_t;

/* A command under way: whom to answer, and who wanted it why. */
typedef struct {
    watch_t *watch;
    bool used;
    uint8_t route[PR_ROUTE_MAX];
    size_t route_len;
    pr_watch_verb_t verb;
    int64_t endpoint_id;
    char operator_name[WATCH_OPERATOR_MAX + 1];
    char reason[WATCH_REASON_MAX + 1];
} watch_ticket_t;

typedef struct {
    watch_t *watch;
    bool used;
    int64_t endpoint_id;
    pr_watch_wish_t wish;
} watch_save_t;

struct watch_t {
    pr_actor_t *actor;
    pr_watch_t *step;
    pr_db_t *db;
    pr_params_t *params;
    int timer;
    int64_t off_after_ms;
    pr_fact_inbox_t *facts;
    pr_socket_t *door;
    watch_ticket_t tickets[WATCH_TICKETS_MAX];
    watch_save_t saves[WATCH_SAVES_MAX];
    bool stopping;
};

/* circuit_breaker_io.c: one event to the step, its actions carried out. */
void watch_give(watch_t *self, const pr_watch_event_t *event);

/* circuit_breaker_db.c */
void watch_db_open(watch_t *self, const pr_config_t *config);
void watch_db_load(watch_t *self);
void watch_db_save(watch_t *self, const pr_watch_action_t *action); /* SAVE */
void watch_db_save_force(watch_t *self, watch_ticket_t *ticket);

/* circuit_breaker_door.c */
PR_CHECK pr_rc_t watch_door_open(watch_t *self, const pr_config_t *config, pr_error_t *error);
void watch_door_read(void *arg, int64_t now_ms); /* the socket's handler */
void watch_door_reply(watch_t *self, int ticket, const char *text);

#endif
