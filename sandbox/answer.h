/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_answer_t: what one request gets, decided from the merchant's temper, and its bytes. Pure: time is
 * passed in. The server only performs it.
 *
 * accepted means: by the default rule (200 and SUCCESS within what a sender reads, 64 KiB) the
 * answer says that the notification was taken.
 */
#ifndef PR_SANDBOX_ANSWER_H
#define PR_SANDBOX_ANSWER_H

#include "sandbox/ledger.h"
#include "sandbox/merchants.h"

/* How long after "come back in N s" what was already on its way may still arrive unblamed. */
#define PR_ANSWER_GRACE_MS 250

typedef enum {
    PR_ANSWER_SEND = 0, /* head, fill, body */
    PR_ANSWER_RAW,      /* body alone, then FIN */
    PR_ANSWER_HOLD,     /* nothing, until the sender leaves */
    PR_ANSWER_RESET,    /* RST */
    PR_ANSWER_CLOSE,    /* FIN */
} pr_answer_how_t;

typedef struct {
    pr_answer_how_t how;
    int status;
    const char *what; /* for the journal when there is no status */
    bool accepted, early;
    bool close;        /* FIN after the last byte */
    bool endless;      /* chunked, without end */
    bool interim;      /* 103 first */
    uint8_t fill_byte; /* fill bytes of this before the body */
    uint64_t fill;
    uint64_t missing;       /* bytes promised in Content-Length but never sent */
    int64_t delay_ms;       /* before the first byte */
    int64_t drip_ms;        /* > 0: one byte each */
    int64_t linger_ms;      /* before that FIN */
    int64_t retry_after_ms; /* > 0: Retry-After */
    bool retry_date;
    const char *location; /* borrowed from the temper, as is body */
    const char *body;
    size_t body_len;
} pr_answer_t;

/* try counts the receipts of this id from 1; seed makes the dice repeatable. */
pr_answer_t pr_answer_decide(pr_merchant_t *merchant, const pr_notify_id_t *id, uint32_t try,
                             uint64_t seed, int64_t now_ms);

/* Everything up to the fill (and after it, when there is none), appended to out. close: say so.
 * wall_s: for a Retry-After as a date. */
PR_CHECK pr_rc_t pr_answer_render(const pr_answer_t *self, bool close, int64_t wall_s,
                                  pr_buffer_t *out);
/* A whole answer of the sandbox itself (control, refusals). */
PR_CHECK pr_rc_t pr_answer_plain(int status, const char *type, pr_bytes_t body, bool close,
                                 pr_buffer_t *out);
const char *pr_answer_reason(int status);

#endif
