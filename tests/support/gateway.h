/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of lib/gateway: shipped profiles, channels, answers and webhooks in few words.
 */
#ifndef PR_TESTS_GATEWAY_H
#define PR_TESTS_GATEWAY_H

#include "base/alloc.h"
#include "gateway/gateway.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define GATEWAY_NOW_S INT64_C(1795000000)
#define GATEWAY_NOW_US (GATEWAY_NOW_S * 1000000)
#define GATEWAY_NONCE "593bec0c930bf1afeb40b4a08c8fb242"
#define GATEWAY_HEADERS_MAX 8

/* The folder of profiles, found from this file's own place in the tree; the caller's. */
static inline char *gateway_file(const char *name)
{
    const char *cut = strstr(__FILE__, "tests/support/");
    cr_assert_not_null(cut);
    return pr_asprintf("%.*s%s", (int)(cut - __FILE__), __FILE__, name);
}

static inline char *gateway_read(const char *name, size_t *len)
{
    PR_CLEANUP_FREE char *path = gateway_file(name);
    char *text = pr_calloc(PR_GATEWAY_BODY_MAX_BYTES, 1);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    *len = fread(text, 1, PR_GATEWAY_BODY_MAX_BYTES - 1, file);
    fclose(file);
    return text;
}

static inline pr_profile_t *gateway_profile(const char *name)
{
    size_t len;
    pr_profile_t *profile = NULL;
    pr_error_t error = {0};
    PR_CLEANUP_FREE char *path = pr_asprintf("profiles/%s.yaml", name);
    PR_CLEANUP_FREE char *text = gateway_read(path, &len);
    cr_assert_eq(pr_profile_parse(path, pr_bytes(text, len), &profile, &error), PR_OK, "%s",
                 error.text);
    return profile;
}

/* pairs: name, value, name, value ..., NULL */
static inline pr_channel_t *gateway_channel(const pr_profile_t *profile, const char *const *pairs)
{
    pr_parameter_t parameters[16];
    size_t count = 0;
    pr_channel_t *channel = NULL;
    pr_error_t error = {0};
    for (; pairs[2 * count]; count++)
        parameters[count] = (pr_parameter_t){pairs[2 * count], pr_bytes_text(pairs[2 * count + 1])};
    cr_assert_eq(pr_channel_new(profile, parameters, count, NULL, &channel, &error), PR_OK, "%s",
                 error.text);
    return channel;
}

static inline pr_payment_facts_t gateway_facts(void)
{
    pr_payment_facts_t facts;
    pr_payment_facts_init(&facts);
    facts.request_no = "P20261130001";
    facts.order_no = "order-1";
    facts.currency = "CNY";
    facts.amount_minor = 5800;
    facts.description = "a \"quoted\" thing";
    facts.notify_url = "https://pay.example/v1/webhooks/c1";
    facts.return_url = "https://shop.example/back";
    facts.expires_at_us = GATEWAY_NOW_US + INT64_C(7200000000);
    return facts;
}

/* ---- headers ---- */

typedef struct {
    size_t count;
    pr_gateway_header_t items[GATEWAY_HEADERS_MAX];
} gateway_headers_t;

static inline void gateway_header(gateway_headers_t *self, const char *name, const char *value)
{
    cr_assert_lt(self->count, (size_t)GATEWAY_HEADERS_MAX);
    self->items[self->count++] = (pr_gateway_header_t){name, value};
}

/* ---- requests ---- */

/* out: zeroed, or built before; free it. */
static inline void gateway_build(const pr_channel_t *channel, pr_operation_t operation,
                                 const pr_payment_facts_t *facts, pr_gateway_request_t *out)
{
    pr_error_t error = {0};
    cr_assert_eq(
        pr_gateway_build(channel, operation, facts, GATEWAY_NOW_US, GATEWAY_NONCE, out, &error),
        PR_OK, "%s: %s", pr_operation_name(operation), error.text);
}

