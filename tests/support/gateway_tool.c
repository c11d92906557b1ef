/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/gateway at a prompt, for tests/integration/gateways. Each line of stdin is a JSON object, each
 * answer a line of JSON:
 *   {"profile": FILE, "parameters": [[NAME, VALUE], ...], "now": SECONDS, "do": ...}
 *   "build": {"operation", "nonce", "facts": {...}}    -> {"method", "target", "headers", "body"}
 *   "judge": {"operation", "http", "headers", "body"}  -> evidence
 *   "read":  {"headers", "body"}                       -> {"verdict", "reason", "items": [evidence]}
 *   "sign":  {"headers", "body"}                       -> {"signature"}
 *   "request":   {"statement", "date", "target"}       -> {"request"}, for facts.request
 *   "link":      {"statement", "base_url", "url"}      -> {"origin", "target"}
 *   "statement": {"statement", "body"}                 -> {"records", "bad", "proof", "sha1"}
 * Bodies are hex. What is refused gives {"error"}.
 */
#include "base/alloc.h"
#include "gateway/gateway.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES (1U << 22)
#define HEADERS_MAX 32

typedef struct {
    json_t *ask;
    pr_profile_t *profile;
    pr_channel_t *channel;
    int64_t now_us;
    pr_gateway_header_t headers[HEADERS_MAX];
    size_t header_count;
    uint8_t *body;
    size_t body_len;
} call_t;

static json_t *refusal(const char *text)
{
    return json_pack("{s:s}", "error", text);
}

static const char *text_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static json_t *load(call_t *self)
{
    static char text[262144];
    pr_error_t error = {0};
    pr_parameter_t parameters[32];
    size_t count = 0, i;
    json_t *pair;
    FILE *file = fopen(text_of(self->ask, "profile"), "r");
    if (!file)
        return refusal("no such profile");
    size_t len = fread(text, 1, sizeof text, file);
    fclose(file);
    if (pr_profile_parse("profile", pr_bytes(text, len), &self->profile, &error) != PR_OK)
        return refusal(error.text);
    json_array_foreach(json_object_get(self->ask, "parameters"), i, pair)
    {
        const char *value = json_string_value(json_array_get(pair, 1));
        parameters[count++] =
            (pr_parameter_t){json_string_value(json_array_get(pair, 0)), pr_bytes_text(value)};
    }
    if (pr_channel_new(self->profile, parameters, count, NULL, &self->channel, &error) != PR_OK)
        return refusal(error.text);
    return NULL;
}

static void take_message(call_t *self)
{
    const char *name, *hex = text_of(self->ask, "body");
    json_t *value;
    json_object_foreach(json_object_get(self->ask, "headers"), name, value)
    {
        if (self->header_count < HEADERS_MAX)
            self->headers[self->header_count++] =
                (pr_gateway_header_t){name, json_string_value(value)};
    }
    self->body_len = hex ? strlen(hex) / 2 : 0;
    self->body = pr_calloc(self->body_len, 1);
    if (hex && !pr_unhex(hex, strlen(hex), self->body))
        self->body_len = 0;
}

static pr_operation_t operation_of(const call_t *self)
{
    const char *name = text_of(self->ask, "operation");
    for (pr_operation_t i = PR_OPERATION_TOKEN; name && i < PR_OPERATIONS; i++)
        if (strcmp(name, pr_operation_name(i)) == 0)
            return i;
    return PR_OPERATION_NONE;
}

static json_t *build(call_t *self)
{
    json_t *given = json_object_get(self->ask, "facts");
    pr_payment_facts_t facts;
    pr_gateway_request_t request;
    pr_error_t error = {0};
    pr_payment_facts_init(&facts);
    pr_gateway_request_init(&request);
    facts.request_no = text_of(given, "request_no");
    facts.order_no = text_of(given, "order_no");
    facts.currency = text_of(given, "currency");
    facts.notify_url = text_of(given, "notify_url");
    facts.description = text_of(given, "description");
    facts.reference = text_of(given, "reference");
    facts.refund_no = text_of(given, "refund_no");
    facts.refund_reference = text_of(given, "refund_reference");
    facts.return_url = text_of(given, "return_url");
    facts.token = text_of(given, "token");
    facts.request = pr_bytes_text(text_of(given, "request"));
    facts.amount_minor = json_integer_value(json_object_get(given, "amount"));
    if (json_object_get(given, "refund_amount"))
        facts.refund_minor = json_integer_value(json_object_get(given, "refund_amount"));
    facts.expires_at_us = self->now_us + INT64_C(3600000000);
    json_t *out;
    if (pr_gateway_build(self->channel, operation_of(self), &facts, self->now_us,
                         text_of(self->ask, "nonce"), &request, &error) != PR_OK) {
        out = refusal(error.text);
    } else {
        char *hex = pr_calloc(2 * request.body.len + 1, 1);
        pr_hex(pr_buffer_bytes(&request.body), hex);
        json_t *headers = json_object();
        for (size_t i = 0; i < request.header_count; i++)
            json_object_set_new(headers, request.headers[i].name,
                                json_string(pr_buffer_text(&request.headers[i].value)));
        out = json_pack("{s:s,s:s,s:s,s:o,s:s}", "operation", pr_operation_name(request.operation),
                        "method", request.method, "target", pr_buffer_text(&request.target),
                        "headers", headers, "body", hex);
        pr_free(hex);
    }
    pr_gateway_request_free(&request);
    return out;
}

