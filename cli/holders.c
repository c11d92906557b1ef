/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/holders.h"

#include "base/alloc.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether one of the descriptors in /proc/PID/fd is the file. */
static bool holds(const char *fds, const struct stat *file)
{
    DIR *dir = opendir(fds);
    bool found = false;
    struct stat open_file;
    if (dir == NULL) {
        return false; /* ended meanwhile, or not ours to look into */
    }
    for (struct dirent *entry = readdir(dir); entry != NULL && !found; entry = readdir(dir)) {
        found = entry->d_name[0] != '.' && fstatat(dirfd(dir), entry->d_name, &open_file, 0) == 0 &&
                open_file.st_dev == file->st_dev && open_file.st_ino == file->st_ino;
    }
    closedir(dir);
    return found;
}

int pr_holders_signal(const char *path, int signal_no)
{
    struct stat file;
    DIR *dir = stat(path, &file) == 0 ? opendir("/proc") : NULL;
    int count = 0;
    if (dir == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0: no process */
        PR_CLEANUP_FREE char *fds = pr_asprintf("/proc/%s/fd", entry->d_name);
        if (pid > 1 && pid != getpid() && holds(fds, &file) && kill(pid, signal_no) == 0) {
            count++;
        }
    }
    closedir(dir);
    return count;
}
