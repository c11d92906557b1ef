/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_sandbox.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "http/http.h"

#include <poll.h>

#define CALL_MS 5000

typedef struct {
    bool done;
    int code;
    const char *error;
} answer_t;

static void on_done(void *arg, const pr_http_response_t *response, int64_t now_ms)
{
    answer_t *answer = arg;
    (void)now_ms;
    answer->done = true;
    answer->code = response->code;
    answer->error = pr_http_error_name(response->error);
}

static pr_rc_t call(pr_http_t *http, const char *url, const char *body, pr_error_t *error)
{
    answer_t answer = {false, 0, ""};
    const char *const headers[] = {"Content-Type: application/json"};
    pr_http_request_t request = {
        .url = url,
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
    PR_CLEANUP(pr_http) pr_http_t *http = pr_http_new(NULL);
    return call(http, url, body, error);
}
