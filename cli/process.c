/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/process.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void child_files(posix_spawn_file_actions_t *files, const pr_spawn_t *spawn)
{
    int rc = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (spawn->output != NULL) {
        rc |= posix_spawn_file_actions_addopen(files, STDOUT_FILENO, spawn->output,
                                               O_WRONLY | O_CREAT | O_APPEND, 0600);
        rc |= posix_spawn_file_actions_adddup2(files, STDOUT_FILENO, STDERR_FILENO);
    }
    if (spawn->quiet) {
        rc |= posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (spawn->stdout_fd != 0) {
        rc |= posix_spawn_file_actions_adddup2(files, spawn->stdout_fd, STDOUT_FILENO);
    }
    if (spawn->keep_fd != 0) {
        /* onto itself: clears CLOEXEC in the child only */
        rc |= posix_spawn_file_actions_adddup2(files, spawn->keep_fd, spawn->keep_fd);
    }
    pr_assert(rc == 0); /* fails only without memory */
}

static void child_attributes(posix_spawnattr_t *attributes, const pr_spawn_t *spawn)
{
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (spawn->new_session) {
        flags = (short)(flags | POSIX_SPAWN_SETSID);
    }
    int rc = posix_spawnattr_setsigmask(attributes, &none);
    rc |= posix_spawnattr_setsigdefault(attributes, &all);
    rc |= posix_spawnattr_setflags(attributes, flags);
    pr_assert(rc == 0);
}

pr_rc_t pr_process_spawn(const pr_spawn_t *spawn, pid_t *pid, pr_error_t *error)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int rc = posix_spawn_file_actions_init(&files);
    rc |= posix_spawnattr_init(&attributes);
    pr_assert(rc == 0);
    child_files(&files, spawn);
    child_attributes(&attributes, spawn);
    /* posix_spawn takes char *const[] for history's sake and does not write to it. */
    char **argv = NULL;
    memcpy(&argv, &spawn->argv, sizeof(argv));
    rc = posix_spawnp(pid, argv[0], &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (rc != 0) {
        return pr_error_set(error, PR_FATAL, "process", strerrorname_np(rc), "cannot start %s: %s",
                            spawn->argv[0], strerrordesc_np(rc));
    }
    return PR_OK;
}

int pr_process_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        pr_assert(errno == EINTR);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static pr_rc_t finish(const char *name, pid_t pid, int *exit_code, pr_error_t *error)
{
    int code = pr_process_wait(pid);
    if (exit_code != NULL) {
        *exit_code = code;
    }
    if (code != 0) {
        return pr_error_set(error, PR_BAD, "process", "", "%s: exit code %d", name, code);
    }
    return PR_OK;
}

static pr_rc_t drain(int fd, pr_buffer_t *out, pr_error_t *error)
{
    char chunk[4096];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return PR_OK;
        }
        if (pr_buffer_append(out, chunk, (size_t)got) != PR_OK) {
            return pr_error_set(error, PR_BAD, "process", "", "output passes %zu bytes",
                                out->max_bytes);
        }
    }
}

static pr_rc_t capture(pr_spawn_t *spawn, pr_buffer_t *out, int *exit_code, pr_error_t *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return pr_error_set(error, PR_FATAL, "process", strerrorname_np(errno), "no pipe");
    }
    pid_t pid = 0;
    spawn->stdout_fd = ends[1];
    pr_rc_t rc = pr_process_spawn(spawn, &pid, error);
    close(ends[1]);
    if (rc != PR_OK) {
        close(ends[0]);
        return rc;
    }
    rc = drain(ends[0], out, error);
    close(ends[0]); /* before the wait: a child that still writes gets SIGPIPE */
    pr_rc_t ended = finish(spawn->argv[0], pid, exit_code, rc == PR_OK ? error : NULL);
    return rc == PR_OK ? ended : rc;
}

pr_rc_t pr_process_capture(const char *const *argv, pr_buffer_t *out, int *exit_code,
                           pr_error_t *error)
{
    pr_spawn_t spawn = {.argv = argv};
    return capture(&spawn, out, exit_code, error);
}

int pr_process_quiet(const char *const *argv, pr_buffer_t *out)
{
    pr_spawn_t spawn = {.argv = argv, .quiet = true};
    int code = -1;
    if (out != NULL) {
        pr_rc_t rc = capture(&spawn, out, &code, NULL);
        return rc == PR_OK || code != 0 ? code : -1; /* code 0 but not OK: too much output */
    }
    pid_t pid = 0;
    return pr_process_spawn(&spawn, &pid, NULL) == PR_OK ? pr_process_wait(pid) : -1;
}
