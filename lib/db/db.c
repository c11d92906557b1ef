/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection's states. Only enter() changes one.
 *
 *   WAITING --deadline--> CONNECTING --connected--> PREPARING --all prepared--> READY
 *      ^                      |                         |                        |
 *      +-------- lose() ------+-------------------------+------------------------+
 *   any --PR_FATAL--> FAILED
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "db/db_private.h"

#include <poll.h>
#include <string.h>

pr_db_t *pr_db_new(const pr_db_options_t *options)
{
    pr_assert(options->url != NULL && options->application_name != NULL);
    pr_db_t *self = PR_NEW(pr_db_t);
    self->options = *options;
    self->state = PR_DB_WAITING;
    self->described = pr_calloc((size_t)options->nstatements, sizeof *self->described);
    self->tail = &self->head;
    return self;
}

void pr_db_destroy(pr_db_t **self_p)
{
    pr_db_t *self = *self_p;
    if (self == NULL)
        return;
    pr_assert(!self->calling);
    self->state = PR_DB_FAILED; /* so that a callback's pr_db_query is refused */
    pr_error_t why;
    (void)pr_error_set(&why, PR_AGAIN, "db", "", "the connection is being closed");
    pr_db_fail_pending(self, &why);
    PQfinish(self->conn);
    pr_free(self->described);
    pr_free(self);
    *self_p = NULL;
}

/* ---- moves ---- */

static void enter(pr_db_t *self, pr_db_state_t state, int64_t deadline_ms)
{
    self->state = state;
    self->deadline_ms = deadline_ms;
}

static int64_t backoff_ms(int tries)
{
    int64_t wait = PR_DB_BACKOFF_MIN_MS;
    for (int i = 1; i < tries && wait < PR_DB_BACKOFF_MAX_MS; i++)
        wait *= 2;
    wait = wait < PR_DB_BACKOFF_MAX_MS ? wait : PR_DB_BACKOFF_MAX_MS;
    return wait - (int64_t)(pr_random_u64() % (uint64_t)(wait / 4 + 1));
}

static void close_connection(pr_db_t *self, const pr_error_t *why)
{
    PQfinish(self->conn);
    self->conn = NULL;
    self->reset_wanted = false;
    pr_db_fail_pending(self, why);
}

static void lose(pr_db_t *self, const pr_error_t *why)
{
    bool was_ready = self->state == PR_DB_READY;
    if (self->tries < INT32_MAX)
        self->tries++;
    int64_t wait = backoff_ms(self->tries);
    pr_log_limited(PR_LOG_WARN, was_ready ? "db.lost" : "db.unreachable",
                   self->options.application_name,
                   "role=%s again_ms=%d under_way=%d code=%s text=%s",
                   self->options.role != NULL ? self->options.role : "", (int)wait, self->npending,
                   why->code, why->text);
    enter(self, PR_DB_WAITING, self->now_ms + wait);
    close_connection(self, why);
    if (was_ready && self->options.on_lost != NULL)
        self->options.on_lost(self->options.arg);
}

static pr_rc_t fail(pr_db_t *self, const pr_error_t *why)
{
    bool was_ready = self->state == PR_DB_READY;
    self->failure = *why;
    enter(self, PR_DB_FAILED, INT64_MAX);
    close_connection(self, why);
    if (was_ready && self->options.on_lost != NULL)
        self->options.on_lost(self->options.arg);
    return PR_FATAL;
}

static void become_ready(pr_db_t *self)
{
    pr_log_info("db.ready", "name=%s backend=%d role=%s statements=%d tries=%d",
                self->options.application_name, PQbackendPID(self->conn),
                self->options.role != NULL ? self->options.role : "", self->options.nstatements,
                self->tries + 1);
    self->tries = 0;
    enter(self, PR_DB_READY, INT64_MAX);
    self->calling = true;
    if (self->options.on_ready != NULL)
        self->options.on_ready(self->options.arg);
    self->calling = false;
}

/* ---- one step of each state; PR_OK with *moved: look again, the new state may have work ---- */

