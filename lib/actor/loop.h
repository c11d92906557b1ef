/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of every process: one thread, one zmq_poll over ZeroMQ sockets and file descriptors.
 * Each turn, in this order: read the clock once; signals; timers that are due; ready inputs (each
 * handler drains its input with a budget); the turn handlers (step, perform, flush); health.
 */
#ifndef PR_ACTOR_LOOP_H
#define PR_ACTOR_LOOP_H

#include "bus/bus.h"
#include "db/db.h"

#include <stdint.h>

typedef struct pr_loop_t pr_loop_t;

/* now_ms: the turn's one reading of pr_clock_mono_ms(). */
typedef void pr_loop_fn(void *arg, int64_t now_ms);

/* Handlers live until removed or the loop ends. Sockets are always served when readable; a
 * handler that leaves messages behind (budget) is called again next turn without sleeping. */
void pr_loop_add_socket(pr_loop_t *self, pr_socket_t *socket, pr_loop_fn *fn, void *arg);
void pr_loop_remove_socket(pr_loop_t *self, pr_socket_t *socket);
void pr_loop_add_fd(pr_loop_t *self, int fd, short events, pr_loop_fn *fn, void *arg);
void pr_loop_remove_fd(pr_loop_t *self, int fd);
/* A database connection: its changing fd, its events and its deadline are looked after; PR_FATAL
 * from it ends the process with exit code 3 after logging. */
void pr_loop_add_db(pr_loop_t *self, pr_db_t *db);
void pr_loop_remove_db(pr_loop_t *self, pr_db_t *db);

/* Timers: few per process (work timers belong in lib/core/timerq). Returned id is > 0. period_ms
 * 0 = once, then it is dead; pr_loop_timer_at re-arms it (INT64_MAX disarms). After the first time a
 * periodic one goes off at multiples of its period, in step with those of other processes. */
int pr_loop_add_timer(pr_loop_t *self, int64_t first_at_ms, int64_t period_ms, pr_loop_fn *fn,
                      void *arg);
void pr_loop_timer_at(pr_loop_t *self, int id, int64_t at_ms);

/* Called at the end of each turn, in the order added. */
void pr_loop_add_turn(pr_loop_t *self, pr_loop_fn *fn, void *arg);
/* Ask for another turn at once (work is left over). */
void pr_loop_again(pr_loop_t *self);
int64_t pr_loop_now_ms(const pr_loop_t *self);

#endif
