/* SPDX-License-Identifier: Apache-2.0
 *
 * One run of one task: by the database itself, or by its HTTP handler. What acts leaves on a
 * connection of its own, once (lib/http, fresh); the key makes repeats of later tries harmless.
 */
#include "actors/compensator/compensator_private.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "gateway/evidence_json.h"
#include "gateway_http/exchange.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NONCE_BYTES 16
#define KEY_HEADER "Idempotency-Key"

/* ---- life ---- */

void comp_run_free(comp_run_t *run)
{
    comp_t *comp = run->comp;
    pr_gateway_request_free(&run->request);
    pr_free(run->task_no);
    pr_free(run->biz_type);
    pr_free(run->order_no);
    pr_free(run->reference);
    pr_free(run->currency);
    pr_free(run->key);
    pr_free(run->facts);
    pr_free(run->result);
    *run = (comp_run_t){.comp = comp};
}

void comp_run_end(comp_run_t *run)
{
    comp_t *self = run->comp;
    if (self->stopping)
        return; /* stop() frees it */
    comp_run_free(run);
    comp_give(self, &(pr_comp_event_t){.kind = PR_COMP_RUN_ENDED});
}

static int64_t delay_ms(const comp_run_t *run, int64_t retry_after_ms)
{
    return pr_task_delay_ms(run->kind, run->tries, retry_after_ms, pr_random_u64());
}

/* ---- what it came to ---- */

static void add_evidence(json_t *result, const pr_evidence_t *evidence,
                         const pr_http_response_t *response)
{
    pr_buffer_t text;
    pr_buffer_init(&text, PR_EVIDENCE_JSON_MAX_BYTES);
    pr_evidence_call_t call = {.transport = pr_http_transport(response),
                               .http_status = (uint32_t)response->code,
                               .error = pr_http_error_name(response->error),
                               .duration_ms = response->duration_ms};
    pr_assert(pr_evidence_to_json(evidence, &call, &text) == PR_OK);
    json_object_set_new(result, "evidence",
                        json_loadb((const char *)text.data, text.len, JSON_ALLOW_NUL, NULL));
    pr_buffer_free(&text);
}

/* Texts of the handler may be no UTF-8, or hold what a text in the database cannot. */
static json_t *text_of(const char *text)
{
    json_t *value = json_string(text);
    return value != NULL ? value : json_string("(not UTF-8)");
}

static void conclude(comp_run_t *run, const pr_run_verdict_t *verdict,
                     const pr_evidence_t *evidence, const pr_http_response_t *response)
{
    json_t *result = json_object();
    json_object_set_new(result, "outcome", json_string(pr_run_outcome_name(verdict->outcome)));
    json_object_set_new(result, "code", text_of(verdict->code));
    json_object_set_new(result, "message", text_of(verdict->message));
    json_object_set_new(result, "unknown", json_boolean(verdict->unknown));
    json_object_set_new(result, "retry_ms", json_integer(delay_ms(run, verdict->retry_after_ms)));
    json_object_set_new(result, "events", json_integer(run->events));
    if (evidence != NULL) {
        json_object_set_new(result, "reference", text_of(evidence->reference));
        add_evidence(result, evidence, response);
    }
    size_t len = json_dumpb(result, NULL, 0, JSON_COMPACT);
    run->result = pr_calloc(len + 1, 1);
    json_dumpb(result, run->result, len, JSON_COMPACT);
    json_decref(result);
    comp_db_finish(run);
}

static void conclude_plain(comp_run_t *run, pr_run_outcome_t outcome, const char *code,
                           const char *message)
{
    pr_run_verdict_t verdict = {.outcome = outcome, .unknown = run->unknown, .retry_after_ms = -1};
    snprintf(verdict.code, sizeof(verdict.code), "%s", code);
    snprintf(verdict.message, sizeof(verdict.message), "%s", message);
    conclude(run, &verdict, NULL, NULL);
}

/* ---- the handler ---- */

static void send_request(comp_run_t *run, pr_operation_t operation, int64_t now_ms);

static void on_answer(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    comp_run_t *run = arg;
    pr_evidence_t evidence;
    pr_run_verdict_t verdict;
    pr_exchange_judge(run->handler->channel, run->operation, &run->payment, response,
                      pr_clock_wall_us(), &evidence);
    pr_task_judge(run->kind, run->operation, run->unknown, &evidence, &verdict);
    if (verdict.outcome == PR_RUN_ACT) {
        run->unknown = false;
        send_request(run, PR_OPERATION_ACT, now_ms);
    } else {
        conclude(run, &verdict, &evidence, response);
    }
    explicit_bzero(evidence.token, sizeof(evidence.token));
}

static pr_rc_t build(comp_run_t *run, pr_error_t *error)
{
    uint8_t random[NONCE_BYTES];
    char nonce[2 * NONCE_BYTES + 1];
    pr_random_bytes(random, sizeof(random));
    pr_hex(pr_bytes(random, sizeof(random)), nonce);
    return pr_gateway_build(run->handler->channel, run->operation, &run->payment,
                            pr_clock_wall_us(), nonce, &run->request, error);
}

static bool names_key(const pr_gateway_request_t *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, KEY_HEADER) == 0)
            return true;
    }
    return false;
}

