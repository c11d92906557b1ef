/* SPDX-License-Identifier: Apache-2.0
 *
 * One call: a Job becomes a signed POST, its response an Outcome.
 */
#ifndef PR_NOTIFIER_CALL_H
#define PR_NOTIFIER_CALL_H

#include "core/address.h"
#include "core/judge.h"
#include "http/http.h"
#include "postrider/v1/bus.pb-c.h"
#include "secrets.h"
#include "sign/sign.h"
#include "worker/worker_bus.h"

/* What all calls share. */
typedef struct {
    pr_http_t *http;
    pr_secrets_t *secrets;
    pr_allow_list_t allow;
    bool allow_plain;
    const char *lane_egress[3];
    size_t keep_bytes;
    pr_signed_t signature; /* scratch */
    pr_buffer_t lines;     /* scratch: header lines */
} pr_call_shared_t;

typedef struct pr_call_t pr_call_t;
typedef void pr_call_done_fn(void *arg, pr_call_t *call, int64_t now_ms);

/* From the job's arrival until its outcome is acknowledged. */
struct pr_call_t {
    pr_call_shared_t *shared;
    pr_job_batch_t *batch; /* NULL once the outcome is made */
    const Postrider__V1__Job *job;
    uint32_t slot;
    pr_rule_t rule;
    pr_buffer_t form; /* a form scheme's body */
    pr_call_done_fn *done;
    void *arg;
    /* the outcome */
    Postrider__V1__Token token;
    uint32_t shard;
    int64_t endpoint_id;
    Postrider__V1__JobKind kind;
    pr_outcome_t result;
    const char *error; /* static */
    uint32_t http_code;
    uint32_t duration_ms;
    int64_t started_us;
    uint64_t retry_after_ms;
    uint8_t *excerpt;
    size_t excerpt_len;
};

/* Takes one use of the batch. */
pr_call_t *pr_call_new(pr_call_shared_t *shared, pr_job_batch_t *batch,
                       const Postrider__V1__Job *job);
void pr_call_destroy(pr_call_t **self);

/* Makes the call. True: done will be called, never from here. False: the outcome is made already
 * (the job cannot be tried; why stands in it). */
bool pr_call_start(pr_call_t *self, pr_call_done_fn *done, void *arg, int64_t now_ms);
/* The outcome of a job that is handed back untried. */
void pr_call_return(pr_call_t *self);
/* The outcome of a job that this worker has delivered before: what the receiver said is forgotten. */
void pr_call_repeat(pr_call_t *self);
/* Fills *out, which borrows from the call; out->token must point to a token of its own. */
void pr_call_outcome(pr_call_t *self, char *worker_id, Postrider__V1__Outcome *out);

#endif
