/* SPDX-License-Identifier: Apache-2.0 */
#include "bus/address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define IPC "ipc://"
#define TCP "tcp://"
#define PORT_MAX 65535

static const char *ipc_path(const char *endpoint)
{
    return strncmp(endpoint, IPC, strlen(IPC)) == 0 ? endpoint + strlen(IPC) : NULL;
}

static pr_rc_t check_ipc(const char *endpoint, const char *path, pr_error_t *error)
{
    size_t len = strlen(path);
    if (path[0] != '/') {
        return pr_error_set(error, PR_BAD, "bus", "",
                            "%s: the path must be absolute (ipc:///dir/name)", endpoint);
    }
    if (len > PR_IPC_PATH_MAX) {
        return pr_error_set(
            error, PR_BAD, "bus", "",
            "%s: the path has %zu bytes, a socket allows %d: use a shorter directory", endpoint,
            len, PR_IPC_PATH_MAX);
    }
    return PR_OK;
}

static pr_rc_t check_tcp(const char *endpoint, pr_error_t *error)
{
    const char *host = endpoint + strlen(TCP);
    const char *colon = strrchr(host, ':');
    char *end = NULL;
    long port = colon ? strtol(colon + 1, &end, 10) : 0;
    bool good = colon && colon > host && colon[1] >= '0' && colon[1] <= '9' && *end == '\0' &&
                port >= 1 && port <= PORT_MAX;
    if (!good) {
        return pr_error_set(error, PR_BAD, "bus", "", "%s: write tcp://host:port, port 1 to %d",
                            endpoint, PORT_MAX);
    }
    return PR_OK;
}

pr_rc_t pr_address_check(const char *endpoint, pr_error_t *error)
{
    const char *path = ipc_path(endpoint);
    if (path) {
        return check_ipc(endpoint, path, error);
    }
    if (strncmp(endpoint, TCP, strlen(TCP)) == 0) {
        return check_tcp(endpoint, error);
    }
    return pr_error_set(error, PR_BAD, "bus", "", "%s: write ipc:///path or tcp://host:port",
                        endpoint);
}

static bool somebody_answers(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path)); /* its length was checked */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    int rc = connect(fd, (const struct sockaddr *)&address, sizeof address);
    bool answered = rc == 0 || errno != ECONNREFUSED; /* EAGAIN: alive, its backlog is full */
    close(fd);
    return answered;
}

pr_rc_t pr_address_vacant(const char *endpoint, pr_error_t *error)
{
    const char *path = ipc_path(endpoint);
    struct stat status;
    if (!path || lstat(path, &status) != 0) {
        return PR_OK;
    }
    if (!S_ISSOCK(status.st_mode)) {
        return pr_error_set(error, PR_BAD, "bus", "", "%s: a file that is no socket stands there",
                            endpoint);
    }
    if (somebody_answers(path)) {
        return pr_error_set(error, PR_BAD, "bus", "EADDRINUSE",
                            "%s: another process serves it: stop that one first", endpoint);
    }
    return PR_OK;
}

pr_umask_t pr_umask_private(void)
{
    return umask(0177);
}

void pr_umask_restore(pr_umask_t mask)
{
    umask(mask);
}