static void set_amount(json_t *out, const char *name, const pr_amount_t *amount)
{
    if (amount->state == PR_AMOUNT_KNOWN)
        json_object_set_new(out, name, json_integer((json_int_t)amount->minor));
    else if (amount->state == PR_AMOUNT_FLAWED)
        json_object_set_new(out, name, json_string("flawed"));
}

static json_t *evidence(const pr_evidence_t *e)
{
    json_t *out = json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:I}",
        "object", pr_object_name(e->object), "status", pr_status_name(e->status), "action",
        pr_action_name(e->action), "follow_up", pr_follow_up_name(e->follow_up), "reason",
        e->reason, "native", e->native, "account", e->account, "request_no", e->request_no,
        "reference", e->reference, "refund_no", e->refund_no, "refund_reference",
        e->refund_reference, "currency", e->currency, "code", e->failure_code, "message",
        e->failure_message, "token", e->token, "next_action", e->next_action, "digest", e->digest,
        "flaw", e->flaw ? e->flaw : "", "final", (int)e->final, "retry_after_ms",
        (json_int_t)e->retry_after_ms);
    set_amount(out, "amount", &e->amount);
    set_amount(out, "captured", &e->captured_total);
    set_amount(out, "refunded", &e->refunded_total);
    set_amount(out, "refund_amount", &e->refund_amount);
    return out;
}

static json_t *judge(call_t *self)
{
    pr_evidence_t e;
    pr_gateway_answer_t answer = {
        PR_TRANSPORT_OK, (uint32_t)json_integer_value(json_object_get(self->ask, "http")),
        self->headers, self->header_count, pr_bytes(self->body, self->body_len)};
    pr_gateway_judge(self->channel, operation_of(self), NULL, &answer, self->now_us, &e);
    return evidence(&e);
}

static pr_webhook_t webhook_of(const call_t *self)
{
    return (pr_webhook_t){.method = "POST",
                          .headers = self->headers,
                          .header_count = self->header_count,
                          .body = pr_bytes(self->body, self->body_len)};
}

static json_t *read_item(const pr_webhook_item_t *item)
{
    json_t *out = evidence(&item->evidence);
    json_object_set_new(out, "event_id", json_string(item->event_id));
    json_object_set_new(out, "event_type", json_string(item->event_type));
    json_object_set_new(out, "dedupe", json_pack("[s,s]", item->dedupe[0], item->dedupe[1]));
    return out;
}

static json_t *read_webhook(call_t *self)
{
    static const char *const verdicts[] = {"none", "verified", "refused", "probe", "wants_key"};
    pr_webhook_result_t result;
    pr_webhook_t webhook = webhook_of(self);
    pr_webhook_result_init(&result);
    pr_webhook_read(self->channel, &webhook, self->now_us, &result);
    json_t *items = json_array();
    for (size_t i = 0; i < result.count; i++)
        json_array_append_new(items, read_item(&result.items[i]));
    json_t *out = json_pack("{s:s,s:s,s:o}", "verdict", verdicts[result.verdict], "reason",
                            result.reason, "items", items);
    pr_webhook_result_free(&result);
    return out;
}

static json_t *sign(call_t *self)
{
    pr_buffer_t out;
    pr_error_t error = {0};
    pr_webhook_t webhook = webhook_of(self);
    pr_buffer_init(&out, 65536);
    json_t *answer = pr_webhook_sign(self->channel, &webhook, &out, &error) == PR_OK
                         ? json_pack("{s:s}", "signature", pr_buffer_text(&out))
                         : refusal(error.text);
    pr_buffer_free(&out);
    return answer;
}

/* ---- statements ---- */

