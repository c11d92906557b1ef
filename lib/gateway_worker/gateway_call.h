/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of a gateway: a Job with a Call becomes a request by its channel's profile, the answer
 * becomes evidence, the evidence an Outcome.
 *
 * What moves money goes on a connection of its own and leaves once: nothing here repeats it. A
 * gateway that wants an access token is asked for one first; it is kept with the channel until it
 * expires, and calls that come meanwhile wait for the same answer.
 *
 * An outcome's result tells how the call went, its evidence what it means: DELIVERED: the gateway
 * said how things stand. REFUSED: it answered, and nothing is known by it. THROTTLED: later.
 * UNREACHABLE: no answer, or none that is whole. OWN_FAULT: nothing was sent.
 */
#ifndef PR_GATEWAY_WORKER_GATEWAY_CALL_H
#define PR_GATEWAY_WORKER_GATEWAY_CALL_H

#include "channel/channel_store.h"
#include "core/address.h"
#include "gateway/evidence_json.h"
#include "gateway/exchange_json.h"
#include "http/http.h"
#include "worker/worker_bus.h"

#define PR_OPERATION_BIT(operation) (UINT32_C(1) << (operation))

typedef struct pr_gateway_call_t pr_gateway_call_t;
typedef void pr_gateway_call_done_fn(void *arg, pr_gateway_call_t *call, int64_t now_ms);

/* What all calls of a process share. */
typedef struct {
    uint32_t operations; /* PR_OPERATION_BIT: those that this process makes */
    pr_http_t *http;
    pr_channel_store_t *channels;
    pr_allow_list_t allow;
    bool allow_plain;
    size_t keep_bytes;          /* of an answer */
    size_t keep_exchange;       /* of each body of an exchange; 0: none is kept */
    int64_t total_ms;           /* of a call, at most */
    pr_buffer_t lines;          /* scratch: header lines */
    pr_gateway_call_t *waiting; /* for a token that another call fetches */
    pr_gateway_call_done_fn *done;
    void *arg;
} pr_gateway_shared_t;

/* From the job's arrival until its outcome is acknowledged. */
struct pr_gateway_call_t {
    pr_gateway_shared_t *shared;
    pr_job_batch_t *batch; /* NULL once the outcome is made */
    const Postrider__V1__Job *job;
    uint32_t slot;
    pr_gateway_call_t *next_waiting;
    /* the call */
    pr_opened_channel_t *channel;
    pr_payment_facts_t facts; /* borrows from the job */
    pr_gateway_request_t request;
    bool old_token; /* of an earlier call: the gateway may have withdrawn it since */
    bool sent;      /* the call itself (not its token's) was begun */
    char request_sha256[65];
    /* the outcome */
    Postrider__V1__Token token;
    Postrider__V1__CallSubject subject;
    bool has_subject;
    uint32_t shard;
    int64_t endpoint_id;
    pr_operation_t operation;
    pr_outcome_t result;
    char error[64];
    uint32_t http_code;
    uint32_t duration_ms;
    int64_t started_us;
    int64_t sent_us; /* the call itself */
    uint64_t retry_after_ms;
    pr_buffer_t evidence;
    pr_buffer_t exchange;
    uint8_t *excerpt;
    size_t excerpt_len;
};

/* Takes one use of the batch. */
pr_gateway_call_t *pr_gateway_call_new(pr_gateway_shared_t *shared, pr_job_batch_t *batch,
                                       const Postrider__V1__Job *job);
void pr_gateway_call_destroy(pr_gateway_call_t **self);

/* True: shared->done will be called, never from here. False: the outcome is made already. */
bool pr_gateway_call_start(pr_gateway_call_t *self, int64_t now_ms);
/* The outcome of a job that is handed back untried. */
void pr_gateway_call_return(pr_gateway_call_t *self);
/* The outcome of a job whose token this worker has used before: it is not sent again. */
void pr_gateway_call_repeat(pr_gateway_call_t *self);
/* Fills *out, which borrows from the call. */
void pr_gateway_call_outcome(pr_gateway_call_t *self, char *worker_id, Postrider__V1__Outcome *out);

#endif
