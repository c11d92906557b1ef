/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_sandbox.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "http/http.h"

#include <poll.h>

#define CALL_MS 30000
#define ANSWER_MAX_BYTES ((size_t)16 << 20) /* a page of its ledger has 4 MiB at most */

typedef struct {
    bool done;
    int code;
    const char *error;
    pr_buffer_t *body; /* NULL: not wanted */
} answer_t;

static void on_done(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    answer_t *answer = arg;
    (void)now_ms;
    answer->done = true;
    answer->code = response->code;
    answer->error = pr_http_error_name(response->error);
    if (answer->body && (response->truncated || pr_buffer_append(answer->body, response->body.data,
                                                                 response->body.len) != PR_OK))
        answer->code = 0; /* too large: as good as none */
}

/* body NULL: GET. */
static pr_rc_t call(const char *url, const char *body, pr_buffer_t *out, pr_error_t *error)
{
    const pr_http_limits_t limits = {.max_read_bytes = ANSWER_MAX_BYTES, .first_byte_ms = CALL_MS};
    PR_CLEANUP(pr_http) pr_http_t *http = pr_http_new(&limits);
    answer_t answer = {false, 0, "", out};
    const char *const headers[] = {"Content-Type: application/json"};
    pr_http_request_t request = {
        .url = url,
        .method = body ? "POST" : "GET",
        .headers = headers,
        .header_count = 1,
        .body = pr_bytes_text(body),
        .total_ms = CALL_MS,
        .done = on_done,
        .arg = &answer,
    };
    pr_rc_t rc = pr_http_start(http, &request, pr_clock_mono_ms(), error);
    while (rc == PR_OK && !answer.done) { /* total_ms ends it */
        int64_t now_ms = pr_clock_mono_ms(), wait_ms = pr_http_due_at_ms(http) - now_ms;
        struct pollfd fd = {pr_http_fd(http), POLLIN, 0};
        poll(&fd, 1, wait_ms < 0 ? 0 : wait_ms > 100 ? 100 : (int)wait_ms);
        pr_http_run(http, pr_clock_mono_ms());
    }
    if (rc == PR_OK && answer.code != 200)
        return pr_error_set(error, PR_FATAL, "sandbox", "", "%s answered %d %s", url, answer.code,
                            answer.error);
    return rc;
}

pr_rc_t pr_demo_sandbox_temper(const char *sandbox, const char *merchant, const char *temper,
                               pr_error_t *error)
{
    PR_CLEANUP_FREE char *url = pr_asprintf("http://%s/control/temper", sandbox);
    PR_CLEANUP_FREE char *body =
        pr_asprintf("{\"merchant\": \"%s\", \"temper\": \"%s\"}", merchant, temper);
    return call(url, body, NULL, error);
}

pr_rc_t pr_demo_sandbox_gateway(const char *sandbox, const char *path, const char *body,
                                pr_buffer_t *out, pr_error_t *error)
{
    PR_CLEANUP_FREE char *url = pr_asprintf("http://%s/control/gateway/%s", sandbox, path);
    pr_buffer_init(out, ANSWER_MAX_BYTES);
    return call(url, body, out, error);
}
