/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/json_scan.h"
#include "gateway/evidence_json.h"
#include "wire/envelope.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(evidence_json, .timeout = 300);

#define SAY(field_, text_) snprintf(field_, sizeof(field_), "%s", text_)

_Static_assert(PR_EVIDENCE_JSON_MAX_BYTES == PR_WIRE_EVIDENCE_MAX, "evidence fits an Outcome");

static const char *to_json(const pr_evidence_t *evidence, const pr_evidence_call_t *call)
{
    static pr_buffer_t out;
    if (out.max_bytes == 0)
        pr_buffer_init(&out, PR_EVIDENCE_JSON_MAX_BYTES);
    pr_buffer_clear(&out);
    cr_assert_eq(pr_evidence_to_json(evidence, call, &out), PR_OK);
    pr_json_t root;
    cr_assert_eq(pr_json_check(pr_buffer_bytes(&out), &root), PR_OK, "%s", pr_buffer_text(&out));
    cr_assert_eq(root.type, PR_JSON_OBJECT);
    return pr_buffer_text(&out);
}

Test(evidence_json, nothing_known)
{
    pr_evidence_t evidence;
    pr_evidence_init(&evidence);
    cr_expect_str_eq(
        to_json(&evidence, NULL),
        "{\"object\":\"none\",\"status\":\"NONE\",\"action\":\"none\",\"follow_up\":\"none\","
        "\"final\":true,\"asked\":false,\"ambiguous\":false,\"flawed_text\":false}");
}

static void fill(pr_evidence_t *evidence)
{
    pr_evidence_init(evidence);
    evidence->object = PR_OBJECT_PAYMENT;
    evidence->status = PR_STATUS_SUCCEEDED;
    evidence->action = PR_ACTION_NONE;
    evidence->asked = true;
    SAY(evidence->native, "succeeded");
    SAY(evidence->account, "acct-1");
    SAY(evidence->request_no, "p-1");
    SAY(evidence->reference, "ch_1");
    SAY(evidence->currency, "CNY");
    evidence->amount = (pr_amount_t){PR_AMOUNT_KNOWN, 580000};
    evidence->captured_total = (pr_amount_t){PR_AMOUNT_KNOWN, 0};
    evidence->refunded_total = (pr_amount_t){PR_AMOUNT_FLAWED, 7};
    evidence->flaw = "refunded_total";
    evidence->paid_at_us = 1764520000000000;
    SAY(evidence->token, "never-shown");
}

Test(evidence_json, a_success_with_its_call)
{
    pr_evidence_t evidence;
    fill(&evidence);
    pr_evidence_call_t call = {.transport = PR_TRANSPORT_OK,
                               .http_status = 200,
                               .duration_ms = 12,
                               .started_at_us = 1764520000000001};
    cr_expect_str_eq(
        to_json(&evidence, &call),
        "{\"object\":\"payment\",\"status\":\"SUCCEEDED\",\"action\":\"none\",\"follow_up\":\"none\","
        "\"final\":true,\"asked\":true,\"ambiguous\":false,\"flawed_text\":false,"
        "\"native\":\"succeeded\",\"flaw\":\"refunded_total\",\"account\":\"acct-1\","
        "\"request_no\":\"p-1\",\"reference\":\"ch_1\",\"currency\":\"CNY\",\"amount\":580000,"
        "\"captured_total\":0,\"refunded_total\":\"flawed\",\"paid_at_us\":1764520000000000,"
        "\"transport\":\"ok\",\"http_status\":200,\"duration_ms\":12,"
        "\"started_at_us\":1764520000000001}");
}

/* Whatever bytes came, the text is JSON in valid UTF-8 without NUL: Postgres takes it. */
Test(evidence_json, hostile_texts)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\x01\n\x7f", "\"\\u0001\\n\\u007f\""},
        {"\xc3\xa4\xe4\xb8\xad", "\"\xc3\xa4\xe4\xb8\xad\""},
        {"\xff", "\"\xef\xbf\xbd\""},
        {"\xc3", "\"\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        pr_evidence_t evidence;
        pr_evidence_init(&evidence);
        SAY(evidence.failure_message, rows[i].in);
        PR_CLEANUP_FREE char *want = pr_asprintf("\"failure_message\":%s}", rows[i].out);
        const char *got = to_json(&evidence, NULL);
        cr_expect_not_null(strstr(got, want), "row %zu: %s", i, got);
    }
}

#define FULL(field_) memset(evidence.field_, '\x01', sizeof evidence.field_ - 1)

Test(evidence_json, the_largest_fits)
{
    pr_evidence_t evidence;
    fill(&evidence);
    FULL(native), FULL(reason), FULL(account), FULL(request_no), FULL(reference), FULL(refund_no);
    FULL(refund_reference), FULL(failure_code), FULL(failure_message), FULL(next_action_kind);
    FULL(next_action);
    evidence.amount.minor = evidence.captured_total.minor = INT64_MAX;
    evidence.refund_amount = evidence.refunded_total = (pr_amount_t){PR_AMOUNT_KNOWN, INT64_MAX};
    evidence.paid_at_us = evidence.occurred_at_us = evidence.retry_after_ms = INT64_MAX;
    char sha256[65], error[64];
    memset(sha256, 'a', sizeof sha256 - 1);
    memset(error, 'e', sizeof error - 1);
    sha256[64] = error[63] = '\0';
    pr_evidence_call_t call = {.transport = PR_TRANSPORT_FIRST_BYTE_TIMEOUT,
                               .http_status = UINT32_MAX,
                               .error = error,
                               .duration_ms = UINT32_MAX,
                               .started_at_us = INT64_MIN,
                               .request_sha256 = sha256};
    const char *got = to_json(&evidence, &call);
    cr_expect_gt(strlen(got), PR_EVIDENCE_JSON_MAX_BYTES / 2);
}

Test(evidence_json, what_does_not_fit_leaves_nothing)
{
    pr_evidence_t evidence;
    fill(&evidence);
    pr_buffer_t out;
    pr_buffer_init(&out, 100);
    cr_assert_eq(pr_buffer_append_text(&out, "before"), PR_OK);
    cr_expect_eq(pr_evidence_to_json(&evidence, NULL, &out), PR_BAD);
    cr_expect_str_eq(pr_buffer_text(&out), "before");
    pr_buffer_free(&out);
}

Test(evidence_json, transports_have_names)
{
    for (pr_transport_t i = PR_TRANSPORT_NONE; i < PR_TRANSPORTS; i++)
        cr_expect_gt(strlen(pr_transport_name(i)), 1, "%d", i);
    cr_expect_str_eq(pr_transport_name(PR_TRANSPORT_BAD_CONFIG), "bad_config");
    cr_expect_str_eq(pr_transport_name(PR_TRANSPORT_TOTAL_TIMEOUT), "total_timeout");
    cr_expect_str_eq(pr_transport_name(PR_TRANSPORTS), "?");
}
