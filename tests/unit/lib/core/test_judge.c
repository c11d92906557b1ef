/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/judge.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(judge, .timeout = 300);

static pr_rule_t rule_of(const char *text)
{
    pr_rule_t rule;
    pr_error_t error = {0};
    cr_assert_eq(pr_rule_parse(text, &rule, &error), PR_OK, "%s: %s", text, error.text);
    return rule;
}

Test(judge, rules_say_what_success_is)
{
    static const struct {
        const char *rule;
        uint32_t code;
        const char *body;
        bool holds;
        const char *sentence;
    } cases[] = {
        {"default", 200, "SUCCESS", true, "the word"},
        {"", 200, "SUCCESS", true, "no rule is the default"},
        {"default", 200, " \t\r\n\v\fSUCCESS\n", true, "white space around it"},
        {"default", 200, "success", false, "case is exact"},
        {"default", 200, "SUCCESS.", false, "nothing else"},
        {"default", 200, "\"SUCCESS\"", false, "a JSON string is not the word"},
        {"default", 200, "", false, "an empty body"},
        {"default", 200, "OK", false, "OK is a code, not the word"},
        {"default", 201, "SUCCESS", false, "200 only"},
        {"default", 204, "", false, "200 only"},
        {"default", 200, "\xef\xbb\xbfSUCCESS", false, "a byte order mark is no white space"},
        {"default", 200, "\xc2\xa0SUCCESS", false, "neither is a no-break space"},
        {"default", 200, "{\"code\":\"SUCCESS\"}", true, "the code"},
        {"default", 200, " { \"a\":[1] , \"code\" : \"OK\" } \n", true, "among others"},
        {"default", 200, "{\"c\\u006fde\":\"\\u004fK\"}", true, "escapes mean what they mean"},
        {"default", 200, "{\"code\":\"ok\"}", false, "case is exact"},
        {"default", 200, "{\"code\":\" OK\"}", false, "so is space inside"},
        {"default", 200, "{\"Code\":\"OK\"}", false, "and the name"},
        {"default", 200, "{\"code\":200}", false, "a number is no string"},
        {"default", 200, "{\"code\":true}", false, "nor is true"},
        {"default", 200, "{\"code\":\"FAIL\",\"code\":\"OK\"}", false, "two codes are none"},
        {"default", 200, "{\"data\":{\"code\":\"OK\"}}", false, "not a nested one"},
        {"default", 200, "[{\"code\":\"OK\"}]", false, "not in a list"},
        {"default", 200, "{\"code\":\"OK\"", false, "not JSON"},
        {"default", 200, "{\"code\":\"OK\"} x", false, "something after it"},
        {"default", 200, "\xef\xbb\xbf{\"code\":\"OK\"}", false, "a byte order mark"},
        {"default", 500, "{\"code\":\"OK\"}", false, "200 only"},
        {"2xx", 200, "", true, "any 2xx"},
        {"2xx", 299, "FAIL", true, "whatever the body"},
        {"2xx", 199, "", false, "below"},
        {"2xx", 300, "", false, "above"},
        {"body:success", 200, "success\n", true, "their word"},
        {"body:success", 202, "success", true, "any 2xx"},
        {"body:success", 200, "SUCCESS", false, "case is exact"},
        {"body:success", 500, "success", false, "only with 2xx"},
        {"body: a b ", 200, "a b", true, "space around the rule's own text is ignored, too"},
        {"json:code=0", 200, "{\"code\":0}", true, "a number written so"},
        {"json:code=0", 200, "{\"code\":\"0\"}", true, "or a string"},
        {"json:code=0", 200, "{\"code\":0.0}", false, "not written so"},
        {"json:ok=true", 200, "{\"ok\":true}", true, "a truth value"},
        {"json:ok=", 200, "{\"ok\":\"\"}", true, "an empty string"},
        {"json:ok=", 200, "{}", false, "but not nothing"},
        {"json:a.b.c=x=y", 200, "{\"a\":{\"b\":{\"c\":\"x=y\"}}}", true, "a path; = in the value"},
        {"json:a.b.c=x", 200, "{\"a\":{\"b\":[{\"c\":\"x\"}]}}", false, "no way through lists"},
        {"json:a.b=x", 200, "{\"a\":{\"b\":\"x\"},\"a\":{}}", false, "a doubled step is none"},
        {"json:a={}", 200, "{\"a\":{}}", false, "an object is no value"},
        {"json:code=0", 404, "{\"code\":0}", false, "only with 2xx"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_rule_t rule = rule_of(cases[i].rule);
        cr_expect_eq(pr_rule_holds(&rule, cases[i].code, pr_bytes_text(cases[i].body)),
                     cases[i].holds, "%s, %u '%s': %s", cases[i].rule, cases[i].code, cases[i].body,
                     cases[i].sentence);
    }
}

Test(judge, a_whole_body_of_64_kib_is_judged)
{
    static char body[65536];
    pr_rule_t rule = rule_of("default");
    memset(body, ' ', sizeof body);
    memcpy(body + sizeof body - 7, "SUCCESS", 7);
    cr_assert(pr_rule_holds(&rule, 200, pr_bytes(body, sizeof body)));
    body[0] = 'x';
    cr_assert_not(pr_rule_holds(&rule, 200, pr_bytes(body, sizeof body)));
}

Test(judge, refuses_rules_that_mean_nothing)
{
    static const char *const refused[] = {
        "Default", "200",     "3xx",       "body:",     "body:  ",     "json:",
        "json:a",  "json:=x", "json:.a=x", "json:a.=x", "json:a..b=x", "json:a.b.c.d.e.f.g.h.i=x",
        " default"};
    for (size_t i = 0; i < PR_COUNT(refused); i++) {
        pr_rule_t rule = {.kind = PR_RULE_2XX};
        pr_error_t error = {0};
        cr_expect_eq(pr_rule_parse(refused[i], &rule, &error), PR_BAD, "'%s'", refused[i]);
        cr_expect_eq(rule.kind, PR_RULE_2XX, "a refusal changes nothing");
        cr_expect_neq(error.text[0], '\0');
    }
    char text[600] = "body:";
    memset(text + 5, 'x', 255);
    cr_expect_eq(rule_of(text).kind, PR_RULE_BODY, "255 bytes");
    text[260] = 'x';
    pr_rule_t rule;
    cr_expect_eq(pr_rule_parse(text, &rule, NULL), PR_BAD, "256 bytes");
}

Test(judge, classifies_every_way_a_try_can_end)
{
    static const struct {
        pr_transport_t transport;
        uint32_t code;
        bool retry_after;
        const char *body;
        pr_outcome_t outcome;
        const char *error;
    } cases[] = {
        {PR_TRANSPORT_OK, 200, false, "SUCCESS", PR_OUTCOME_DELIVERED, ""},
        {PR_TRANSPORT_OK, 200, true, "SUCCESS", PR_OUTCOME_DELIVERED, ""},
        {PR_TRANSPORT_OK, 200, false, "no", PR_OUTCOME_REFUSED, "body_mismatch"},
        {PR_TRANSPORT_OK, 204, false, "", PR_OUTCOME_REFUSED, "body_mismatch"},
        {PR_TRANSPORT_OK, 301, false, "SUCCESS", PR_OUTCOME_REFUSED, "redirect"},
        {PR_TRANSPORT_OK, 302, true, "", PR_OUTCOME_REFUSED, "redirect"},
        {PR_TRANSPORT_OK, 400, false, "", PR_OUTCOME_REFUSED, "status_4xx"},
        {PR_TRANSPORT_OK, 404, true, "", PR_OUTCOME_REFUSED, "status_4xx"},
        {PR_TRANSPORT_OK, 410, false, "", PR_OUTCOME_GONE, "gone"},
        {PR_TRANSPORT_OK, 410, true, "SUCCESS", PR_OUTCOME_GONE, "gone"},
        {PR_TRANSPORT_OK, 429, false, "", PR_OUTCOME_THROTTLED, "throttled"},
        {PR_TRANSPORT_OK, 429, true, "", PR_OUTCOME_THROTTLED, "throttled"},
        {PR_TRANSPORT_OK, 500, true, "", PR_OUTCOME_REFUSED, "status_5xx"},
        {PR_TRANSPORT_OK, 503, false, "", PR_OUTCOME_REFUSED, "status_5xx"},
        {PR_TRANSPORT_OK, 503, true, "", PR_OUTCOME_THROTTLED, "throttled"},
        {PR_TRANSPORT_OK, 600, false, "", PR_OUTCOME_REFUSED, "status_other"},
        {PR_TRANSPORT_OK, 101, false, "", PR_OUTCOME_REFUSED, "protocol"},
        {PR_TRANSPORT_OK, 0, false, "SUCCESS", PR_OUTCOME_REFUSED, "protocol"},
        {PR_TRANSPORT_TOO_LARGE, 200, false, "SUCCESS", PR_OUTCOME_REFUSED, "body_too_large"},
        {PR_TRANSPORT_TOO_LARGE, 410, false, "", PR_OUTCOME_GONE, "gone"},
        {PR_TRANSPORT_TOTAL_TIMEOUT, 200, false, "SUCCESS", PR_OUTCOME_UNREACHABLE,
         "total_timeout"},
        {PR_TRANSPORT_DNS, 0, false, "", PR_OUTCOME_UNREACHABLE, "dns"},
        {PR_TRANSPORT_CONNECT, 0, false, "", PR_OUTCOME_UNREACHABLE, "connect"},
        {PR_TRANSPORT_CONNECT_TIMEOUT, 0, false, "", PR_OUTCOME_UNREACHABLE, "connect_timeout"},
        {PR_TRANSPORT_TLS, 0, false, "", PR_OUTCOME_UNREACHABLE, "tls"},
        {PR_TRANSPORT_RESET, 200, false, "SUCC", PR_OUTCOME_UNREACHABLE, "reset"},
        {PR_TRANSPORT_PROXY, 0, false, "", PR_OUTCOME_OWN_FAULT, "proxy"},
        {PR_TRANSPORT_FORBIDDEN_ADDRESS, 0, false, "", PR_OUTCOME_OWN_FAULT, "forbidden_address"},
        {PR_TRANSPORT_BAD_CONFIG, 0, false, "", PR_OUTCOME_OWN_FAULT, "bad_config"},
        {PR_TRANSPORT_NONE, 0, false, "", PR_OUTCOME_RETURNED, "not_tried"},
        {(pr_transport_t)99, 200, false, "SUCCESS", PR_OUTCOME_UNREACHABLE, "protocol"},
    };
    pr_rule_t rule = rule_of("default");
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_verdict_t verdict = pr_judge(&rule, cases[i].transport, cases[i].code,
                                        cases[i].retry_after, pr_bytes_text(cases[i].body));
        cr_expect_eq(verdict.outcome, cases[i].outcome, "case %zu: %u", i, cases[i].code);
        cr_expect_str_eq(verdict.error, cases[i].error, "case %zu: %u", i, cases[i].code);
    }
}

