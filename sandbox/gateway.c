/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "sandbox/gateway_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOOKS_MAX (1U << 20)
#define HOOK_TOTAL_MS 15000

const pr_gate_protocol_t *const pr_gate_protocols[] = {
    &pr_gate_sandbox, &pr_gate_wechat, &pr_gate_alipay,  &pr_gate_stripe,
    &pr_gate_adyen,   &pr_gate_paypal, &pr_gate_generic,
};
const size_t pr_gate_protocol_count = PR_COUNT(pr_gate_protocols);

const pr_gate_protocol_t *pr_gate_protocol_find(const char *name)
{
    for (size_t i = 0; i < pr_gate_protocol_count; i++) {
        if (strcmp(pr_gate_protocols[i]->name, name) == 0) {
            return pr_gate_protocols[i];
        }
    }
    return NULL;
}

const char *pr_gate_result_name(pr_gate_result_t result)
{
    static const char *const names[PR_GATE_RESULTS] = {
        "ok",          "no_such_path", "bad_request",  "bad_credential", "not_found",
        "number_used", "already_paid", "was_closed",   "declined",       "too_much",
        "wrong_state", "throttled",    "server_error", "maintenance",
    };
    return names[result];
}

pr_gate_t *pr_gate_new(const pr_gate_options_t *options, pr_error_t *error)
{
    pr_journal_t *journal = pr_journal_open(options->journal, error);
    if (!journal) {
        return NULL;
    }
    pr_gate_t *self = PR_NEW(pr_gate_t);
    const pr_http_limits_t limits = {.max_in_flight = PR_GATE_HOOKS_IN_FLIGHT,
                                     .pool_per_host = PR_GATE_HOOKS_IN_FLIGHT,
                                     .pool_total = PR_GATE_HOOKS_IN_FLIGHT,
                                     .first_byte_ms = HOOK_TOTAL_MS,
                                     .total_ms = HOOK_TOTAL_MS,
                                     .user_agent = "postrider-sandbox-gateway"};
    self->options = *options;
    self->now = (pr_now_t){pr_clock_mono_ms(), pr_clock_wall_us()};
    self->ledger = pr_gate_ledger_new(options->seed, options->max_orders);
    self->journal = journal;
    self->timers = pr_timerq_new(PR_TIMERQ_MAX);
    self->http = pr_http_new(&limits);
    self->hooks = pr_map_new(HOOKS_MAX, options->seed);
    if (options->journal && pr_gate_replay(self, options->journal, error) != PR_OK) {
        pr_gate_destroy(&self);
    }
    return self;
}

void pr_gate_destroy(pr_gate_t **self)
{
    pr_gate_t *gate = *self;
    if (gate) {
        pr_http_destroy(&gate->http);
        pr_gate_hooks_clear(gate);
        pr_map_destroy(&gate->hooks);
        pr_free(gate->ready.numbers);
        pr_timerq_destroy(&gate->timers);
        pr_journal_destroy(&gate->journal);
        pr_gate_ledger_destroy(&gate->ledger);
        pr_free(gate);
        *self = NULL;
    }
}

void pr_gate_random_text(pr_gate_t *self, char *out, size_t digits)
{
    char seed[32];
    snprintf(seed, sizeof(seed), "text:%" PRIu64, self->random_count++);
    for (size_t i = 0; i < digits; i += 16) {
        char block[17];
        seed[0] = (char)('a' + i / 16);
        snprintf(block, sizeof(block), "%016" PRIx64, pr_gate_mix(self->ledger, seed));
        size_t len = digits - i < 16 ? digits - i : 16;
        memcpy(out + i, block, len);
    }
    out[digits] = '\0';
}

/* ---- time ---- */

void pr_gate_set_timer(pr_gate_t *self, pr_gate_timer_t kind, uint64_t number, int64_t delay_ms)
{
    uint64_t id = (uint64_t)kind << 56 | number;
    pr_rc_t rc = pr_timerq_add(self->timers, self->now.mono_ms + delay_ms, id);
    pr_assert(rc == PR_OK); /* a few for each order, and orders are bounded */
}

