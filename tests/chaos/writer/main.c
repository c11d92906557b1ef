/* SPDX-License-Identifier: Apache-2.0
 *
 * chaos-writer: the application under chaos. Of COUNT transactions one third commits, one third rolls back, and one third
 * belongs to a process that is killed (SIGKILL, by itself) after enqueueing and before COMMIT. What became of each id is
 * appended to four files in DIR: committed, rolled_back, killed, unknown (the connection broke during COMMIT).
 *
 *   chaos-writer URL DIR COUNT RATE_PER_S MERCHANTS NAME [commit-only]
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "db/db.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *url, *dir, *name;
static int files[4];
enum { COMMITTED, ROLLED_BACK, KILLED, UNKNOWN };

static pr_db_sync_t *connect_wait(void)
{
    for (;;) { /* Postgres is restarted under us, too: an application waits and comes back */
        pr_db_sync_t *db = NULL;
        if (pr_db_sync_connect(url, "postrider_app", &db, NULL) == PR_OK)
            return db;
        poll(NULL, 0, 50);
    }
}

static void record(int file, const uint8_t id[16])
{
    char line[34];
    pr_hex(pr_bytes(id, 16), line);
    line[32] = '\n';
    if (write(files[file], line, 33) != 33)
        abort();
}

static pr_rc_t run(pr_db_sync_t *db, const char *sql)
{
    return pr_db_sync_query(db, sql, NULL, NULL, NULL);
}

/* BEGIN and enqueue; the id. */
static pr_rc_t enqueue(pr_db_sync_t *db, int number, int merchants, uint8_t id[16])
{
    PR_CLEANUP_FREE char *order =
        pr_asprintf("%s-%d", name, number / 2); /* two versions of an order */
    PR_CLEANUP_FREE char *merchant = pr_asprintf("m%03d", number % merchants + 1);
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(params, merchant);
    pr_params_add_text(params, order);
    pr_params_add_i32(params, number % 3);
    pr_rc_t rc = run(db, "BEGIN");
    if (rc == PR_OK)
        rc = pr_db_sync_query(
            db,
            "SELECT postrider.enqueue_notification($1::text, $2::text, 'payment.succeeded', "
            "'{\"chaos\": true}', priority => $3::int)",
            params, &rows, NULL);
    if (rc == PR_OK)
        (void)pr_rows_uuid(rows, 0, 0, id);
    return rc;
}

static void killed_before_commit(int number, int merchants)
{
    pid_t pid = fork();
    if (pid == 0) {
        uint8_t id[16];
        pr_db_sync_t *own = connect_wait();
        if (enqueue(own, number, merchants, id) == PR_OK)
            record(KILLED, id);
        (void)kill(getpid(), SIGKILL);
    }
    (void)waitpid(pid, NULL, 0);
}

static void one(pr_db_sync_t **db, int number, int merchants, bool commit_only)
{
    int fate = commit_only ? COMMITTED : number % 3;
    uint8_t id[16];
    if (fate == KILLED) {
        killed_before_commit(number, merchants);
        return;
    }
    pr_rc_t rc;
    while ((rc = enqueue(*db, number, merchants, id)) != PR_OK) { /* nothing happened: anew */
        pr_db_sync_destroy(db);
        *db = connect_wait();
    }
    rc = run(*db, fate == COMMITTED ? "COMMIT" : "ROLLBACK");
    record(rc == PR_OK || fate == ROLLED_BACK ? fate : UNKNOWN, id);
    if (rc != PR_OK) {
        pr_db_sync_destroy(db);
        *db = connect_wait();
    }
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        (void)fputs("usage: chaos-writer URL DIR COUNT RATE_PER_S MERCHANTS NAME [commit-only]\n",
                    stderr);
        return 2;
    }
    url = argv[1];
    dir = argv[2];
    name = argv[6];
    long count = strtol(argv[3], NULL, 10), rate = strtol(argv[4], NULL, 10),
         merchants = strtol(argv[5], NULL, 10);
    static const char *const kinds[] = {"committed", "rolled_back", "killed", "unknown"};
    for (int i = 0; i < 4; i++) {
        PR_CLEANUP_FREE char *path = pr_asprintf("%s/%s.%s", dir, kinds[i], name);
        files[i] = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (files[i] < 0)
            return 1;
    }
    pr_db_sync_t *db = connect_wait();
    int64_t start_ms = pr_clock_mono_ms();
    for (int i = 0; i < count; i++) {
        int64_t due_ms = start_ms + (int64_t)i * 1000 / rate, now_ms = pr_clock_mono_ms();
        if (due_ms > now_ms)
            poll(NULL, 0, (int)(due_ms - now_ms)); /* the pace */
        one(&db, i, (int)merchants, argc > 7);
    }
    pr_db_sync_destroy(&db);
    return 0;
}
