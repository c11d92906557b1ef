/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/holders.h"

#include "base/alloc.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether one of the descriptors in /proc/PID/fd is the file. */
static bool holds(const char *fds, const void *arg)
{
    const struct stat *file = arg;
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

/* Whether one of them is a removed file that had this path; in /proc its link says so. */
static bool holds_lost(const char *fds, const void *link)
{
    DIR *dir = opendir(fds);
    bool found = false;
    char target[PATH_MAX];
    if (dir == NULL) {
        return false;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL && !found; entry = readdir(dir)) {
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
        target[len > 0 ? len : 0] = '\0';
        found = strcmp(target, link) == 0;
    }
    closedir(dir);
    return found;
}

static int signal_each(bool (*chosen)(const char *fds, const void *arg), const void *arg,
                       int signal_no)
{
    DIR *dir = opendir("/proc");
    int count = 0;
    if (dir == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0: no process */
        PR_CLEANUP_FREE char *fds = pr_asprintf("/proc/%s/fd", entry->d_name);
        if (pid > 1 && pid != getpid() && chosen(fds, arg) && kill(pid, signal_no) == 0) {
            count++;
        }
    }
    closedir(dir);
    return count;
}

int pr_holders_signal(const char *path, int signal_no)
{
    struct stat file;
    return stat(path, &file) == 0 ? signal_each(holds, &file, signal_no) : 0;
}

/* What /proc calls a removed file: its path without links. The directories on the way may have gone
 * with it, so the longest part that is left is looked up. The caller's. */
static char *lost_link(const char *path)
{
    PR_CLEANUP_FREE char *head = pr_strdup(path);
    size_t len = strlen(head);
    char real[PATH_MAX];
    while (len > 0 && realpath(head, real) == NULL) {
        while (len > 0 && head[len - 1] != '/') {
            len--;
        }
        len -= len > 0; /* the slash */
        head[len] = '\0';
    }
    if (len == 0 || strcmp(real, "/") == 0) {
        real[0] = '\0';
    }
    return pr_asprintf("%s%s (deleted)", real, path + len);
}

int pr_holders_signal_lost(const char *path, int signal_no)
{
    PR_CLEANUP_FREE char *link = lost_link(path);
    return signal_each(holds_lost, link, signal_no);
}
