/* SPDX-License-Identifier: Apache-2.0
 *
 * circuit-breaker, the door: its own ROUTER, where `postrider breaker` and the console ask and
 * command. Every question and every command gets one BreakerSnapshot.
 */
#include "actors/circuit-breaker/circuit_breaker_private.h"
#include "base/alloc.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define SNAPSHOT_MAX 4096 /* as in bus.proto */

static void send_snapshot(watch_t *self, pr_bytes_t route,
                          Postrider__V1__BreakerMoved *const *items, size_t count, const char *text)
{
    Postrider__V1__BreakerSnapshot snapshot = POSTRIDER__V1__BREAKER_SNAPSHOT__INIT;
    snapshot.n_breakers = count;
    snapshot.breakers = (Postrider__V1__BreakerMoved **)items; /* only read */
    snapshot.error = (char *)text;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_BREAKER_SNAPSHOT;
    envelope.breaker_snapshot = &snapshot;
    if (pr_actor_send(self->actor, self->door, route, &envelope) != PR_OK) {
        pr_log_debug("breaker.answer_lost", "bytes=%zu", route.len); /* the asker is gone */
    }
}

static Postrider__V1__BreakerMoved describe(const pr_watch_endpoint_t *one)
{
    Postrider__V1__BreakerMoved moved = POSTRIDER__V1__BREAKER_MOVED__INIT;
    moved.endpoint_id = one->endpoint_id;
    moved.merchant_id = (char *)one->merchant_id;
    moved.from = (Postrider__V1__BreakerState)one->from;
    moved.to = (Postrider__V1__BreakerState)one->state;
    moved.failures = one->moved_failures > one->failures ? one->moved_failures : one->failures;
    moved.at_us = one->moved_at_us;
    moved.held_jobs = one->held_jobs;
    moved.open_ms = one->open_ms;
    return moved;
}

static void answer_all(watch_t *self, pr_bytes_t route)
{
    size_t room = pr_watch_count(self->step);
    room = room < SNAPSHOT_MAX ? room : SNAPSHOT_MAX;
    PR_CLEANUP_FREE Postrider__V1__BreakerMoved *moved = pr_calloc(room, sizeof *moved);
    PR_CLEANUP_FREE Postrider__V1__BreakerMoved **items = pr_calloc(room, sizeof *items);
    size_t count = 0, cursor = 0;
    const pr_watch_endpoint_t *one = NULL;
    while (count < room && (one = pr_watch_next(self->step, &cursor)) != NULL) {
        moved[count] = describe(one);
        items[count] = &moved[count];
        count++;
    }
    send_snapshot(self, route, items, count, "");
}

static void answer_one(watch_t *self, pr_bytes_t route, int64_t endpoint_id, const char *text)
{
    const pr_watch_endpoint_t *one = pr_watch_find(self->step, endpoint_id);
    if (one == NULL) {
        send_snapshot(self, route, NULL, 0, text);
        return;
    }
    Postrider__V1__BreakerMoved moved = describe(one);
    Postrider__V1__BreakerMoved *item = &moved;
    send_snapshot(self, route, &item, 1, text);
}

void watch_door_reply(watch_t *self, int number, const char *text)
{
    watch_ticket_t *ticket = &self->tickets[number];
    pr_bytes_t route = pr_bytes(ticket->route, ticket->route_len);
    if (text[0] != '\0') {
        send_snapshot(self, route, NULL, 0, text);
    } else {
        answer_one(self, route, ticket->endpoint_id, "");
    }
    ticket->used = false;
}

static watch_ticket_t *free_ticket(watch_t *self)
{
    for (int i = 0; i < WATCH_TICKETS_MAX; i++) {
        if (!self->tickets[i].used) {
            return &self->tickets[i];
        }
    }
    return NULL;
}

static void take_command(watch_t *self, pr_bytes_t route,
                         const Postrider__V1__BreakerCommand *command)
{
    if (command->operator_[0] == '\0') {
        send_snapshot(self, route, NULL, 0, "a command needs the operator's name");
        return;
    }
    watch_ticket_t *ticket = free_ticket(self);
    if (ticket == NULL || route.len > sizeof ticket->route) {
        send_snapshot(self, route, NULL, 0, "too many commands at once: try again");
        return;
    }
    ticket->used = true;
    memcpy(ticket->route, route.data, route.len);
    ticket->route_len = route.len;
    ticket->verb = (pr_watch_verb_t)command->verb;
    ticket->endpoint_id = command->endpoint_id;
    snprintf(ticket->operator_name, sizeof ticket->operator_name, "%s", command->operator_);
    snprintf(ticket->reason, sizeof ticket->reason, "%s", command->reason);
    watch_give(self, &(pr_watch_event_t){.kind = PR_WATCH_COMMAND,
                                         .endpoint_id = command->endpoint_id,
                                         .verb = ticket->verb,
                                         .ticket = (int)(ticket - self->tickets)});
}

static void take(watch_t *self, pr_bytes_t route, const Postrider__V1__Envelope *envelope)
{
    if (envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY_BREAKER_COMMAND) {
        take_command(self, route, envelope->breaker_command);
    } else if (envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY_BREAKER_QUERY) {
        int64_t endpoint_id = envelope->breaker_query->endpoint_id;
        if (endpoint_id == 0) {
            answer_all(self, route);
        } else {
            answer_one(self, route, endpoint_id, "");
        }
    } else {
        send_snapshot(self, route, NULL, 0, "only BreakerQuery and BreakerCommand are understood");
    }
}

void watch_door_read(void *arg, int64_t now_ms)
{
    (void)now_ms;
    watch_t *self = arg;
    pr_incoming_t incoming;
    for (int i = 0; i < WATCH_BUDGET; i++) {
        if (pr_socket_receive(self->door, &incoming) != PR_OK) {
            return;
        }
        Postrider__V1__Envelope *envelope = NULL;
        pr_error_t error;
        if (pr_envelope_unpack(incoming.frame, &envelope, &error) != PR_OK) {
            pr_log_error(PR_LOG_WARN, "question.malformed", &error);
            continue;
        }
        take(self, incoming.route, envelope);
        pr_envelope_destroy(&envelope);
    }
    pr_loop_again(pr_actor_loop(self->actor));
}

pr_rc_t watch_door_open(watch_t *self, const pr_config_t *config, pr_error_t *error)
{
    PR_CLEANUP_FREE char *address = pr_bus_breaker_address(config);
    self->door = pr_socket_new(pr_actor_bus(self->actor), PR_SOCKET_ROUTER, NULL);
    pr_loop_add_socket(pr_actor_loop(self->actor), self->door, watch_door_read, self);
    return pr_socket_bind(self->door, address, error);
}
