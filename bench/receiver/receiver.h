/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_receiver_t: the fast counting receiver of the bench. Every POST is answered `200 SUCCESS`; the
 * first receipt (CLOCK_REALTIME) and the count of every notification are kept. No tempers but
 * one: a share of the merchants hangs (reads, never answers).
 *
 * Fast because it does little: one thread, one epoll, edge-triggered; one recv and one send for all
 * the requests that a connection has ready; no allocation, no formatting and no timer on the way.
 *
 * Memory: 64 bytes for each expected id (doubling past that, up to max_ids), and for each of
 * max_connections a slot with an 80 kB buffer only while a request is incomplete in it.
 */
#ifndef PR_BENCH_RECEIVER_H
#define PR_BENCH_RECEIVER_H

#include "base/error.h"
#include "sandbox/ledger.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int listener, signals; /* the receiver's from here on */
    uint32_t max_connections;
    size_t expected_ids, max_ids;
    uint32_t hang_permille; /* of the merchants, chosen by a hash of the path */
    const char *hang;       /* ",m1,m7," : these hang, too; NULL none */
    const char *dump;       /* where the record goes at SIGUSR1 and at the end; NULL none */
} pr_receiver_options_t;

typedef struct {
    uint64_t requests, distinct, repeated, hung, unnamed, refused;
    int64_t first_us, last_us; /* of all receipts; 0 none */
} pr_receiver_counts_t;

typedef struct pr_receiver_t pr_receiver_t;

pr_receiver_t *pr_receiver_new(const pr_receiver_options_t *options);
void pr_receiver_destroy(pr_receiver_t **self);
/* Until SIGTERM or SIGINT (PR_OK; dump written), or PR_FATAL. */
PR_CHECK pr_rc_t pr_receiver_run(pr_receiver_t *self, pr_error_t *error);
pr_receiver_counts_t pr_receiver_counts(const pr_receiver_t *self);

/* The dump: 32 bytes a row, no header, little-endian: 16 bytes id (the UUID's bytes), int64 first
 * receipt in us since 1970, uint32 count, uint32 flags (bit 0: its merchant hangs). It is renamed
 * into place when whole. */
typedef struct {
    uint8_t id[16];
    int64_t first_us;
    uint32_t count, flags;
} pr_receiver_row_t;

PR_CHECK pr_rc_t pr_receiver_dump(const pr_receiver_t *self, const char *path, pr_error_t *error);
/* Whether the merchant of this path hangs. */
bool pr_receiver_hangs(const pr_receiver_options_t *options, const char *name, size_t len);

#endif