Test(judge, of_a_cut_body_only_the_status_counts)
{
    pr_rule_t rule = rule_of("2xx");
    cr_assert_eq(pr_judge(&rule, PR_TRANSPORT_TOO_LARGE, 200, false, pr_bytes_text("x")).outcome,
                 PR_OUTCOME_DELIVERED);
}

/* N20 and N11 together: nothing but a 2xx is ever a delivery, under any rule, transport and body.
 */
Test(judge, only_a_2xx_is_ever_a_delivery)
{
    static const char *const rules[] = {"default", "2xx", "body:SUCCESS", "json:code=OK"};
    static const char *const bodies[] = {"", "SUCCESS", "{\"code\":\"OK\"}"};
    for (size_t r = 0; r < PR_COUNT(rules); r++) {
        pr_rule_t rule = rule_of(rules[r]);
        for (uint32_t code = 0; code < 1000; code++)
            for (int transport = 0; transport < PR_TRANSPORTS; transport++)
                for (size_t b = 0; b < 2 * PR_COUNT(bodies); b++) {
                    pr_verdict_t verdict = pr_judge(&rule, (pr_transport_t)transport, code, b % 2,
                                                    pr_bytes_text(bodies[b / 2]));
                    cr_assert(verdict.outcome > PR_OUTCOME_NONE && verdict.outcome < PR_OUTCOMES);
                    if (verdict.outcome == PR_OUTCOME_DELIVERED)
                        cr_assert(code >= 200 && code <= 299);
                    cr_assert_eq(verdict.error[0] == '\0', verdict.outcome == PR_OUTCOME_DELIVERED,
                                 "a failure has a class");
                    cr_assert_leq(strlen(verdict.error), 64);
                }
    }
}

