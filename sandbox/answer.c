/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/answer.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define READ_BY_SENDERS_BYTES 65536U /* N12: more of a response nobody reads */

static pr_answer_t success(void)
{
    return (pr_answer_t){.status = 200, .accepted = true, .body = "SUCCESS", .body_len = 7};
}

static pr_answer_t failure(int code)
{
    return (pr_answer_t){.status = code, .body = "FAIL", .body_len = 4};
}

static bool unlucky(const pr_merchant_t *merchant, const pr_notify_id_t *id, uint32_t try,
                    uint64_t seed)
{
    uint64_t dice = pr_notify_id_mix(id, seed ^ ((uint64_t)try << 32));
    return dice % 1000000 < merchant->temper.ppm;
}

/* Closed for `ms` from the first request on, then `count` are let in, and again. */
static pr_answer_t throttled(pr_merchant_t *merchant, int64_t now_ms)
{
    const pr_temper_t *temper = &merchant->temper;
    int64_t closed_ms = now_ms - merchant->closed_at_ms;
    bool closed = merchant->closed_at_ms != 0 && closed_ms < temper->ms;
    if (!closed && merchant->closed_at_ms != 0 && merchant->served < temper->count) {
        merchant->served++;
        return success();
    }
    pr_answer_t answer = failure(temper->code);
    answer.early = closed && closed_ms > PR_ANSWER_GRACE_MS;
    if (!closed) {
        merchant->closed_at_ms = now_ms;
        merchant->served = 0;
        closed_ms = 0;
    }
    answer.retry_after_ms = temper->ms - closed_ms;
    answer.retry_date = temper->date;
    return answer;
}

/* n failures, m successes, in the order of arrival. */
static pr_answer_t flipped(pr_merchant_t *merchant)
{
    const pr_temper_t *temper = &merchant->temper;
    uint64_t cycle = temper->count + temper->more;
    bool fails = cycle > 0 && merchant->served++ % cycle < temper->count;
    return fails ? failure(temper->code) : success();
}

static pr_answer_t recovering(pr_merchant_t *merchant, int64_t now_ms)
{
    if (merchant->since_ms == 0) {
        merchant->since_ms = now_ms;
    }
    bool down = now_ms - merchant->since_ms < merchant->temper.ms;
    return down ? failure(merchant->temper.code) : success();
}

/* Whether a status and body of one's choice are success by the default rule. */
static bool means_success(int status, const char *body, size_t len)
{
    while (len > 0 && strchr(" \t\r\n\v\f", body[0])) {
        body++;
        len--;
    }
    while (len > 0 && strchr(" \t\r\n\v\f", body[len - 1])) {
        len--;
    }
    return status == 200 && len == 7 && memcmp(body, "SUCCESS", 7) == 0;
}

static pr_answer_t nothing(pr_answer_how_t how, const char *what)
{
    return (pr_answer_t){.how = how, .what = what, .close = true};
}

static pr_answer_t chosen(const pr_temper_t *temper)
{
    return (pr_answer_t){.status = temper->code,
                         .accepted = means_success(temper->code, temper->text, temper->text_len),
                         .body = temper->text,
                         .body_len = temper->text_len};
}

