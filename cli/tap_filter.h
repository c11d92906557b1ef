/* SPDX-License-Identifier: Apache-2.0
 *
 * Which messages a tap shows. Works on the JSON form of an envelope (pr_envelope_to_json).
 *
 * A batch is cut down to the items that match. Outcomes and acknowledgements carry no merchant
 * and no order, only their job's token: the filter remembers the tokens of the last jobs that
 * matched, so that one order can be followed from dispatch to acknowledgement.
 */
#ifndef PR_CLI_TAP_FILTER_H
#define PR_CLI_TAP_FILTER_H

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_TAP_TOKENS_MAX 4096

typedef struct {
    uint64_t salt;
    int64_t seq;
} pr_tap_token_t;

typedef struct {
    const char *kind;                         /* NULL = all; borrowed, as the two below */
    const char *merchant;                     /* NULL = all */
    const char *order;                        /* NULL = all */
    pr_tap_token_t tokens[PR_TAP_TOKENS_MAX]; /* a ring */
    size_t tokens_count;                      /* ever remembered */
} pr_tap_filter_t;

/* True: show it; batches inside are cut down to what matches. */
bool pr_tap_filter(pr_tap_filter_t *self, json_t *envelope);
/* The name of the array of items in this kind's body, "jobs" in a job_batch; NULL: none. */
const char *pr_tap_items(const char *kind);

#endif
