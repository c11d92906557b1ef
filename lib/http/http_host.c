/* SPDX-License-Identifier: Apache-2.0
 *
 * How many connections lead to each scheme+host+port. libcurl bounds its idle connections in all,
 * not per host; so we count: sockets - busy requests = idle ones, now or in a moment. A response
 * that would make one idle connection too many closes its own (http_transfer.c).
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/fnv.h"
#include "http/http_internal.h"

#include <fcntl.h>
#include <string.h>

/* Length of "scheme://authority". */
static size_t origin_len(const char *url)
{
    const char *start = strstr(url, "://");
    start = start == NULL ? url : start + 3;
    return (size_t)(start - url) + strcspn(start, "/?#");
}

host_t *host_take(pr_http_t *http, const char *url)
{
    size_t len = origin_len(url);
    uint64_t hash = pr_fnv_bytes(PR_FNV_START, url, len);
    host_t **bucket = &http->hosts[hash % HOST_BUCKETS];
    host_t *host = *bucket;
    while (host != NULL &&
           (host->hash != hash || strncmp(host->key, url, len) != 0 || host->key[len] != '\0'))
        host = host->next;
    if (host == NULL) {
        host = pr_calloc(1, sizeof(*host) + len + 1);
        memcpy(host->key, url, len);
        host->hash = hash;
        host->next = *bucket;
        *bucket = host;
    }
    host->requests++;
    host->busy++;
    return host;
}

static void drop_if_unused(pr_http_t *http, host_t *host)
{
    if (host->requests > 0 || host->sockets > 0)
        return;
    host_t **link = &http->hosts[host->hash % HOST_BUCKETS];
    while (*link != host)
        link = &(*link)->next;
    *link = host->next;
    pr_free(host);
}

void host_release(pr_http_t *http, host_t **host)
{
    pr_assert((*host)->requests > 0);
    (*host)->requests--;
    drop_if_unused(http, PR_STEAL(*host));
}

descriptor_t *descriptor_get(pr_http_t *http, int fd)
{
    pr_assert(fd >= 0);
    if (fd >= http->descriptor_count) {
        int count = fd + 64;
        size_t old = (size_t)http->descriptor_count;
        http->descriptors = pr_realloc(http->descriptors, (size_t)count, sizeof(descriptor_t));
        memset(http->descriptors + old, 0, ((size_t)count - old) * sizeof(descriptor_t));
        http->descriptor_count = count;
    }
    return &http->descriptors[fd];
}

void host_socket_opened(pr_http_t *http, host_t *host, int fd)
{
    if (descriptor_get(http, fd)->host != NULL)
        host_socket_closed(http, fd); /* it was, unseen */
    *descriptor_get(http, fd) = (descriptor_t){.host = host};
    host->sockets++;
    http->stats.sockets++;
    http->stats.connects++;
}

/* The kernel takes a closed descriptor out of the epoll set by itself. */
void host_socket_closed(pr_http_t *http, int fd)
{
    descriptor_t *descriptor = descriptor_get(http, fd);
    host_t *host = descriptor->host;
    *descriptor = (descriptor_t){0};
    if (host == NULL)
        return;
    host->sockets--;
    http->stats.sockets--;
    drop_if_unused(http, host);
}

/* A connect that is broken off is closed by libcurl 7.88 without telling us. Called when a request
 * has failed, right after it left libcurl. */
void host_sockets_check(pr_http_t *http, const transfer_t *transfer)
{
    for (int i = 0; i < transfer->sockets_opened && i < OPENED_MAX; i++) {
        int fd = transfer->opened[i];
        if (descriptor_get(http, fd)->host != NULL && fcntl(fd, F_GETFD) < 0)
            host_socket_closed(http, fd);
    }
}

/* At the end, when all sockets are closed. */
void hosts_free(pr_http_t *http)
{
    for (size_t i = 0; i < HOST_BUCKETS; i++) {
        while (http->hosts[i] != NULL) {
            host_t *host = http->hosts[i];
            http->hosts[i] = host->next;
            pr_free(host);
        }
    }
}
