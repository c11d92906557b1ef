/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/home.h"
#include "cli/process.h"
#include "sql/bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MS 60000
#define LOOK_MS 2
#define WHO "bench"

pr_rc_t pr_peer_install(char **dir, pr_error_t *error)
{
    const char *home = getenv("POSTRIDER_HOME");
    PR_CLEANUP_FREE char *script = pr_asprintf("%s/bench/peers/install.sh", home ? home : "");
    *dir = pr_asprintf("/tmp/postrider-peers-%ld", (long)getuid());
    if (!home || access(script, X_OK) != 0)
        return pr_error_set(error, PR_FATAL, WHO, "",
                            "the peers are part of a checkout: run ./postrider bench peers in one");
    pr_rc_t rc = pr_home_make_private_dir(*dir, error);
    if (rc != PR_OK)
        return rc;
    const char *const argv[] = {script, *dir, NULL};
    pr_spawn_t spawn = {.argv = argv};
    pid_t pid = 0;
    (void)fprintf(stderr, "installing the peers under %s\n", *dir);
    rc = pr_process_spawn(&spawn, &pid, error);
    if (rc == PR_OK && pr_process_wait(pid) != 0)
        rc = pr_error_set(error, PR_FATAL, WHO, "", "the peers cannot be installed");
    return rc;
}

/* The peer's program as the application's role; what it says goes to a log of its own. */
static pr_rc_t spawn(pr_stage_t *stage, const char *dir, const pr_peer_kind_t *kind,
                     const char *verb, const char *status, pid_t *pid, pr_error_t *error)
{
    PR_CLEANUP_FREE char *program = pr_asprintf("%s/%s", dir, kind->program);
    PR_CLEANUP_FREE char *config = pr_asprintf("%s/%s", dir, kind->config);
    PR_CLEANUP_FREE char *log = pr_asprintf("%s/log/%s.log", stage->state_dir, kind->program);
    const char *port = strrchr(stage->receiver_address, ':') + 1;
    const char *const argv[] = {"node", program, config, verb, NULL};
    pr_spawn_t child = {.argv = argv, .output = log};
    (void)setenv("DATABASE_URL", stage->app_url, 1);
    (void)setenv("RECEIVER_PORT", port, 1);
    (void)setenv("STATUS", status, 1);
    (void)setenv("PGOPTIONS", "-c role=postrider_app", 1);
    pr_rc_t rc = pr_process_spawn(&child, pid, error);
    (void)unsetenv("PGOPTIONS");
    return rc;
}

pr_rc_t pr_peer_setup(pr_stage_t *stage, const char *dir, const pr_peer_kind_t *kind,
                      pr_error_t *error)
{
    pid_t pid = 0;
    pr_rc_t rc = pr_stage_create_database(stage, kind->database, "postrider_app", error);
    rc = rc != PR_OK ? rc : pr_stage_use_database(stage, kind->database, error);
    rc = rc != PR_OK
             ? rc
             : pr_db_sync_script(stage->admin, pr_sql_bench[PR_SQL_BENCH_PEER_PREPARE].sql, error);
    rc = rc != PR_OK ? rc : spawn(stage, dir, kind, "setup", "/dev/null", &pid, error);
    if (rc == PR_OK && pr_process_wait(pid) != 0)
        rc = pr_error_set(error, PR_FATAL, WHO, "", "%s cannot be set up: see %s/log/%s.log",
                          kind->name, stage->state_dir, kind->program);
    return rc;
}

/* Until its status is this word, followed by how many signals it has answered (0: the word alone). */
static pr_rc_t await_status(pr_stage_t *stage, const char *word, pr_error_t *error)
{
    pr_peer_t *peer = stage->peer;
    PR_CLEANUP_FREE char *wanted =
        peer->answers == 0 ? pr_strdup(word) : pr_asprintf("%s %d", word, peer->answers);
    int64_t until_ms = pr_clock_mono_ms() + ANSWER_MS;
    for (;;) {
        PR_CLEANUP_FREE char *status = pr_home_read(peer->status);
        if (status && strcmp(status, wanted) == 0)
            return PR_OK;
        if (pr_clock_mono_ms() > until_ms || kill(peer->pid, 0) != 0)
            return pr_error_set(error, PR_FATAL, WHO, "", "%s is not %s: see %s/log/%s.log",
                                peer->kind->name, word, stage->state_dir, peer->kind->program);
        pr_rc_t rc = pr_bench_wait_ms(LOOK_MS, error);
        if (rc != PR_OK)
            return rc;
    }
}

pr_rc_t pr_peer_enter(pr_stage_t *stage, const char *dir, const pr_peer_kind_t *kind,
                      pr_error_t *error)
{
    pr_rc_t rc = pr_stage_use_database(stage, kind->database, error);
    rc = rc != PR_OK ? rc : pr_db_sync_query(stage->app, "SELECT peer.reset()", NULL, NULL, error);
    if (rc != PR_OK)
        return rc;
    pr_peer_t *peer = PR_NEW(pr_peer_t);
    stage->peer = peer;
    peer->kind = kind;
    peer->status = pr_asprintf("%s/peer.status", stage->state_dir);
    (void)unlink(peer->status);
    rc = spawn(stage, dir, kind, "work", peer->status, &peer->pid, error);
    return rc != PR_OK ? rc : await_status(stage, "ready", error);
}

void pr_peer_leave(pr_stage_t *stage)
{
    pr_peer_t *peer = stage->peer;
    if (!peer)
        return;
    if (peer->pid > 0 && kill(peer->pid, SIGKILL) == 0)
        (void)pr_process_wait(peer->pid);
    pr_free(peer->status);
    pr_free(peer);
    stage->peer = NULL;
}

pr_rc_t pr_peer_work(pr_stage_t *stage, bool work, pr_error_t *error)
{
    stage->peer->answers++;
    (void)kill(stage->peer->pid, work ? SIGUSR2 : SIGHUP);
    return await_status(stage, work ? "working" : "idle", error);
}
