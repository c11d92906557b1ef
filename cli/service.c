/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/service.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "cli/home.h"
#include "cli/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_MAX_BYTES 65536
#define LAST_PHASE 9
#define NOTIFY_FD "3"

/* Exit codes 2 (configuration) and 3 (cannot go on) will not heal within a second: wait a little,
 * so that the log is not flooded. s6 gives a finish script five seconds. */
static const char finish_script[] = "#!/bin/sh\n"
                                    "case $1 in 2 | 3) exec sleep 4 ;; esac\n";

/* 'text', as a shell reads it back. The caller's. */
static char *quoted(const char *text)
{
    size_t len = strlen(text);
    char *out = pr_calloc(len + 1, 4); /* each ' becomes four bytes; two around all */
    static const char escaped[] = {'\'', '\\', '\'', '\''};
    char *at = out;
    *at++ = '\'';
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            memcpy(at, escaped, sizeof(escaped));
            at += sizeof(escaped);
        } else {
            *at++ = *text;
        }
    }
    *at = '\'';
    return out;
}

static char *quoted_words(const char *const *argv)
{
    char *words = pr_strdup("");
    for (; *argv != NULL; argv++) {
        PR_CLEANUP_FREE char *word = quoted(*argv);
        char *longer = pr_asprintf("%s %s", words, word);
        pr_free(words);
        words = longer;
    }
    return words;
}

static pr_rc_t write_in(const char *dir, const char *file, const char *text, mode_t mode,
                        pr_error_t *error)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/%s", dir, file);
    return pr_home_write(path, text, mode, error);
}

/* The sockets' directory is in /tmp, where cleaners go round: a process that starts makes it anew,
 * as private as pr_home_make_private_dir does. "" when the bus is elsewhere. The caller's. */
static char *sockets_again(const char *state_dir)
{
    PR_CLEANUP_FREE char *path = pr_home_socket_dir(state_dir);
    if (access(path, F_OK) != 0) {
        return pr_strdup("");
    }
    PR_CLEANUP_FREE char *dir = quoted(path);
    return pr_asprintf("{ [ -d %s ] && [ -O %s ] && [ ! -L %s ]; } || mkdir -m 0700 -- %s || "
                       "exit 2\n",
                       dir, dir, dir, dir);
}

static pr_rc_t write_run(const pr_service_t *service, const char *dir, pr_error_t *error)
{
    PR_CLEANUP_FREE char *env_path = pr_asprintf("%s/run/env", service->state_dir);
    PR_CLEANUP_FREE char *env = quoted(env_path);
    PR_CLEANUP_FREE char *command = quoted_words(service->argv);
    PR_CLEANUP_FREE char *sockets = sockets_again(service->state_dir);
    PR_CLEANUP_FREE char *script =
        pr_asprintf("#!/bin/sh\nexec 2>&1\n%s%sexec s6-envdir -- %s%s\n", sockets,
                    service->notifies ? "export NOTIFY_FD=" NOTIFY_FD "\n" : "", env, command);
    return write_in(dir, "run", script, 0755, error);
}

static pr_rc_t write_log(const pr_service_t *service, const char *dir, pr_error_t *error)
{
    PR_CLEANUP_FREE char *logs = pr_asprintf("%s/log/%s", service->state_dir, service->name);
    PR_CLEANUP_FREE char *link = pr_asprintf("%s.log", logs);
    PR_CLEANUP_FREE char *target = pr_asprintf("%s/current", service->name);
    PR_CLEANUP_FREE char *log_dir = pr_asprintf("%s/log", dir);
    pr_rc_t rc = pr_home_make_dirs(logs, error);
    if (rc == PR_OK) {
        rc = pr_home_make_dirs(log_dir, error);
    }
    if (rc != PR_OK) {
        return rc;
    }
    unlink(link);
    if (symlink(target, link) != 0) {
        return pr_error_set(error, PR_FATAL, "service", "", "cannot link %s", link);
    }
    PR_CLEANUP_FREE char *word = quoted(logs);
    PR_CLEANUP_FREE char *script =
        pr_asprintf("#!/bin/sh\nexec s6-log -- n10 s10000000 %s\n", word);
    return write_in(log_dir, "run", script, 0755, error);
}

