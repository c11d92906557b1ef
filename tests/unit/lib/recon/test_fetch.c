/* SPDX-License-Identifier: Apache-2.0
 *
 * Which call comes next when a statement is fetched, by the shipped profiles; and what is said when
 * none does.
 */
#include "recon/fetch.h"
#include "tests/support/gateway.h"

#include <stdio.h>

#define DAY "2026-11-29"

TestSuite(fetch, .timeout = 300);

static pr_profile_t *profile;
static pr_fetch_t fetch;
static pr_evidence_t said;

static pr_fetch_kind_t begin(const char *name, size_t statement)
{
    profile = gateway_profile(name);
    pr_fetch_init(&fetch);
    pr_evidence_init(&said);
    return pr_fetch_begin(&fetch, pr_profile_facts(profile),
                          pr_profile_statement(profile, statement), "https://gw.example", DAY);
}

static void end(void)
{
    pr_fetch_free(&fetch);
    pr_profile_destroy(&profile);
}

static pr_fetch_kind_t answered(pr_status_t status)
{
    said.status = status;
    return pr_fetch_answered(&fetch, &said, 200);
}

Test(fetch, a_link_is_asked_for_and_followed)
{
    cr_assert_eq(begin("wechat-v3", 0), PR_FETCH_CALL);
    cr_expect_eq(fetch.operation, PR_OPERATION_STATEMENT);
    cr_expect_str_eq(fetch.origin, "https://gw.example");
    cr_expect_not_null(strstr(pr_buffer_text(&fetch.request), "\"date\":\"" DAY "\""));
    (void)snprintf(said.next_action, sizeof said.next_action, "%s",
                   "http://gw.example/v3/billdownload/file?token=x");
    (void)snprintf(said.digest, sizeof said.digest, "%s", "ABCDEF");
    cr_assert_eq(answered(PR_STATUS_SUCCEEDED), PR_FETCH_CALL);
    cr_expect_eq(fetch.operation, PR_OPERATION_STATEMENT_FILE);
    cr_expect_str_eq(fetch.origin, "https://gw.example:443", "with TLS, as the channel has it");
    cr_expect_not_null(strstr(pr_buffer_text(&fetch.request), "/v3/billdownload/file?token=x"));
    cr_expect_eq(pr_fetch_filed(&fetch, NULL, 200), PR_FETCH_READY);
    cr_expect_str_eq(fetch.digest, "ABCDEF");
    said.status = PR_STATUS_NOT_FOUND;
    cr_expect_eq(pr_fetch_filed(&fetch, &said, 404), PR_FETCH_FAILED,
                 "a link that is gone is no day without rows");
    end();
}

Test(fetch, a_link_leads_where_the_profile_says)
{
    cr_assert_eq(begin("alipay", 0), PR_FETCH_CALL);
    (void)snprintf(said.next_action, sizeof said.next_action, "%s",
                   "http://10.0.0.1/latest/meta-data");
    cr_expect_eq(answered(PR_STATUS_SUCCEEDED), PR_FETCH_FAILED);
    cr_expect_not_null(strstr(fetch.text, "statements.hosts"), "%s", fetch.text);
    said.next_action[0] = '\0';
    cr_expect_eq(answered(PR_STATUS_SUCCEEDED), PR_FETCH_FAILED, "nor nowhere");
    end();
}

Test(fetch, without_a_question_the_file_is_fetched_at_once)
{
    cr_assert_eq(begin("sandbox", 0), PR_FETCH_CALL);
    cr_expect_eq(fetch.operation, PR_OPERATION_STATEMENT_FILE);
    said.status = PR_STATUS_NOT_FOUND;
    cr_expect_eq(pr_fetch_filed(&fetch, &said, 404), PR_FETCH_NOTHING);
    end();
}

Test(fetch, what_is_being_made_is_asked_about_a_few_times)
{
    cr_assert_eq(begin("stripe", 0), PR_FETCH_CALL);
    int64_t last_ms = 0, all_ms = 0;
    int looks = 0;
    (void)snprintf(said.reference, sizeof said.reference, "%s", "frr_1");
    while (answered(PR_STATUS_PENDING) == PR_FETCH_CALL) {
        cr_expect_eq(fetch.operation, PR_OPERATION_STATEMENT_AGAIN);
        cr_expect_str_eq(fetch.reference, "frr_1");
        cr_expect_geq(fetch.wait_ms, last_ms);
        last_ms = fetch.wait_ms;
        all_ms += last_ms;
        cr_assert_lt(++looks, 100);
        said.reference[0] = '\0'; /* it is known by now */
    }
    cr_expect_geq(looks, 5);
    cr_expect_leq(all_ms, 600000, "within what a lease lasts");
    cr_expect_not_null(strstr(fetch.text, "later"), "%s", fetch.text);
    end();
}

Test(fetch, not_made_yet_without_a_way_to_ask_again_is_later)
{
    cr_assert_eq(begin("wechat-v3", 0), PR_FETCH_CALL);
    cr_expect_eq(answered(PR_STATUS_PENDING), PR_FETCH_FAILED);
    cr_expect_eq(answered(PR_STATUS_NOT_FOUND), PR_FETCH_NOTHING, "a day without rows");
    end();
}

Test(fetch, a_profile_that_cannot_fetch_says_what_to_do)
{
    cr_expect_eq(begin("adyen", 0), PR_FETCH_FAILED);
    cr_expect_not_null(strstr(fetch.text, "--file"), "%s", fetch.text);
    end();
}

Test(fetch, failures_are_told_in_the_channels_words_and_ours)
{
    cr_assert_eq(begin("wechat-v3", 0), PR_FETCH_CALL);
    said.action = PR_ACTION_STOP_CHANNEL;
    (void)snprintf(said.reason, sizeof said.reason, "%s", "credential_refused");
    (void)snprintf(said.failure_code, sizeof said.failure_code, "%s", "SIGN_ERROR");
    cr_expect_eq(answered(PR_STATUS_UNKNOWN), PR_FETCH_FAILED);
    cr_expect(strstr(fetch.text, "credential_refused") && strstr(fetch.text, "SIGN_ERROR") &&
                  strstr(fetch.text, "channel resume"),
              "%s", fetch.text);
    cr_expect_eq(pr_fetch_pause_ms(&said, 401), 0);
    said.action = PR_ACTION_BACK_OFF;
    (void)snprintf(said.reason, sizeof said.reason, "%s", "rate_limited");
    cr_expect_gt(pr_fetch_pause_ms(&said, 200), 0, "a profile's words for it");
    said.retry_after_ms = 7000;
    cr_expect_eq(pr_fetch_pause_ms(&said, 429), 7000, "as long as it asks");
    end();
}
