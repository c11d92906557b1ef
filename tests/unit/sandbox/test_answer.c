/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sandbox/answer.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(answer, .timeout = 300);

#define SEED 42

static pr_merchant_t *fresh(pr_merchants_t **merchants, const char *spec)
{
    *merchants = pr_merchants_new(4, 1);
    pr_merchant_t *merchant = pr_merchants_get(*merchants, "m", 1);
    pr_error_t error = {0};
    cr_assert_eq(pr_merchant_set_temper(merchant, spec, strlen(spec), &error), PR_OK, "%s: %s",
                 spec, error.text);
    return merchant;
}

/* The first answer of each temper: what is sent, and whether it means success. */
Test(answer, of_each_temper)
{
    static const struct {
        const char *spec;
        pr_answer_how_t how;
        int status;
        bool accepted;
    } cases[] = {
        {"prompt", PR_ANSWER_SEND, 200, true},
        {"slow:1s", PR_ANSWER_SEND, 200, true},
        {"flaky:0", PR_ANSWER_SEND, 200, true},
        {"flaky:1:503", PR_ANSWER_SEND, 503, false},
        {"refuse:404", PR_ANSWER_SEND, 404, false},
        {"hang", PR_ANSWER_HOLD, 0, false},
        {"redirect", PR_ANSWER_SEND, 302, false},
        {"gone", PR_ANSWER_SEND, 410, false},
        {"throttle", PR_ANSWER_SEND, 429, false},
        {"huge", PR_ANSWER_SEND, 200, false},
        {"padded:65529", PR_ANSWER_SEND, 200, true},
        {"padded:65530", PR_ANSWER_SEND, 200, false},
        {"endless", PR_ANSWER_SEND, 200, false},
        {"drip", PR_ANSWER_SEND, 200, true},
        {"garbage", PR_ANSWER_RAW, 0, false},
        {"reset", PR_ANSWER_RESET, 0, false},
        {"close", PR_ANSWER_CLOSE, 0, false},
        {"truncated", PR_ANSWER_SEND, 200, false},
        {"recover:1s", PR_ANSWER_SEND, 500, false},
        {"flip", PR_ANSWER_SEND, 500, false},
        {"fail-first:1", PR_ANSWER_SEND, 500, false},
        {"leave", PR_ANSWER_SEND, 200, true},
        {"interim", PR_ANSWER_SEND, 200, true},
        {"answer:200: SUCCESS ", PR_ANSWER_SEND, 200, true},
        {"answer:200:success", PR_ANSWER_SEND, 200, false},
        {"answer:201:SUCCESS", PR_ANSWER_SEND, 201, false},
        {"raw:x", PR_ANSWER_RAW, 0, false},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_merchants_t *merchants;
        pr_merchant_t *merchant = fresh(&merchants, cases[i].spec);
        const pr_notify_id_t id = {{1}};
        pr_answer_t answer = pr_answer_decide(merchant, &id, 1, SEED, 1000);
        cr_expect_eq(answer.how, cases[i].how, "%s", cases[i].spec);
        cr_expect_eq(answer.status, cases[i].status, "%s", cases[i].spec);
        cr_expect_eq(answer.accepted, cases[i].accepted, "%s", cases[i].spec);
        cr_expect(answer.status != 0 || answer.what, "%s has nothing for the journal",
                  cases[i].spec);
        pr_merchants_destroy(&merchants);
    }
}

Test(answer, throttle_closes_then_lets_a_few_in_and_blames_who_comes_early)
{
    static const struct {
        int64_t at_ms;
        int status;
        int64_t retry_after_ms;
        bool early;
        const char *why;
    } steps[] = {
        {1000, 429, 2000, false, "the first is told to come back"},
        {1200, 429, 1800, false, "already on its way"},
        {1300, 429, 1700, true, "too early"},
        {2999, 429, 1, true, "a millisecond too early"},
        {3000, 200, 0, false, "on time"},
        {3001, 200, 0, false, "the burst is two"},
        {3002, 429, 2000, false, "closed again, nobody to blame"},
        {9000, 200, 0, false, "open for whoever comes next"},
    };
    pr_merchants_t *merchants;
    pr_merchant_t *merchant = fresh(&merchants, "throttle:429:2s:2");
    for (size_t i = 0; i < PR_COUNT(steps); i++) {
        const pr_notify_id_t id = {{1}};
        pr_answer_t answer = pr_answer_decide(merchant, &id, 1, SEED, steps[i].at_ms);
        cr_expect_eq(answer.status, steps[i].status, "%s", steps[i].why);
        cr_expect_eq(answer.retry_after_ms, steps[i].retry_after_ms, "%s", steps[i].why);
        cr_expect_eq(answer.early, steps[i].early, "%s", steps[i].why);
    }
    pr_merchants_destroy(&merchants);
}