static pr_rc_t post(comp_run_t *run, int64_t now_ms, pr_error_t *error)
{
    comp_t *self = run->comp;
    const char *lines[PR_GATEWAY_HEADERS_MAX + 1];
    int count = (int)run->request.header_count;
    PR_CLEANUP_FREE char *key = pr_asprintf(KEY_HEADER ": %s", run->key);
    PR_CLEANUP_FREE char *url = pr_exchange_url(run->handler->base_url, &run->request);
    pr_rc_t rc = pr_exchange_lines(&run->request, &self->lines, lines, error);
    if (rc != PR_OK)
        return rc;
    if (!names_key(&run->request))
        lines[count++] = key;
    pr_http_request_t request = {.url = url,
                                 .method = run->request.method,
                                 .headers = lines,
                                 .header_count = count,
                                 .body = pr_buffer_bytes(&run->request.body),
                                 .ca_pem = run->handler->ca_pem,
                                 .fresh = true,
                                 .keep_headers = true,
                                 .done = on_answer,
                                 .arg = run};
    rc = pr_http_start(self->http, &request, now_ms, error);
    if (self->lines.data != NULL)
        explicit_bzero(self->lines.data, self->lines.len); /* signatures stood there */
    comp_watch_http(self);
    return rc;
}

/* What cannot be sent was not sent: again later, when somebody has corrected what is wrong. */
static void send_request(comp_run_t *run, pr_operation_t operation, int64_t now_ms)
{
    pr_error_t error = {0};
    run->operation = operation;
    pr_rc_t rc = build(run, &error);
    if (rc == PR_OK)
        rc = post(run, now_ms, &error);
    if (rc == PR_OK)
        return;
    pr_log_limited(PR_LOG_ERROR, "task.cannot_send", run->biz_type, "task=%s kind=%s why=%s",
                   run->task_no, run->biz_type, error.text);
    conclude_plain(run, PR_RUN_RETRY, "CANNOT_SEND", error.text);
}

/* ---- begin: the columns of claim.sql ---- */

enum {
    CLAIM_TASK_NO,
    CLAIM_TOKEN,
    CLAIM_BIZ_TYPE,
    CLAIM_HANDLER,
    CLAIM_CODE,
    CLAIM_KEY,
    CLAIM_TRIES,
    CLAIM_UNKNOWN,
    CLAIM_ORDER_NO,
    CLAIM_REFERENCE,
    CLAIM_AMOUNT,
    CLAIM_CURRENCY,
    CLAIM_EVENTS,
    CLAIM_FACTS,
};

static char *text_or_null(const pr_rows_t *rows, int row, int column)
{
    return pr_rows_null(rows, row, column) ? NULL : pr_strdup(pr_rows_text(rows, row, column));
}

static comp_run_t *free_run(comp_t *self)
{
    for (int i = 0; i < COMP_SLOTS_MAX; i++) {
        if (!self->runs[i].used)
            return &self->runs[i];
    }
    pr_assert(false); /* the step claims no more than there is room for */
    return NULL;
}

static void take_row(comp_run_t *run, const pr_rows_t *rows, int row)
{
    run->used = true;
    pr_assert(pr_rows_uuid(rows, row, CLAIM_TOKEN, run->token));
    run->task_no = pr_strdup(pr_rows_text(rows, row, CLAIM_TASK_NO));
    run->biz_type = pr_strdup(pr_rows_text(rows, row, CLAIM_BIZ_TYPE));
    run->kind = pr_task_kinds_find(run->comp->kinds, run->biz_type);
    run->key = pr_strdup(pr_rows_text(rows, row, CLAIM_KEY));
    run->tries = pr_rows_i32(rows, row, CLAIM_TRIES);
    run->unknown = pr_rows_bool(rows, row, CLAIM_UNKNOWN);
    run->events = pr_rows_i32(rows, row, CLAIM_EVENTS);
    run->order_no = text_or_null(rows, row, CLAIM_ORDER_NO);
    run->reference = text_or_null(rows, row, CLAIM_REFERENCE);
    run->currency = text_or_null(rows, row, CLAIM_CURRENCY);
    run->facts = pr_strdup(pr_rows_text(rows, row, CLAIM_FACTS));
    pr_gateway_request_init(&run->request);
    pr_payment_facts_init(&run->payment);
    run->payment.request_no = run->key;
    run->payment.order_no = run->order_no;
    run->payment.reference = run->reference;
    run->payment.currency = run->currency;
    run->payment.request = pr_bytes_text(run->facts);
    if (!pr_rows_null(rows, row, CLAIM_AMOUNT))
        run->payment.amount_minor = pr_rows_i64(rows, row, CLAIM_AMOUNT);
}

void comp_run_begin(comp_t *self, const pr_rows_t *rows, int row)
{
    comp_run_t *run = free_run(self);
    const char *handler = pr_rows_text(rows, row, CLAIM_HANDLER);
    take_row(run, rows, row);
    if (strcmp(handler, "wait") == 0) {
        conclude_plain(run, PR_RUN_WAIT, pr_rows_text(rows, row, CLAIM_CODE), "not yet");
        return;
    }
    run->handler = pr_task_chosen(run->kind, run->tries);
    if (run->handler == NULL) {
        comp_db_act(run, delay_ms(run, -1));
        return;
    }
    send_request(run, pr_task_operation(run->handler, run->unknown),
                 pr_loop_now_ms(pr_actor_loop(self->actor)));
}