pr_rc_t pr_service_write(const pr_service_t *service, pr_error_t *error)
{
    PR_CLEANUP_FREE char *dir = pr_asprintf("%s/run/service/%s", service->state_dir, service->name);
    char phase[16];
    snprintf(phase, sizeof(phase), "%d\n", service->phase);
    pr_rc_t rc = pr_home_make_dirs(dir, error);
    rc = rc != PR_OK ? rc : write_run(service, dir, error);
    rc = rc != PR_OK ? rc : write_log(service, dir, error);
    rc = rc != PR_OK ? rc : write_in(dir, "finish", finish_script, 0755, error);
    rc = rc != PR_OK ? rc : write_in(dir, "phase", phase, 0644, error);
    if (rc == PR_OK && service->notifies) {
        rc = write_in(dir, "notification-fd", NOTIFY_FD "\n", 0644, error);
    }
    return rc;
}

/* ---- looking ---- */

static int64_t count_lines(const char *text)
{
    int64_t lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n' ? 1 : 0;
    }
    return lines;
}

static int64_t count_deaths(const char *dir)
{
    pr_buffer_t out;
    pr_buffer_init(&out, OUTPUT_MAX_BYTES);
    const char *const argv[] = {"s6-svdt", "--", dir, NULL};
    int64_t deaths = 0;
    if (pr_process_quiet(argv, &out) == 0) {
        deaths = count_lines(pr_buffer_text(&out));
    }
    pr_buffer_free(&out);
    return deaths;
}

/* "true true true 4711 12": as the -o below asks for. Takes the text apart. */
static pr_rc_t parse_look(char *text, pr_service_state_t *state)
{
    const char *field[5];
    char *rest = text;
    for (size_t i = 0; i < PR_COUNT(field); i++) {
        field[i] = strsep(&rest, " \n");
        if (field[i] == NULL) {
            return PR_AGAIN;
        }
    }
    state->up = strcmp(field[0], "true") == 0;
    state->ready = strcmp(field[1], "true") == 0;
    state->wanted = strcmp(field[2], "true") == 0;
    state->pid = (pid_t)strtol(field[3], NULL, 10);
    state->pid = state->pid > 0 ? state->pid : 0; /* -1 when down */
    state->seconds = strtoll(field[4], NULL, 10);
    return PR_OK;
}

pr_rc_t pr_service_look(const char *state_dir, const char *name, pr_service_state_t *state)
{
    PR_CLEANUP_FREE char *dir = pr_asprintf("%s/run/service/%s", state_dir, name);
    const char *const argv[] = {"s6-svstat", "-o", "up,ready,wantedup,pid,updownfor",
                                "--",        dir,  NULL};
    pr_buffer_t out;
    pr_buffer_init(&out, OUTPUT_MAX_BYTES);
    *state = (pr_service_state_t){0};
    pr_rc_t rc = pr_process_quiet(argv, &out) == 0 ? PR_OK : PR_AGAIN;
    if (rc == PR_OK) {
        PR_CLEANUP_FREE char *text = pr_strdup(pr_buffer_text(&out));
        rc = parse_look(text, state);
        state->deaths = count_deaths(dir);
    }
    pr_buffer_free(&out);
    return rc;
}

bool pr_service_notifies(const char *state_dir, const char *name)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/run/service/%s/notification-fd", state_dir, name);
    return access(path, F_OK) == 0;
}

int pr_service_phase(const char *state_dir, const char *name)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/run/service/%s/phase", state_dir, name);
    PR_CLEANUP_FREE char *text = pr_home_read(path);
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return LAST_PHASE;
    }
    return text[0] - '0';
}

/* ---- acting ---- */

void pr_service_control(const char *state_dir, const char *name, const char *flag)
{
    PR_CLEANUP_FREE char *dir = pr_asprintf("%s/run/service/%s", state_dir, name);
    const char *const argv[] = {"s6-svc", flag, "--", dir, NULL};
    /* Refused only when its supervisor is gone; the waiting that follows finds that out. */
    pr_process_quiet(argv, NULL);
}

bool pr_service_await(const char *state_dir, const pr_service_names_t *names, const char *state,
                      int64_t ms)
{
    if (names->count == 0) {
        return true;
    }
    char timeout[24];
    snprintf(timeout, sizeof(timeout), "%lld", (long long)ms);
    const char *argv[PR_SERVICES_MAX + 6] = {"s6-svwait", state, "-t", timeout, "--"};
    for (int i = 0; i < names->count; i++) {
        argv[5 + i] = pr_asprintf("%s/run/service/%s", state_dir, names->name[i]);
    }
    int code = pr_process_quiet(argv, NULL);
    for (int i = 0; i < names->count; i++) {
        char *dir = NULL;
        memcpy(&dir, &argv[5 + i], sizeof(dir)); /* made above, ours to free */
        pr_free(dir);
    }
    return code == 0;
}
