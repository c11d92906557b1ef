/* SPDX-License-Identifier: Apache-2.0
 *
 * A PUSH socket to each broker's facts address. A fact goes to one broker, the next in turn that
 * takes it.
 */
#include "actor/actor_private.h"
#include "base/alloc.h"
#include "base/log.h"

struct pr_facts_t {
    pr_socket_t *sockets[PR_BROKERS_MAX];
    int count;
    int turn;
    uint64_t refused; /* no broker took it: facts are hints */
};

pr_facts_t *pr_facts_new(pr_bus_t *bus, const pr_config_t *config)
{
    pr_facts_t *self = PR_NEW(pr_facts_t);
    const char *const *brokers;
    int count = pr_config_list(config, "bus.brokers", &brokers);
    for (int i = 0; i < count && self->count < PR_BROKERS_MAX; i++) {
        PR_CLEANUP_FREE char *address = pr_bus_address(brokers[i], "facts");
        pr_socket_t *socket = pr_socket_new(bus, PR_SOCKET_PUSH, NULL);
        pr_error_t error;
        if (pr_socket_connect(socket, address, &error) == PR_OK) {
            self->sockets[self->count++] = socket;
            continue;
        }
        pr_log_error(PR_LOG_ERROR, "facts.not_connected", &error);
        pr_socket_destroy(&socket);
    }
    return self;
}

void pr_facts_destroy(pr_facts_t **self)
{
    if (*self == NULL)
        return;
    for (int i = 0; i < (*self)->count; i++)
        pr_socket_destroy(&(*self)->sockets[i]);
    pr_free(*self);
    *self = NULL;
}

void pr_facts_send(pr_facts_t *self, pr_bytes_t frame)
{
    for (int tries = 0; tries < self->count; tries++) {
        pr_socket_t *socket = self->sockets[self->turn];
        self->turn = (self->turn + 1) % self->count;
        if (pr_socket_send(socket, (pr_bytes_t){NULL, 0}, frame) == PR_OK)
            return;
    }
    self->refused++;
    pr_log_limited(PR_LOG_DEBUG, "facts.refused", "", "total=%llu",
                   (unsigned long long)self->refused);
}
