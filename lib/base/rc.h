/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_rc_t: what a caller must do next. Three kinds of failure take three roads
 * (CONTRIBUTING.md, "Errors"): bugs abort (assert.h), exhausted memory aborts (alloc.h),
 * everything else returns one of these codes, and its caller must look at it.
 */
#ifndef PR_BASE_RC_H
#define PR_BASE_RC_H

typedef enum {
    PR_OK = 0,    /* done */
    PR_AGAIN = 1, /* not now: try again later (busy, not connected, timed out) */
    PR_LOST = 2,  /* the lease, session or row is no longer ours: drop what we hold */
    PR_BAD = 3,   /* the input violates its contract: never try the same again */
    PR_FATAL = 4, /* the process cannot go on: exit, the supervisor restarts */
} pr_rc_t;

#define PR_CHECK __attribute__((warn_unused_result))
#define PR_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))

/* "ok", "again", "lost", "bad", "fatal"; never NULL. */
const char *pr_rc_name(pr_rc_t rc);

#endif