pr_answer_t pr_answer_decide(pr_merchant_t *merchant, const pr_notify_id_t *id, uint32_t try,
                             uint64_t seed, int64_t now_ms)
{
    static const char garbage[] = "\x16\x03\x01 this is not HTTP\r\n\xff\xfe\r\n\r\n";
    const pr_temper_t *temper = &merchant->temper;
    pr_answer_t answer = success();
    switch (temper->kind) {
    case PR_TEMPER_SLOW:
        answer.delay_ms = temper->ms;
        return answer;
    case PR_TEMPER_FLAKY:
        return unlucky(merchant, id, try, seed) ? failure(temper->code) : answer;
    case PR_TEMPER_REFUSE:
    case PR_TEMPER_GONE:
        return failure(temper->code);
    case PR_TEMPER_HANG:
        return nothing(PR_ANSWER_HOLD, "hang");
    case PR_TEMPER_REDIRECT:
        answer = failure(temper->code);
        answer.location = temper->text;
        return answer;
    case PR_TEMPER_THROTTLE:
        return throttled(merchant, now_ms);
    case PR_TEMPER_HUGE:
        answer.accepted = false;
        answer.fill = temper->count;
        answer.fill_byte = 'x';
        answer.body_len = 0;
        return answer;
    case PR_TEMPER_PADDED:
        answer.fill = temper->count;
        answer.fill_byte = ' ';
        answer.accepted = temper->count + answer.body_len <= READ_BY_SENDERS_BYTES;
        return answer;
    case PR_TEMPER_ENDLESS:
        answer.accepted = false;
        answer.endless = true;
        answer.fill = UINT64_MAX;
        answer.body_len = 0;
        return answer;
    case PR_TEMPER_DRIP:
        answer.drip_ms = temper->ms;
        return answer;
    case PR_TEMPER_GARBAGE:
        answer = nothing(PR_ANSWER_RAW, "garbage");
        answer.body = garbage;
        answer.body_len = sizeof(garbage) - 1;
        return answer;
    case PR_TEMPER_RESET:
        return nothing(PR_ANSWER_RESET, "reset");
    case PR_TEMPER_CLOSE:
        return nothing(PR_ANSWER_CLOSE, "close");
    case PR_TEMPER_TRUNCATED:
        answer.accepted = false;
        answer.missing = 100 - answer.body_len;
        answer.close = true;
        return answer;
    case PR_TEMPER_RECOVER:
        return recovering(merchant, now_ms);
    case PR_TEMPER_FLIP:
        return flipped(merchant);
    case PR_TEMPER_FAIL_FIRST:
        return try <= temper->count ? failure(temper->code) : answer;
    case PR_TEMPER_LEAVE:
        answer.close = true;
        answer.linger_ms = temper->ms;
        return answer;
    case PR_TEMPER_INTERIM:
        answer.interim = true;
        return answer;
    case PR_TEMPER_ANSWER:
        return chosen(temper);
    case PR_TEMPER_RAW:
        answer = nothing(PR_ANSWER_RAW, "raw");
        answer.body = temper->text;
        answer.body_len = temper->text_len;
        return answer;
    case PR_TEMPER_PROMPT:
    case PR_TEMPER_NONE:
        return answer;
    }
    return answer;
}

const char *pr_answer_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {302, "Found"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {417, "Expectation Failed"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < PR_COUNT(reasons); i++) {
        if (reasons[i].status == status) {
            return reasons[i].reason;
        }
    }
    return "Status";
}

static pr_rc_t render_retry_after(const pr_answer_t *self, int64_t wall_s, pr_buffer_t *out)
{
    int64_t seconds = (self->retry_after_ms + 999) / 1000;
    if (!self->retry_date) {
        return pr_buffer_printf(out, "Retry-After: %" PRId64 "\r\n", seconds);
    }
    char text[40];
    time_t at = (time_t)(wall_s + seconds + 1); /* a date has whole seconds: round up */
    struct tm parts;
    gmtime_r(&at, &parts);
    strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return pr_buffer_printf(out, "Retry-After: %s\r\n", text);
}

pr_rc_t pr_answer_render(const pr_answer_t *self, bool close, int64_t wall_s, pr_buffer_t *out)
{
    if (self->how == PR_ANSWER_RAW) {
        return pr_buffer_append(out, self->body, self->body_len);
    }
    pr_rc_t rc = PR_OK;
    if (self->interim) {
        rc = pr_buffer_append_text(out, "HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n");
    }
    if (rc == PR_OK) {
        rc = pr_buffer_printf(out, "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\n", self->status,
                              pr_answer_reason(self->status));
    }
    if (rc == PR_OK && self->location) {
        rc = pr_buffer_printf(out, "Location: %s\r\n", self->location);
    }
    if (rc == PR_OK && self->retry_after_ms > 0) {
        rc = render_retry_after(self, wall_s, out);
    }
    if (rc == PR_OK && close) {
        rc = pr_buffer_append_text(out, "Connection: close\r\n");
    }
    if (rc == PR_OK && self->endless) {
        return pr_buffer_append_text(out, "Transfer-Encoding: chunked\r\n\r\n");
    }
    if (rc == PR_OK) {
        uint64_t length = self->fill + self->body_len + self->missing;
        bool bodiless = self->status == 204 || self->status == 304;
        rc = bodiless ? pr_buffer_append_text(out, "\r\n")
                      : pr_buffer_printf(out, "Content-Length: %" PRIu64 "\r\n\r\n", length);
        if (bodiless) {
            return rc;
        }
    }
    if (rc == PR_OK && self->fill == 0) {
        rc = pr_buffer_append(out, self->body, self->body_len);
    }
    return rc;
}

pr_rc_t pr_answer_plain(int status, const char *type, pr_bytes_t body, bool close, pr_buffer_t *out)
{
    pr_rc_t rc = pr_buffer_printf(out,
                                  "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%sContent-Length: %zu"
                                  "\r\n\r\n",
                                  status, pr_answer_reason(status), type,
                                  close ? "Connection: close\r\n" : "", body.len);
    return rc == PR_OK ? pr_buffer_append(out, body.data, body.len) : rc;
}
