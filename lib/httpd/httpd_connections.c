/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections: how many, from whom, in which phase, until when.
 */
#include "base/alloc.h"
#include "base/fnv.h"
#include "httpd/httpd_private.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* ---- lists ---- */

static void unlink_from(pr_httpd_t *self, httpd_connection_t *one)
{
    connection_list_t *list = &self->lists[one->phase];
    *(one->before ? &one->before->after : &list->first) = one->after;
    *(one->after ? &one->after->before : &list->last) = one->before;
    one->before = one->after = NULL;
    self->counts[one->phase]--;
}

static void link_to(pr_httpd_t *self, httpd_connection_t *one, phase_t phase)
{
    connection_list_t *list = &self->lists[phase];
    one->phase = phase;
    one->before = list->last;
    *(list->last ? &list->last->after : &list->first) = one;
    list->last = one;
    self->counts[phase]++;
}

static int64_t length_ms(const pr_httpd_t *self, phase_t phase)
{
    const pr_httpd_options_t *options = &self->options;
    switch (phase) {
    case PHASE_OPENED:
        return options->header_ms;
    case PHASE_IDLE:
        return options->idle_ms + options->header_ms;
    case PHASE_BODY:
        return options->body_ms;
    case PHASE_SEND:
        return options->send_ms;
    case PHASE_WORK:
    case PHASE_CUT:
    case PHASES:
        break;
    }
    return -1;
}

void httpd_enter(pr_httpd_t *self, httpd_connection_t *connection, phase_t phase)
{
    if (connection->phase == PHASE_CUT)
        return;
    int64_t length = length_ms(self, phase);
    unlink_from(self, connection);
    link_to(self, connection, phase);
    connection->deadline_ms = length < 0 ? INT64_MAX : self->now_ms + length;
}

/* ---- addresses ---- */

/* An IPv6 customer has a /64: that is one address here. */
static uint64_t address_key(const pr_ip_t *ip)
{
    return pr_fnv_bytes(PR_FNV_START, ip->bytes, ip->is_ipv6 ? 8 : 4);
}

static uintptr_t connections_from(const pr_httpd_t *self, uint64_t key)
{
    return (uintptr_t)pr_map_get(self->addresses, key);
}

/* The map has as many places as there may be connections. */
static void count_address(pr_httpd_t *self, const pr_ip_t *ip, int change)
{
    uint64_t key = address_key(ip);
    uintptr_t count = connections_from(self, key) + (uintptr_t)change;
    if (count == 0)
        pr_map_remove(self->addresses, key);
    else if (pr_map_put(self->addresses, key, (void *)count, NULL) != PR_OK)
        self->stats.refused_address++; /* cannot be: see above */
}

static bool is_trusted(const pr_httpd_t *self, const pr_ip_t *ip)
{
    return self->options.trusted && pr_allow_has(self->options.trusted, ip, 0);
}

bool httpd_may_connect(pr_httpd_t *self, const struct sockaddr *address, size_t len)
{
    pr_ip_t ip;
    if (!pr_ip_from_sockaddr(address, len, &ip, NULL))
        return false;
    bool ok = is_trusted(self, &ip) ||
              connections_from(self, address_key(&ip)) < (uintptr_t)self->options.max_per_address;
    self->stats.refused_address += !ok;
    return ok;
}

/* ---- coming and going ---- */

void httpd_cut(pr_httpd_t *self, httpd_connection_t *connection)
{
    httpd_enter(self, connection, PHASE_CUT);
    shutdown(connection->fd, SHUT_RDWR);
}

static int held(const pr_httpd_t *self)
{
    int count = 0;
    for (int phase = 0; phase < PHASE_CUT; phase++)
        count += self->counts[phase];
    return count;
}

static void displace_one(pr_httpd_t *self)
{
    for (int phase = 0; phase < PHASE_WORK; phase++)
        if (self->lists[phase].first) {
            self->stats.displaced++;
            httpd_cut(self, self->lists[phase].first);
            return;
        }
}

static size_t address_len(const struct sockaddr *address)
{
    return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

httpd_connection_t *httpd_connected(pr_httpd_t *self, int fd, const struct sockaddr *address)
{
    httpd_connection_t *one = PR_NEW(httpd_connection_t);
    if (held(self) >= self->options.max_connections)
        displace_one(self);
    one->fd = fd;
    if (address && pr_ip_from_sockaddr(address, address_len(address), &one->peer, NULL))
        one->trusted = is_trusted(self, &one->peer);
    if (!one->trusted)
        count_address(self, &one->peer, 1);
    self->stats.accepted++;
    one->deadline_ms = self->now_ms + self->options.header_ms;
    link_to(self, one, PHASE_OPENED);
    return one;
}

void httpd_closed(pr_httpd_t *self, httpd_connection_t *connection)
{
    if (!connection->trusted)
        count_address(self, &connection->peer, -1);
    unlink_from(self, connection);
    httpd_request_free(connection->request);
    pr_free(connection);
}

/* ---- deadlines ---- */

void httpd_cut_expired(pr_httpd_t *self)
{
    for (int phase = 0; phase < PHASE_WORK; phase++)
        while (self->lists[phase].first && self->lists[phase].first->deadline_ms <= self->now_ms) {
            self->stats.expired++;
            httpd_cut(self, self->lists[phase].first);
        }
}

int64_t httpd_next_deadline_ms(const pr_httpd_t *self)
{
    int64_t next_ms = INT64_MAX;
    for (int phase = 0; phase < PHASE_WORK; phase++) {
        const httpd_connection_t *first = self->lists[phase].first;
        if (first && first->deadline_ms < next_ms)
            next_ms = first->deadline_ms;
    }
    return next_ms;
}
