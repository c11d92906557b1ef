/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_server_t: the sockets of the sandbox. One thread, one epoll, raw TCP: a library cannot be made to
 * misbehave on purpose (answer half a body, reset, drip a byte a second, never end).
 *
 * One turn: events; due timers; every connection that can go on reads, parses and decides; the
 * journal is written; then the answers leave. One request at a time on a connection; what
 * follows it (pipelining) waits in the kernel and in a bounded buffer.
 *
 * Memory: at most max_connections, each up to 16 KiB of head + max_body + 128 KiB of answer (control
 * answers: up to 6 MiB). Further connections wait in the kernel's backlog.
 */
#ifndef PR_SANDBOX_SERVER_H
#define PR_SANDBOX_SERVER_H

#include "sandbox/sandbox.h"

typedef struct {
    int listener; /* listening, non-blocking; the server's from here on */
    int signals;  /* signalfd; the server's; -1: none */
    uint32_t max_connections;
    uint32_t max_body; /* bytes of a request's body; above: 413 */
} pr_server_options_t;

typedef struct pr_server_t pr_server_t;

pr_server_t *pr_server_new(const pr_server_options_t *options, pr_sandbox_t *sandbox);
void pr_server_destroy(pr_server_t **self);

/* One turn, waiting at most max_wait_ms. PR_LOST: asked to stop. PR_FATAL: journal or epoll. */
PR_CHECK pr_rc_t pr_server_turn(pr_server_t *self, int max_wait_ms, pr_error_t *error);
/* Turns until a signal (PR_OK) or a failure (PR_FATAL). What still waits is recorded as abandoned. */
PR_CHECK pr_rc_t pr_server_run(pr_server_t *self, pr_error_t *error);

#endif
