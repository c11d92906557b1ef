/* SPDX-License-Identifier: Apache-2.0
 *
 * Where schedulers may be found when no broker tells: at bus.scheduler where that is set, else
 * beside the first broker's ipc sockets, where each binds one of its own: a letter that tells its kind
 * ("s": scheduler_bus.c) and a number in hexadecimal made from its id. A killed one leaves its file behind, so each is asked
 * whether anybody listens.
 */
#include "base/alloc.h"
#include "worker/worker_bus_private.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool listens(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return false;
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool good = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN;
    close(fd);
    return good;
}

static bool named_like_one(const char *file, char letter)
{
    return file[0] == letter && file[1] != '\0' &&
           file[1 + strspn(file + 1, "0123456789abcdef")] == '\0';
}

static void look_in(pr_worker_bus_t *self, const char *folder, int64_t now_ms)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (!named_like_one(entry->d_name, self->spec.scheduler))
            continue;
        PR_CLEANUP_FREE char *path = pr_asprintf("%s/%s", folder, entry->d_name);
        PR_CLEANUP_FREE char *address = pr_asprintf("ipc://%s", path);
        if (listens(path))
            pr_worker_found(self->step, address, now_ms);
    }
    closedir(dir);
}

void worker_look_for_schedulers(pr_worker_bus_t *self, int64_t now_ms)
{
    const pr_config_t *config = pr_actor_config(self->actor);
    const char *configured = pr_config_text(config, "bus.scheduler");
    if (configured[0] != '\0') {
        pr_worker_found(self->step, configured, now_ms);
        return;
    }
    const char *const *brokers = NULL;
    static const char ipc[] = "ipc://";
    const size_t ipc_len = sizeof(ipc) - 1;
    if (pr_config_list(config, "bus.brokers", &brokers) < 1 ||
        strncmp(brokers[0], ipc, ipc_len) != 0)
        return;
    const char *path = brokers[0] + ipc_len;
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return;
    PR_CLEANUP_FREE char *folder = pr_asprintf("%.*s", (int)(slash - path), path);
    look_in(self, folder, now_ms);
}
