/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/fact_inbox.h"

#include "actor/actor_private.h"
#include "base/alloc.h"
#include "base/log.h"

#define BUDGET 256 /* messages of one socket in one turn */

struct pr_fact_inbox_t {
    pr_actor_t *actor;
    pr_fact_fn *fn;
    void *arg;
    pr_socket_t *sockets[PR_BROKERS_MAX];
    int count;
};

static void hand_on(pr_fact_inbox_t *self, pr_bytes_t frame)
{
    Postrider__V1__Envelope *envelope = NULL;
    pr_error_t error;
    if (pr_envelope_unpack(frame, &envelope, &error) != PR_OK) {
        pr_log_error(PR_LOG_WARN, "fact.malformed", &error);
        return;
    }
    self->fn(self->arg, envelope);
    pr_actor_count(self->actor, 1);
    pr_envelope_destroy(&envelope);
}

static void read_socket(pr_fact_inbox_t *self, pr_socket_t *socket)
{
    pr_incoming_t incoming;
    for (int i = 0; i < BUDGET; i++) {
        if (pr_socket_receive(socket, &incoming) != PR_OK) {
            return;
        }
        hand_on(self, incoming.frame);
    }
    pr_loop_again(pr_actor_loop(self->actor));
}

static void on_readable(void *arg, int64_t now_ms)
{
    (void)now_ms;
    pr_fact_inbox_t *self = arg;
    for (int i = 0; i < self->count; i++) {
        read_socket(self, self->sockets[i]);
    }
}

static pr_rc_t connect_to(pr_fact_inbox_t *self, const char *broker, const char *name,
                          pr_error_t *error)
{
    PR_CLEANUP_FREE char *address = pr_bus_address(broker, name);
    pr_socket_t *socket = pr_socket_new(pr_actor_bus(self->actor), PR_SOCKET_PULL, NULL);
    self->sockets[self->count++] = socket;
    pr_loop_add_socket(pr_actor_loop(self->actor), socket, on_readable, self);
    return pr_socket_connect(socket, address, error);
}

pr_rc_t pr_fact_inbox_open(pr_actor_t *actor, const char *socket, pr_fact_fn *fn, void *arg,
                           pr_fact_inbox_t **out, pr_error_t *error)
{
    pr_fact_inbox_t *self = PR_NEW(pr_fact_inbox_t);
    *self = (pr_fact_inbox_t){.actor = actor, .fn = fn, .arg = arg};
    const char *const *brokers = NULL;
    int count = pr_config_list(pr_actor_config(actor), "bus.brokers", &brokers);
    pr_rc_t rc = PR_OK;
    for (int i = 0; rc == PR_OK && i < count && i < PR_BROKERS_MAX; i++) {
        rc = connect_to(self, brokers[i], socket, error);
    }
    if (rc != PR_OK) {
        pr_fact_inbox_destroy(&self);
    }
    *out = self;
    return rc;
}

void pr_fact_inbox_destroy(pr_fact_inbox_t **self)
{
    if (*self == NULL) {
        return;
    }
    for (int i = 0; i < (*self)->count; i++) {
        pr_loop_remove_socket(pr_actor_loop((*self)->actor), (*self)->sockets[i]);
        pr_socket_destroy(&(*self)->sockets[i]);
    }
    pr_free(*self);
    *self = NULL;
}