static pr_rc_t try_start(pr_db_t *self, bool *moved, pr_error_t *error)
{
    if (self->now_ms < self->deadline_ms)
        return PR_OK;
    pr_rc_t rc = pr_db_connect_start(self, error);
    if (rc == PR_OK) {
        enter(self, PR_DB_CONNECTING, self->now_ms + PR_DB_CONNECT_MS);
        *moved = true;
    }
    return rc;
}

static pr_rc_t try_connect(pr_db_t *self, bool *moved, pr_error_t *error)
{
    bool connected;
    pr_rc_t rc = pr_db_connect_poll(self, &connected, error);
    if (rc == PR_OK && connected) {
        rc = pr_db_prepare_send(self, error);
        enter(self, PR_DB_PREPARING, self->now_ms + PR_DB_PREPARE_MS);
        *moved = true;
    } else if (rc == PR_OK && self->now_ms >= self->deadline_ms) {
        rc =
            pr_error_set(error, PR_AGAIN, "db", "", "no connection within %d ms", PR_DB_CONNECT_MS);
    }
    return rc;
}

static pr_rc_t try_prepare(pr_db_t *self, bool *moved, pr_error_t *error)
{
    bool ready;
    pr_rc_t rc = pr_db_prepare_read(self, &ready, error);
    if (rc == PR_OK && ready) {
        become_ready(self);
        *moved = true;
    } else if (rc == PR_OK && self->now_ms >= self->deadline_ms) {
        rc = pr_error_set(error, PR_AGAIN, "db", "", "statements not prepared within %d ms",
                          PR_DB_PREPARE_MS);
    }
    return rc;
}

pr_rc_t pr_db_io(pr_db_t *self, int64_t now_ms, pr_error_t *error)
{
    pr_error_t why = {0};
    pr_rc_t rc = PR_OK;
    bool moved = true;
    self->now_ms = now_ms;
    while (rc == PR_OK && moved) {
        moved = false;
        switch (self->state) {
        case PR_DB_WAITING:
            rc = try_start(self, &moved, &why);
            break;
        case PR_DB_CONNECTING:
            rc = try_connect(self, &moved, &why);
            break;
        case PR_DB_PREPARING:
            rc = try_prepare(self, &moved, &why);
            break;
        case PR_DB_READY:
            rc = pr_db_pump(self, &why);
            break;
        case PR_DB_FAILED:
            if (error != NULL)
                *error = self->failure;
            return PR_FATAL;
        }
    }
    if (rc == PR_OK)
        return PR_OK;
    if (rc == PR_AGAIN) {
        lose(self, &why);
        return PR_OK;
    }
    if (error != NULL)
        *error = why;
    return fail(self, &why);
}

void pr_db_reset(pr_db_t *self)
{
    if (self->calling || self->state == PR_DB_WAITING || self->state == PR_DB_FAILED) {
        self->reset_wanted = self->state == PR_DB_READY;
        return;
    }
    pr_error_t why;
    (void)pr_error_set(&why, PR_AGAIN, "db", "", "reset was asked for");
    lose(self, &why);
}

/* ---- what the loop asks ---- */

int pr_db_fd(const pr_db_t *self)
{
    return self->conn != NULL ? PQsocket(self->conn) : -1;
}

short pr_db_events(const pr_db_t *self)
{
    if (self->state != PR_DB_READY)
        return self->events;
    return (short)(PQflush(self->conn) > 0 ? POLLIN | POLLOUT : POLLIN);
}

int64_t pr_db_deadline_ms(const pr_db_t *self)
{
    if (self->state != PR_DB_READY)
        return self->deadline_ms;
    /* a send that could not go at once may have read answers into libpq's buffer: no event tells
     * of them */
    bool answers_wait = self->head != NULL && PQisBusy(self->conn) == 0;
    return answers_wait || self->reset_wanted ? 0 : self->deadline_ms;
}

bool pr_db_ready(const pr_db_t *self)
{
    return self->state == PR_DB_READY && !self->reset_wanted;
}

int pr_db_backend_pid(const pr_db_t *self)
{
    return self->state == PR_DB_READY ? PQbackendPID(self->conn) : 0;
}

int pr_db_pending(const pr_db_t *self)
{
    return self->npending;
}