static inline const char *gateway_header_of(const pr_gateway_request_t *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcmp(request->headers[i].name, name) == 0)
            return pr_buffer_text(&request->headers[i].value);
    return "(none)";
}

/* ---- answers ---- */

typedef struct {
    const char *sentence;
    pr_operation_t operation;
    uint32_t http;
    const char *body;
    pr_status_t status;
    pr_action_t action;
    const char *reason;
} gateway_answer_case_t;

/* Adds what makes the answer a true one; NULL: nothing has to be. */
typedef void gateway_sign_answer_fn(const pr_channel_t *channel, pr_gateway_answer_t *answer,
                                    gateway_headers_t *headers);

static inline pr_evidence_t gateway_judge(const pr_channel_t *channel, pr_operation_t operation,
                                          const pr_payment_facts_t *facts, uint32_t http,
                                          const char *body, gateway_sign_answer_fn *sign)
{
    pr_evidence_t evidence;
    gateway_headers_t headers = {0};
    pr_gateway_answer_t answer = {
        .transport = PR_TRANSPORT_OK, .http_status = http, .body = pr_bytes_text(body)};
    if (sign)
        sign(channel, &answer, &headers);
    answer.headers = headers.items;
    answer.header_count = headers.count;
    pr_gateway_judge(channel, operation, facts, &answer, GATEWAY_NOW_US, &evidence);
    return evidence;
}

static inline void gateway_judge_all(const pr_channel_t *channel,
                                     const gateway_answer_case_t *cases, size_t count,
                                     gateway_sign_answer_fn *sign)
{
    pr_payment_facts_t facts = gateway_facts();
    for (size_t i = 0; i < count; i++) {
        const gateway_answer_case_t *one = &cases[i];
        pr_evidence_t evidence =
            gateway_judge(channel, one->operation, &facts, one->http, one->body, sign);
        cr_expect_eq(evidence.status, one->status, "%s: %s", one->sentence,
                     pr_status_name(evidence.status));
        cr_expect_eq(evidence.action, one->action, "%s: %s", one->sentence,
                     pr_action_name(evidence.action));
        cr_expect_str_eq(evidence.reason, one->reason, "%s: \"%s\"", one->sentence,
                         evidence.reason);
    }
}

/* ---- webhooks ---- */

/* Signs by the channel's own keys and puts the signature under `name` (NULL: nowhere). */
static inline char *gateway_signature(const pr_channel_t *channel, const pr_webhook_t *webhook)
{
    pr_buffer_t out;
    pr_error_t error = {0};
    pr_buffer_init(&out, 65536);
    cr_assert_eq(pr_webhook_sign(channel, webhook, &out, &error), PR_OK, "%s", error.text);
    char *text = pr_strdup(pr_buffer_text(&out));
    pr_buffer_free(&out);
    return text;
}

static inline void gateway_expect_refused(const pr_channel_t *channel, const pr_webhook_t *webhook,
                                          int64_t now_us, const char *reason)
{
    pr_webhook_result_t result;
    pr_webhook_result_init(&result);
    pr_webhook_read(channel, webhook, now_us, &result);
    cr_expect_eq(result.verdict, PR_WEBHOOK_REFUSED, "%s, but: %d", reason, result.verdict);
    cr_expect_str_eq(result.reason, reason);
    cr_expect_eq(result.count, 0);
    pr_webhook_result_free(&result);
}

/* Reads what must verify; free the result. */
static inline void gateway_read_webhook(const pr_channel_t *channel, const pr_webhook_t *webhook,
                                        pr_webhook_result_t *result)
{
    pr_webhook_result_init(result);
    pr_webhook_read(channel, webhook, GATEWAY_NOW_US, result);
    cr_assert_eq(result->verdict, PR_WEBHOOK_VERIFIED, "%s", result->reason);
    cr_assert_geq(result->count, 1);
}

#endif
