/* SPDX-License-Identifier: Apache-2.0
 *
 * What compensator_io.c (life), compensator_db.c (statements) and compensator_run.c (one run of one
 * task) share. Nobody else includes this.
 */
#ifndef PR_COMPENSATOR_PRIVATE_H
#define PR_COMPENSATOR_PRIVATE_H

#include "actor/actor.h"
#include "actors/compensator/compensator.h"
#include "compensate/task_verdict.h"
#include "http/http.h"

#define COMP_SLOTS_MAX 256

typedef struct comp_t comp_t;

/* One claimed task, from its row until the database knows what came of it. */
typedef struct {
    comp_t *comp;
    bool used;
    uint8_t token[16];
    char *task_no, *biz_type, *order_no, *reference, *currency, *key, *facts; /* owned */
    const pr_task_kind_t *kind;
    const pr_task_handler_t *handler; /* NULL: the database acts */
    int tries, events;
    bool unknown; /* of earlier tries */
    pr_payment_facts_t payment;
    pr_operation_t operation;
    pr_gateway_request_t request;
    char *result; /* JSON for finish; kept while the database is away */
} comp_run_t;

struct comp_t {
    pr_actor_t *actor;
    pr_compensator_t step;
    pr_db_t *db;
    pr_params_t *params;
    pr_http_t *http;
    int timer, http_timer;
    pr_profile_dir_t *profiles;
    pr_task_kinds_t *kinds;
    char *kinds_json;
    const char *own[PR_TASK_KINDS_MAX]; /* kinds with an HTTP handler */
    int own_count;
    int64_t lock_timeout_ms;
    int64_t total_ms;
    pr_buffer_t lines; /* scratch: header lines */
    uint8_t session[16];
    int asked; /* of the claim under way */
    comp_run_t runs[COMP_SLOTS_MAX];
    bool stopping;
};

/* compensator_io.c */
void comp_give(comp_t *self, const pr_comp_event_t *event);
void comp_watch_http(comp_t *self);

/* compensator_db.c */
void comp_db_open(comp_t *self, const pr_config_t *config);
void comp_db_session(comp_t *self);
void comp_db_claim(comp_t *self, int most);
void comp_db_sweep(comp_t *self);
/* Both end the run when the database has answered, or will never. */
void comp_db_act(comp_run_t *run, int64_t retry_ms);
void comp_db_finish(comp_run_t *run);

/* compensator_run.c */
/* Takes a row of claim.sql and begins. */
void comp_run_begin(comp_t *self, const pr_rows_t *rows, int row);
void comp_run_end(comp_run_t *run); /* frees its slot; tells the step */
void comp_run_free(comp_run_t *run);

#endif