Test(answer, tempers_with_a_memory)
{
    static const struct {
        const char *spec, *statuses; /* of tries 1.. at 1000, 1500, 2000 ... ms: g good, b bad */
    } cases[] = {
        {"recover:1s", "bbgg"},
        {"flip:2:1", "bbgbbg"},
        {"flip:0:0", "ggg"},
        {"fail-first:2", "bbgg"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_merchants_t *merchants;
        pr_merchant_t *merchant = fresh(&merchants, cases[i].spec);
        for (uint32_t try = 1; cases[i].statuses[try - 1]; try++) {
            const pr_notify_id_t id = {{1}};
            int64_t now_ms = 500 + 500 * (int64_t)try;
            pr_answer_t answer = pr_answer_decide(merchant, &id, try, SEED, now_ms);
            cr_expect_eq(answer.status, cases[i].statuses[try - 1] == 'g' ? 200 : 500, "%s, try %u",
                         cases[i].spec, try);
        }
        pr_merchants_destroy(&merchants);
    }
}

Test(answer, flaky_fails_its_share_and_the_same_ones_again)
{
    pr_merchants_t *merchants;
    pr_merchant_t *merchant = fresh(&merchants, "flaky:0.3");
    uint32_t failed = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        pr_notify_id_t id = {{0}};
        memcpy(id.bytes, &i, sizeof(i));
        pr_answer_t once = pr_answer_decide(merchant, &id, 1, SEED, 0);
        pr_answer_t again = pr_answer_decide(merchant, &id, 1, SEED, 5);
        cr_assert_eq(once.status, again.status);
        failed += once.status != 200;
    }
    cr_expect(failed > 5700 && failed < 6300, "%u of 20000", failed); /* 6000 +- 4.6 sigma */
    pr_merchants_destroy(&merchants);
}

Test(answer, renders_head_and_body)
{
    static const struct {
        const char *spec, *want;
    } cases[] = {
        {"prompt",
         "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nSUCCESS"},
        {"padded:3", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\n"},
        {"truncated", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                      "Content-Length: 100\r\n\r\nSUCCESS"},
        {"endless", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n"},
        {"answer:204:x", "HTTP/1.1 204 Status\r\nContent-Type: text/plain\r\n\r\n"},
        {"throttle:429:90s", "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\n"
                             "Retry-After: 90\r\nContent-Length: 4\r\n\r\nFAIL"},
        {"throttle:503:1s:1:date",
         "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
         "Retry-After: Sun, 09 Sep 2001 01:46:42 GMT\r\n"
         "Content-Length: 4\r\n\r\nFAIL"},
        {"redirect:301:/x", "HTTP/1.1 301 Status\r\nContent-Type: text/plain\r\nLocation: /x\r\n"
                            "Content-Length: 4\r\n\r\nFAIL"},
        {"raw:a%0ab", "a\nb"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_merchants_t *merchants;
        pr_merchant_t *merchant = fresh(&merchants, cases[i].spec);
        const pr_notify_id_t id = {{1}};
        pr_answer_t answer = pr_answer_decide(merchant, &id, 1, SEED, 1);
        pr_buffer_t out;
        pr_buffer_init(&out, 4096);
        cr_assert_eq(pr_answer_render(&answer, false, 1000000000, &out), PR_OK);
        cr_expect_str_eq(pr_buffer_text(&out), cases[i].want, "%s: %s", cases[i].spec,
                         pr_buffer_text(&out));
        pr_buffer_free(&out);
        pr_merchants_destroy(&merchants);
    }
}
