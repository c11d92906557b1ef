/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker on the bus: its sockets to brokers and schedulers, the messages of docs/bus.md, and the
 * turns in which the step (worker.h) decides and is obeyed. What is done with a job is the
 * owner's: it gives the functions of pr_worker_spec_t.
 *
 * A payload is what the owner makes of a job: made when the job is taken, freed when its outcome
 * was acknowledged (or at pr_worker_bus_destroy). In between exactly one of start, give_back and
 * repeat is called, and outcome as often as it is said.
 */
#ifndef PR_WORKER_WORKER_BUS_H
#define PR_WORKER_WORKER_BUS_H

#include "actor/actor.h"
#include "postrider/v1/bus.pb-c.h"
#include "worker/worker.h"

#define PR_WORKER_OUTCOMES_MAX 64 /* a message */

/* A JobBatch as it came; lives while one of its jobs needs it. */
typedef struct {
    Postrider__V1__Envelope *envelope;
    int users;
} pr_job_batch_t;

void pr_job_batch_release(pr_job_batch_t **self);

typedef struct {
    Postrider__V1__JobKind kind; /* that this worker does */
    const char *desk;            /* of the broker: "work" or "calls" (docs/bus.md) */
    char scheduler;              /* first letter of its schedulers' own ipc sockets */
    size_t outcomes;             /* a message at most, so that it stays within a frame */
    void *arg;
    /* The payload; takes one use of the batch (users + 1) while it needs the job. */
    void *(*take)(void *arg, pr_job_batch_t *batch, const Postrider__V1__Job *job);
    /* True: pr_worker_bus_finished will be called with this slot, never from here. False: the
     * outcome is made already, the job was not tried. */
    bool (*start)(void *arg, void *payload, uint32_t slot, int64_t now_ms);
    void (*give_back)(void *payload); /* makes a RETURNED outcome */
    void (*repeat)(void *payload);    /* makes the outcome of a job that was made before */
    /* Fills *out, which borrows from the payload. */
    void (*outcome)(void *payload, char *worker_id, Postrider__V1__Outcome *out);
    void (*free)(void *payload);
} pr_worker_spec_t;

typedef struct pr_worker_bus_t pr_worker_bus_t;

/* Connects to every broker of bus.brokers and starts to greet. spec is copied; slots, shares and
 * slow_max of config are taken, brokers is filled in. PR_BAD: the configuration. */
PR_CHECK pr_rc_t pr_worker_bus_new(pr_actor_t *actor, const pr_worker_spec_t *spec,
                                   const pr_worker_config_t *config, pr_worker_bus_t **out,
                                   pr_error_t *error);
void pr_worker_bus_destroy(pr_worker_bus_t **self);

/* The call of this slot ended. made: its token must never be started again, in this process. */
void pr_worker_bus_finished(pr_worker_bus_t *self, uint32_t slot, bool made, int64_t now_ms);
/* At the end of each turn of the loop, after the owner's own work. Calls start. */
void pr_worker_bus_turn(pr_worker_bus_t *self, int64_t now_ms);

void pr_worker_bus_drain(pr_worker_bus_t *self, int64_t now_ms);
bool pr_worker_bus_drained(const pr_worker_bus_t *self);

#endif