static void on_timer(pr_gate_t *self, uint64_t id)
{
    uint64_t number = id & ((UINT64_C(1) << 56) - 1);
    pr_gate_order_t *order = NULL;
    pr_gate_refund_t *refund = NULL;
    switch ((pr_gate_timer_t)(id >> 56)) {
    case PR_GATE_TIMER_ORDER:
        order = pr_gate_order_at(self->ledger, number);
        break;
    case PR_GATE_TIMER_REFUND:
        refund = pr_gate_refund_at(self->ledger, number);
        break;
    case PR_GATE_TIMER_HOOK:
        pr_gate_hook_due(self, number);
        break;
    }
    if (order) {
        pr_gate_order_due(self, order);
    }
    if (refund) {
        pr_gate_refund_due(self, refund);
    }
}

void pr_gate_turn(pr_gate_t *self, pr_now_t now)
{
    pr_timer_t timer;
    self->now = now;
    while (pr_timerq_pop(self->timers, now.mono_ms, &timer)) {
        on_timer(self, timer.id);
    }
    pr_gate_hooks_pump(self);
    pr_http_run(self->http, now.mono_ms);
    pr_gate_hooks_pump(self); /* what has ended made room */
}

int64_t pr_gate_due_ms(const pr_gate_t *self)
{
    int64_t timer = pr_timerq_next_ms(self->timers), http = pr_http_due_at_ms(self->http);
    return timer < http ? timer : http;
}

int pr_gate_fd(const pr_gate_t *self)
{
    return pr_http_fd(self->http);
}

pr_rc_t pr_gate_flush(pr_gate_t *self, pr_error_t *error)
{
    return pr_journal_flush(self->journal, error);
}

/* ---- requests ---- */

static pr_bytes_t path_of(pr_bytes_t target, pr_bytes_t *query)
{
    const uint8_t *mark = target.len ? memchr(target.data, '?', target.len) : NULL;
    size_t len = mark ? (size_t)(mark - target.data) : target.len;
    *query = mark ? pr_bytes(mark + 1, target.len - len - 1) : pr_bytes(NULL, 0);
    return pr_bytes(target.data, len);
}

static const pr_gate_protocol_t *protocol_of(pr_bytes_t path)
{
    for (size_t i = 0; i < pr_gate_protocol_count; i++) {
        if (pr_gate_protocols[i]->owns(path)) {
            return pr_gate_protocols[i];
        }
    }
    return NULL;
}

bool pr_gate_owns(pr_bytes_t target)
{
    pr_bytes_t query;
    return protocol_of(path_of(target, &query)) != NULL;
}

static void begin(pr_gate_t *self, const pr_request_t *request, const uint8_t *data,
                  pr_gate_call_t *call)
{
    *call = (pr_gate_call_t){.gate = self,
                             .ledger = self->ledger,
                             .now = self->now,
                             .request = request,
                             .data = data,
                             .method = pr_request_view(data, request->method),
                             .target = pr_request_view(data, request->target),
                             .body = pr_bytes(data + request->head_len, request->content_len),
                             .amount = -1,
                             .retry_after_ms = -1};
    call->path = path_of(call->target, &call->query);
    call->protocol = protocol_of(call->path);
    pr_buffer_init(&call->headers, 4096);
    pr_buffer_init(&call->answer, PR_GATE_ANSWER_MAX);
}

static void end(pr_gate_call_t *call)
{
    json_decref(call->document);
    pr_buffer_free(&call->headers);
    pr_buffer_free(&call->answer);
}

static void count(pr_gate_t *self, pr_gate_call_t *call)
{
    pr_gate_account_t *account = call->account;
    if (!account) {
        self->strangers++;
        return;
    }
    bool query = call->operation == PR_GATE_QUERY || call->operation == PR_GATE_QUERY_REFUND;
    int64_t second = call->now.wall_us / 1000000;
    size_t slot = (size_t)(second % PR_GATE_SECONDS);
    if (account->seconds[slot].second != second) {
        account->seconds[slot].second = second;
        account->seconds[slot].requests = account->seconds[slot].queries = 0;
    }
    account->seconds[slot].requests++;
    account->seconds[slot].queries += query;
    account->counts.requests++;
    account->counts.refused += call->result == PR_GATE_BAD_CREDENTIAL;
    account->counts.calls[call->operation]++;
}