static const pr_profile_statement_t *statement_of(const call_t *self)
{
    const pr_profile_statement_t *statement = NULL;
    const char *name = text_of(self->ask, "statement");
    for (size_t i = 0; name && (statement = pr_profile_statement(self->profile, i)); i++)
        if (strcmp(statement->name, name) == 0)
            return statement;
    return NULL;
}

static json_t *statement_request(call_t *self)
{
    pr_buffer_t out;
    pr_buffer_init(&out, 65536);
    const pr_profile_statement_t *statement = statement_of(self);
    const char *target = text_of(self->ask, "target");
    json_t *answer =
        statement && pr_profile_statement_request(statement, text_of(self->ask, "date"),
                                                  target ? target : "", &out) == PR_OK
            ? json_pack("{s:s}", "request", pr_buffer_text(&out))
            : refusal("no such statement, or no day");
    pr_buffer_free(&out);
    return answer;
}

static json_t *statement_link(call_t *self)
{
    pr_error_t error = {.text = "no such statement"};
    pr_statement_link_t link;
    const pr_profile_statement_t *statement = statement_of(self);
    return statement && pr_profile_statement_link(statement, text_of(self->ask, "base_url"),
                                                  text_of(self->ask, "url"), &link, &error) == PR_OK
               ? json_pack("{s:s,s:s}", "origin", link.origin, "target", link.target)
               : refusal(error.text);
}

static pr_rc_t take_record(void *ctx, const pr_statement_record_t *r)
{
    json_array_append_new(
        json_object_get(ctx, "records"),
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I}", "kind", pr_statement_kind_name(r->kind),
                  "state", pr_statement_state_name(r->state), "reference", r->reference,
                  "request_no", r->request_no, "refund_reference", r->refund_reference, "refund_no",
                  r->refund_no, "currency", r->currency, "amount", (json_int_t)r->amount_minor,
                  "occurred_us", (json_int_t)r->occurred_us));
    return PR_OK;
}

static pr_rc_t take_bad(void *ctx, const pr_statement_bad_t *bad)
{
    json_array_append_new(json_object_get(ctx, "bad"), json_string(bad->reason));
    return PR_OK;
}

static json_t *read_statement(call_t *self)
{
    pr_error_t error = {.text = "no such statement"};
    pr_statement_totals_t totals;
    pr_statement_reader_t *reader = NULL;
    const pr_profile_statement_t *statement = statement_of(self);
    json_t *out = json_pack("{s:[],s:[]}", "records", "bad");
    const pr_statement_sink_t sink = {take_record, take_bad, out};
    pr_rc_t rc =
        statement ? pr_statement_new(&statement->spec, NULL, &sink, &reader, &error) : PR_BAD;
    if (rc == PR_OK)
        rc = pr_statement_push(reader, pr_bytes(self->body, self->body_len), &error);
    if (reader) {
        pr_rc_t end = pr_statement_finish(reader, &totals, &error);
        rc = rc == PR_OK ? end : rc;
        json_object_set_new(out, "proof", json_string(pr_statement_proof_name(totals.proof)));
        json_object_set_new(out, "difference", json_string(totals.difference));
        json_object_set_new(out, "sha1", json_string(totals.plain_sha1));
    }
    pr_statement_destroy(&reader);
    if (rc == PR_OK)
        return out;
    json_decref(out);
    return refusal(error.text);
}

static json_t *answer(call_t *self)
{
    static const struct {
        const char *name;
        json_t *(*run)(call_t *self);
    } commands[] = {{"build", build},
                    {"judge", judge},
                    {"read", read_webhook},
                    {"sign", sign},
                    {"request", statement_request},
                    {"link", statement_link},
                    {"statement", read_statement}};
    const char *name = text_of(self->ask, "do");
    json_t *failed = load(self);
    if (failed)
        return failed;
    self->now_us = json_integer_value(json_object_get(self->ask, "now")) * INT64_C(1000000);
    take_message(self);
    for (size_t i = 0; name && i < PR_COUNT(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(self);
    return refusal("no such command");
}

int main(void)
{
    char *line = pr_calloc(LINE_MAX_BYTES, 1);
    while (fgets(line, LINE_MAX_BYTES, stdin)) {
        call_t call = {.ask = json_loads(line, 0, NULL)};
        json_t *out = call.ask ? answer(&call) : refusal("no JSON");
        char *text = json_dumps(out, JSON_COMPACT);
        puts(text);
        fflush(stdout);
        free(text);
        json_decref(out);
        pr_channel_destroy(&call.channel);
        pr_profile_destroy(&call.profile);
        pr_free(call.body);
        json_decref(call.ask);
    }
    pr_free(line);
    return 0;
}
