/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/listener.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

static bool split(const char *address, char *host, size_t host_room, const char **port)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon[1] == '\0') {
        return false;
    }
    const char *start = address, *end = colon;
    if (*start == '[') {
        if (end == start || end[-1] != ']') {
            return false;
        }
        start++;
        end--;
    }
    size_t len = (size_t)(end - start);
    if (len == 0 || len >= host_room) {
        return false;
    }
    memcpy(host, start, len);
    host[len] = '\0';
    *port = colon + 1;
    return true;
}

static bool bind_and_listen(int fd, const struct addrinfo *info)
{
    const int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
           setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 && /* inherited */
           bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, 4096) == 0;
}

static void describe(int fd, char text[PR_ADDRESS_TEXT_MAX])
{
    struct sockaddr_storage bound = {0};
    socklen_t len = sizeof(bound);
    char host[INET6_ADDRSTRLEN], port[8];
    int rc = getsockname(fd, (struct sockaddr *)&bound, &len);
    pr_assert(rc == 0);
    rc = getnameinfo((struct sockaddr *)&bound, len, host, sizeof(host), port, sizeof(port),
                     NI_NUMERICHOST | NI_NUMERICSERV);
    pr_assert(rc == 0);
    snprintf(text, PR_ADDRESS_TEXT_MAX, bound.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
             port);
}

pr_rc_t pr_listener_open(const char *address, int *out_fd, char text[PR_ADDRESS_TEXT_MAX],
                         pr_error_t *error)
{
    char host[INET6_ADDRSTRLEN + 20];
    const char *port = NULL;
    struct addrinfo *info = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    if (!split(address, host, sizeof(host), &port) || getaddrinfo(host, port, &hints, &info) != 0) {
        return pr_error_set(error, PR_BAD, "sandbox", "",
                            "'%s' is not an address such as 127.0.0.1:8090 or [::1]:0", address);
    }
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && bind_and_listen(fd, info);
    int saved = errno;
    freeaddrinfo(info);
    if (!good) {
        if (fd >= 0) {
            close(fd);
        }
        return pr_error_set(error, PR_FATAL, "sandbox", strerrorname_np(saved),
                            "cannot listen on %s", address);
    }
    describe(fd, text);
    *out_fd = fd;
    return PR_OK;
}

pr_rc_t pr_listener_announce(const char *text, const char *port_file, pr_error_t *error)
{
    if (port_file) {
        PR_CLEANUP_FREE char *fresh = pr_asprintf("%s.new", port_file);
        FILE *file = fopen(fresh, "we");
        bool good = file && fprintf(file, "%s\n", text) > 0;
        good = file && fclose(file) == 0 && good;
        if (!good || rename(fresh, port_file) != 0) {
            return pr_error_set(error, PR_FATAL, "sandbox", strerrorname_np(errno),
                                "cannot write %s", port_file);
        }
    }
    printf("listening %s\n", text);
    fflush(stdout);
    return PR_OK;
}

int pr_listener_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGUSR1);
    int rc = sigprocmask(SIG_BLOCK, &set, NULL);
    pr_assert(rc == 0);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    pr_assert(fd >= 0);
    return fd;
}
