/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/actor.h"
#include "base/alloc.h"
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* "tcp://h:7000" by 6 is "tcp://h:7006". The configuration was checked: there is a port. */
static char *shift_port(const char *base, long offset)
{
    const char *colon = strrchr(base, ':');
    return pr_asprintf("%.*s:%ld", (int)(colon - base), base, strtol(colon + 1, NULL, 10) + offset);
}

char *pr_bus_address(const char *base, const char *socket)
{
    /* The seventh port is the circuit-breaker's own, below. */
    static const char *const sockets[] = {"work",  "facts", "breaker", "dead",
                                          "state", "tap",   "",        "calls"};
    int offset = 0;
    while (offset < (int)PR_COUNT(sockets) && strcmp(sockets[offset], socket) != 0)
        offset++;
    pr_assert(offset < (int)PR_COUNT(sockets));
    if (strncmp(base, "tcp://", 6) != 0)
        return pr_asprintf("%s.%s", base, socket);
    return shift_port(base, offset);
}

/* "ipc:///run/x/b1" and "breaker" give "ipc:///run/x/breaker.sock"; NULL when no broker is ipc. */
static char *beside_first_ipc(const pr_config_t *config, const char *name)
{
    const char *const *brokers;
    int count = pr_config_list(config, "bus.brokers", &brokers);
    for (int i = 0; i < count; i++) {
        if (strncmp(brokers[i], "ipc://", 6) == 0) {
            const char *slash = strrchr(brokers[i], '/');
            return pr_asprintf("%.*s/%s.sock", (int)(slash - brokers[i]), brokers[i], name);
        }
    }
    return NULL;
}

char *pr_bus_breaker_address(const pr_config_t *config)
{
    const char *set = pr_config_text(config, "bus.breaker");
    if (set[0] != '\0')
        return pr_strdup(set);
    char *address = beside_first_ipc(config, "breaker");
    if (address != NULL)
        return address;
    const char *const *brokers;
    pr_config_list(config, "bus.brokers", &brokers);
    return shift_port(brokers[0], 6);
}
