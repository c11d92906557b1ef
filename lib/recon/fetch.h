/* SPDX-License-Identifier: Apache-2.0
 *
 * A day's statement from its gateway: which call comes next, and what an answer means. The order is
 * that of pr_profile_statement_t (gateway/gateway.h): ask for it, ask whether it is made by now,
 * fetch the file. Decides only: whoever calls (reconciler) makes the calls.
 *
 *   begin -> CALL statement ----> answered -> CALL statement_again ... -> answered
 *        \-> CALL statement_file <-----------------------------------------/
 *                   \-> filed -> READY | NOTHING | FAILED
 *
 * No clock, no I/O; one thread.
 */
#ifndef PR_RECON_FETCH_H
#define PR_RECON_FETCH_H

#include "gateway/gateway.h"

#define PR_FETCH_TEXT_MAX 480 /* of what is said to people; recon_run keeps 500 */

typedef enum {
    PR_FETCH_CALL = 1, /* make it: wait_ms, then operation with request, at origin */
    PR_FETCH_READY,    /* the file is there; digest is to be proved */
    PR_FETCH_NOTHING,  /* the channel says that the day had nothing */
    PR_FETCH_FAILED,   /* text says why */
} pr_fetch_kind_t;

typedef struct {
    const pr_profile_statement_t *statement;
    uint64_t operations; /* of the profile */
    const char *base_url, *day;
    /* the call that comes next */
    pr_operation_t operation;
    int64_t wait_ms;
    char origin[300];    /* where to: the channel's base URL, or the link's host */
    char reference[128]; /* of a statement that is being made */
    pr_buffer_t request; /* the JSON object that templates read as ${request.NAME} */
    uint32_t looks;      /* how often it was asked whether it is made */
    bool linked;         /* the file's place was said by an answer */
    char digest[130];    /* SHA-1 in hex of the unpacked file; "" = not said */
    char text[PR_FETCH_TEXT_MAX];
} pr_fetch_t;

void pr_fetch_init(pr_fetch_t *self); /* once; then begin as often as you like */
void pr_fetch_free(pr_fetch_t *self);

/* Borrows statement, base_url and day ("2026-11-30"). CALL or FAILED. */
pr_fetch_kind_t pr_fetch_begin(pr_fetch_t *self, const pr_profile_facts_t *facts,
                               const pr_profile_statement_t *statement, const char *base_url,
                               const char *day);
/* The answer to statement or statement_again, judged. */
pr_fetch_kind_t pr_fetch_answered(pr_fetch_t *self, const pr_evidence_t *evidence,
                                  uint32_t http_status);
/* The answer to statement_file: whole and 2xx (evidence NULL), or judged. */
pr_fetch_kind_t pr_fetch_filed(pr_fetch_t *self, const pr_evidence_t *evidence,
                               uint32_t http_status);

/* How long the channel is to be left alone by what this answer says, 0 = not: 429 and its words. */
int64_t pr_fetch_pause_ms(const pr_evidence_t *evidence, uint32_t http_status);

#endif
