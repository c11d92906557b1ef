/* SPDX-License-Identifier: Apache-2.0
 *
 * What the stage asks of its receiver: the running count, and the record (bench/receiver).
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "bench/stage.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DUMP_MS 20000

static int dial(const char *address)
{
    PR_CLEANUP_FREE char *host = pr_strdup(address);
    char *colon = strrchr(host, ':');
    if (!colon)
        return -1;
    *colon = '\0';
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = 5};
    if (fd >= 0 && (inet_pton(AF_INET, host, &to.sin_addr) != 1 ||
                    connect(fd, (struct sockaddr *)&to, sizeof to) != 0 ||
                    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static int64_t number_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? (int64_t)strtoll(at + strlen(key), NULL, 10) : -1;
}

static bool ask(pr_stage_t *self, int64_t *requests, int64_t *hung, pr_error_t *error)
{
    static const char question[] = "GET /control/stats HTTP/1.1\r\nHost: receiver\r\n\r\n";
    char answer[4096];
    if (self->control < 0)
        self->control = dial(self->receiver_address);
    ssize_t got = -1;
    if (self->control >= 0 && send(self->control, question, sizeof question - 1, MSG_NOSIGNAL) > 0)
        got = recv(self->control, answer, sizeof answer - 1, 0); /* small: one send of theirs */
    answer[got > 0 ? got : 0] = '\0';
    *requests = number_of(answer, "\"requests\":");
    *hung = number_of(answer, "\"hung\":");
    if (*requests >= 0 && *hung >= 0)
        return true;
    (void)pr_error_set(error, PR_FATAL, "bench", "", "the receiver at %s does not answer",
                       self->receiver_address);
    return false;
}

int64_t pr_stage_answered(pr_stage_t *self, pr_error_t *error)
{
    int64_t requests, hung;
    return ask(self, &requests, &hung, error) ? requests - hung : -1;
}

int64_t pr_stage_hung(pr_stage_t *self, pr_error_t *error)
{
    int64_t requests, hung;
    return ask(self, &requests, &hung, error) ? hung : -1;
}

pr_rc_t pr_stage_dump(pr_stage_t *self, pr_error_t *error)
{
    (void)unlink(self->receiver_dump);
    pid_t pid = pr_stage_pid(self, "receiver");
    if (pid == 0 || kill(pid, SIGUSR1) != 0)
        return pr_error_set(error, PR_FATAL, "bench", "", "the receiver is down");
    int64_t until_ms = pr_clock_mono_ms() + DUMP_MS;
    while (access(self->receiver_dump, F_OK) != 0) {
        if (pr_clock_mono_ms() > until_ms)
            return pr_error_set(error, PR_FATAL, "bench", "", "the receiver writes no record");
        pr_rc_t rc = pr_bench_wait_ms(10, error);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}
