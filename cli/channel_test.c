/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/channel_test.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/plain_http.h"
#include "http/http.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define NONCE_BYTES 12
#define ANSWER_HEADERS_MAX 64
#define CALL_MS 15000

/* One question and what its answer says. */
typedef struct {
    const pr_channel_t *channel;
    const pr_payment_facts_t *facts;
    const char *base_url, *tls_ca;
    pr_gateway_request_t request;
    bool done;
    int http_status;
    const char *error; /* lib/http's word; "" = an answer came */
    pr_evidence_t evidence;
} question_t;

static void on_done(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    question_t *self = arg;
    (void)now_ms;
    self->done = true;
    self->http_status = response->code;
    self->error = response->error != PR_HTTP_OK ? pr_http_error_name(response->error)
                  : response->truncated         ? "body_too_large"
                                                : "";
    if (self->error[0] != '\0') {
        return;
    }
    pr_gateway_header_t headers[ANSWER_HEADERS_MAX];
    size_t count = 0, cursor = 0;
    while (count < ANSWER_HEADERS_MAX &&
           pr_http_header_next(response->headers, &cursor, &headers[count].name,
                               &headers[count].value)) {
        count++;
    }
    pr_gateway_answer_t answer = {.transport = PR_TRANSPORT_OK,
                                  .http_status = (uint32_t)response->code,
                                  .headers = headers,
                                  .header_count = count,
                                  .body = response->body};
    pr_gateway_judge(self->channel, self->request.operation, self->facts, &answer,
                     pr_clock_wall_us(), &self->evidence);
}

static pr_rc_t build(question_t *self, pr_operation_t operation, pr_error_t *error)
{
    uint8_t random[NONCE_BYTES];
    char nonce[2 * NONCE_BYTES + 1];
    pr_random_bytes(random, sizeof random);
    pr_hex(pr_bytes(random, sizeof random), nonce);
    return pr_gateway_build(self->channel, operation, self->facts, pr_clock_wall_us(), nonce,
                            &self->request, error);
}

static pr_rc_t send_it(question_t *self, pr_http_t *http, pr_error_t *error)
{
    const char *base_url = self->base_url;
    size_t len = strlen(base_url);
    PR_CLEANUP_FREE char *url =
        pr_asprintf("%.*s%s", (int)(len - (len > 0 && base_url[len - 1] == '/')), base_url,
                    pr_buffer_text(&self->request.target));
    char *lines[PR_GATEWAY_HEADERS_MAX];
    size_t count = self->request.header_count;
    for (size_t i = 0; i < count; i++) {
        lines[i] = pr_asprintf("%s: %s", self->request.headers[i].name,
                               pr_buffer_text(&self->request.headers[i].value));
    }
    pr_http_request_t request = {
        .url = url,
        .method = self->request.method,
        .headers = (const char *const *)lines,
        .header_count = (int)count,
        .body = pr_buffer_bytes(&self->request.body),
        .total_ms = CALL_MS,
        .ca_pem = self->tls_ca,
        .fresh = true,
        .keep_headers = true,
        .done = on_done,
        .arg = self,
    };
    pr_rc_t rc = pr_http_start(http, &request, pr_clock_mono_ms(), error);
    while (rc == PR_OK && !self->done) { /* total_ms ends it */
        int64_t wait_ms = pr_http_due_at_ms(http) - pr_clock_mono_ms();
        struct pollfd fd = {pr_http_fd(http), POLLIN, 0};
        (void)poll(&fd, 1, wait_ms < 0 ? 0 : wait_ms > 100 ? 100 : (int)wait_ms);
        pr_http_run(http, pr_clock_mono_ms());
    }
    for (size_t i = 0; i < count; i++) {
        explicit_bzero(lines[i], strlen(lines[i])); /* credentials stood there */
        pr_free(lines[i]);
    }
    return rc;
}

/* Fills self->evidence. Failed: no answer, or one that refuses the credential. */
static int ask(question_t *self, pr_operation_t operation)
{
    pr_error_t error;
    PR_CLEANUP(pr_http) pr_http_t *http = pr_http_new(NULL);
    self->done = false;
    pr_evidence_init(&self->evidence);
    pr_gateway_request_init(&self->request);
    pr_rc_t rc = build(self, operation, &error);
    if (rc == PR_OK) {
        rc = send_it(self, http, &error);
    }
    pr_gateway_request_free(&self->request);
    if (rc != PR_OK) {
        return pr_console_failed("the test call cannot be made: %s; try the credential yourself, "
                                 "then say how with --tested",
                                 error.text);
    }
    if (self->error[0] != '\0') {
        return pr_console_failed("the test call (%s) got no answer: %s",
                                 pr_operation_name(operation), self->error);
    }
    if (self->evidence.action == PR_ACTION_STOP_CHANNEL) {
        return pr_console_failed("the gateway still refuses: HTTP %d, %s; correct it with "
                                 "`postrider channel set`",
                                 self->http_status, self->evidence.reason);
    }
    return PR_EXIT_OK;
}

static bool has(const pr_profile_facts_t *facts, pr_operation_t operation)
{
    return (facts->operations & UINT64_C(1) << operation) != 0;
}

int pr_channel_test(const pr_console_t *console, const pr_channel_t *channel,
                    const pr_profile_facts_t *facts, const char *base_url, const char *tls_ca,
                    char **result)
{
    uint8_t random[6];
    char number[2 * sizeof random + 8];
    char token[sizeof((pr_evidence_t *)NULL)->token] = "";
    pr_payment_facts_t asked;
    question_t question = {
        .channel = channel, .facts = &asked, .base_url = base_url, .tls_ca = tls_ca};
    if (pr_plain_http_refused(console, base_url)) {
        return pr_console_failed("http:// is refused: set http.allow_plain, or allow the address");
    }
    pr_random_bytes(random, sizeof random);
    memcpy(number, "prtest", 6);
    pr_hex(pr_bytes(random, sizeof random), number + 6);
    pr_payment_facts_init(&asked);
    asked.request_no = asked.reference = asked.order_no = number;
    int code = PR_EXIT_OK;
    bool by_number = has(facts, PR_OPERATION_FIND);
    if (has(facts, PR_OPERATION_TOKEN)) {
        code = ask(&question, PR_OPERATION_TOKEN);
        memcpy(token, question.evidence.token, sizeof token);
        asked.token = token;
        if (code == PR_EXIT_OK && token[0] == '\0') {
            code = pr_console_failed("the gateway gave no access token: HTTP %d, %s",
                                     question.http_status, question.evidence.reason);
        }
    } else if (!by_number && !has(facts, PR_OPERATION_QUERY)) {
        code = pr_console_failed("profile %s has nothing to ask: try the credential yourself, then "
                                 "say how with --tested",
                                 facts->name);
    }
    if (code == PR_EXIT_OK && (by_number || has(facts, PR_OPERATION_QUERY))) {
        code = ask(&question, by_number ? PR_OPERATION_FIND : PR_OPERATION_QUERY);
    }
    if (code == PR_EXIT_OK) {
        json_t *said =
            json_pack("{s:i, s:s, s:s, s:s}", "http_status", question.http_status, "status",
                      pr_status_name(question.evidence.status), "action",
                      pr_action_name(question.evidence.action), "reason", question.evidence.reason);
        *result = json_dumps(said, JSON_COMPACT);
        json_decref(said);
    }
    explicit_bzero(token, sizeof token);
    explicit_bzero(&question.evidence, sizeof question.evidence);
    return code;
}