Test(judge, tells_the_breaker_and_counts_attempts)
{
    static const struct {
        pr_outcome_t outcome;
        pr_for_breaker_t breaker;
        bool attempt;
    } cases[] = {
        {PR_OUTCOME_DELIVERED, PR_FOR_BREAKER_SUCCESS, true},
        {PR_OUTCOME_REFUSED, PR_FOR_BREAKER_FAILURE, true},
        {PR_OUTCOME_THROTTLED, PR_FOR_BREAKER_NEUTRAL, true},
        {PR_OUTCOME_GONE, PR_FOR_BREAKER_FAILURE, true},
        {PR_OUTCOME_UNREACHABLE, PR_FOR_BREAKER_FAILURE, true},
        {PR_OUTCOME_OWN_FAULT, PR_FOR_BREAKER_NEUTRAL, true},
        {PR_OUTCOME_RETURNED, PR_FOR_BREAKER_NEUTRAL, false},
        {PR_OUTCOME_NONE, PR_FOR_BREAKER_NEUTRAL, false},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        cr_expect_eq(pr_outcome_for_breaker(cases[i].outcome), cases[i].breaker, "%s",
                     pr_outcome_name(cases[i].outcome));
        cr_expect_eq(pr_outcome_is_attempt(cases[i].outcome), cases[i].attempt, "%s",
                     pr_outcome_name(cases[i].outcome));
    }
    cr_expect_str_eq(pr_outcome_name(PR_OUTCOME_OWN_FAULT), "own_fault");
    cr_expect_str_eq(pr_outcome_name((pr_outcome_t)99), "?");
}
