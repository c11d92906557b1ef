/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's request parser: however a stream is cut into reads, the verdict is the same, and every
 * span lies inside the head. The source is included because fuzz targets link no program's library.
 */
#include "sandbox/request.c" /* NOLINT(bugprone-suspicious-include) */
#include "tests/fuzz/fuzz.h"

#define BODY_MAX 512

static void check_span(const pr_request_t *request, pr_span_t span)
{
    FUZZ_CHECK(span.len <= request->head_len && span.at <= request->head_len - span.len);
}

static void check_ready(const pr_request_t *request, size_t size)
{
    FUZZ_CHECK(request->head_len > 0 && request->head_len <= PR_REQUEST_HEAD_MAX);
    FUZZ_CHECK(request->content_len <= BODY_MAX && pr_request_len(request) <= size);
    check_span(request, request->method);
    check_span(request, request->target);
    FUZZ_CHECK(request->method.len > 0 && request->target.len > 0);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].kind == FIELD_SPAN) {
            pr_span_t span;
            memcpy(&span, (const char *)request + fields[i].offset, sizeof(span));
            check_span(request, span);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pr_request_t whole = {0}, pieces = {0};
    pr_request_state_t at_once = pr_request_parse(&whole, data, size, BODY_MAX);
    pr_request_state_t in_pieces = PR_REQUEST_MORE;
    size_t step = size > 0 ? 1U + data[0] % 37U : 1U; /* the input chooses its own cuts */
    for (size_t len = 0; in_pieces == PR_REQUEST_MORE && len <= size; len += step) {
        in_pieces = pr_request_parse(&pieces, data, len, BODY_MAX);
    }
    if (in_pieces == PR_REQUEST_MORE) {
        in_pieces = pr_request_parse(&pieces, data, size, BODY_MAX);
    }
    FUZZ_CHECK(at_once == in_pieces);
    if (at_once == PR_REQUEST_BAD) {
        FUZZ_CHECK(whole.status == pieces.status && whole.status >= 400);
    }
    if (at_once == PR_REQUEST_READY) {
        check_ready(&whole, size);
        FUZZ_CHECK(pr_request_len(&whole) == pr_request_len(&pieces));
    }
    return 0;
}