static pr_rc_t render(const pr_gate_call_t *call, bool close, pr_buffer_t *out)
{
    bool bodiless = call->status == 204;
    pr_rc_t rc =
        pr_buffer_printf(out, "HTTP/1.1 %d %s\r\n", call->status, pr_answer_reason(call->status));
    if (rc == PR_OK && call->retry_after_ms >= 0) {
        rc = pr_buffer_printf(out, "Retry-After: %" PRId64 "\r\n",
                              (call->retry_after_ms + 999) / 1000);
    }
    if (rc == PR_OK && !bodiless) {
        rc = pr_buffer_printf(out, "Content-Type: %s\r\nContent-Length: %zu\r\n",
                              call->content_type, call->answer.len);
    }
    if (rc == PR_OK && close) {
        rc = pr_buffer_append_text(out, "Connection: close\r\n");
    }
    if (rc == PR_OK) {
        rc = pr_buffer_append(out, call->headers.data, call->headers.len);
    }
    if (rc == PR_OK) {
        rc = pr_buffer_append_text(out, "\r\n");
    }
    return rc == PR_OK && !bodiless ? pr_buffer_append(out, call->answer.data, call->answer.len)
                                    : rc;
}

static const char *const fault_names[] = {
    "",          "hang",  "reset",       "drop",       "garbage", "slow",
    "throttled", "error", "maintenance", "credential", "status",
};

/* What the fault makes of the answer. */
static pr_gate_outcome_t strike(pr_gate_call_t *call, const pr_gate_fault_t *fault)
{
    static const char page[] = "<html><head><title>Gateway trouble</title></head></html>\n";
    pr_gate_outcome_t outcome = {PR_ANSWER_SEND, 0};
    switch (fault->kind) {
    case PR_GATE_FAULT_HANG:
        outcome.how = PR_ANSWER_HOLD;
        break;
    case PR_GATE_FAULT_RESET:
        outcome.how = PR_ANSWER_RESET;
        break;
    case PR_GATE_FAULT_DROP:
        outcome.how = PR_ANSWER_CLOSE;
        break;
    case PR_GATE_FAULT_GARBAGE:
        outcome.how = PR_ANSWER_RAW;
        break;
    case PR_GATE_FAULT_SLOW:
        outcome.delay_ms = fault->ms;
        break;
    case PR_GATE_FAULT_STATUS: {
        call->status = fault->status;
        call->content_type = "text/html";
        call->retry_after_ms = fault->ms;
        pr_buffer_clear(&call->headers);
        pr_buffer_clear(&call->answer);
        pr_rc_t rc = pr_buffer_append_text(&call->answer, page);
        pr_assert(rc == PR_OK);
        break;
    }
    default:
        break; /* the gateway's own words are written already */
    }
    return outcome;
}

static pr_gate_outcome_t serve(pr_gate_t *self, pr_gate_call_t *call, bool close, pr_buffer_t *out)
{
    pr_gate_outcome_t outcome = {PR_ANSWER_SEND, 0};
    const pr_gate_fault_t *fault = NULL;
    call->result = call->protocol->read(call);
    if (call->account && !pr_bucket_take(&call->account->limit, self->now.mono_ms)) {
        call->account->counts.throttled++;
        call->result = PR_GATE_THROTTLED;
    }
    if (call->result == PR_GATE_OK) {
        fault = pr_gate_perform(self, call);
    } else {
        call->protocol->write(call);
    }
    count(self, call);
    if (fault) {
        outcome = strike(call, fault);
    }
    pr_gate_record_call(self, call, fault_names[fault ? fault->kind : PR_GATE_FAULT_NONE]);
    pr_rc_t rc = PR_OK;
    if (outcome.how == PR_ANSWER_RAW) {
        rc = pr_buffer_append(out, "\x16\x03\x01 not HTTP\r\n", 15);
    } else if (outcome.how == PR_ANSWER_SEND) {
        rc = render(call, close, out);
    }
    pr_assert(rc == PR_OK); /* answers are far below the server's bound */
    return outcome;
}

pr_gate_outcome_t pr_gate_receive(pr_gate_t *self, const pr_request_t *request, const uint8_t *data,
                                  pr_now_t now, pr_buffer_t *out)
{
    pr_gate_call_t *call = PR_NEW(pr_gate_call_t);
    self->now = now;
    begin(self, request, data, call);
    pr_gate_outcome_t outcome = serve(self, call, request->close, out);
    end(call);
    pr_free(call);
    return outcome;
}
