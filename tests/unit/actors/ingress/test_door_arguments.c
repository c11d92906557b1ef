/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/ingress/door_arguments.h"
#include "base/alloc.h"
#include "base/json_scan.h"

#include <criterion/criterion.h>

#include <string.h>

#define ORDER "\"merchant_id\":\"m\",\"order_no\":\"o\",\"channel\":\"c\",\"currency\":\"CNY\""

static const struct {
    const char *what, *operation, *body;
    const char *code, *member; /* "" = good */
    const char *out, *became;  /* NULL: the same operation */
    int64_t wait_s;
} cases[] = {
    {"all there is", "payment.submit", "{" ORDER ",\"amount\":1,\"options\":{},\"wait_s\":15}", "",
     "", "{" ORDER ",\"amount\":1,\"options\":{}}", NULL, 15},
    {"numbers of a payload keep their digits", "notification",
     "{\"merchant_id\":\"\\u00e9\",\"order_no\":\"o\",\"event\":\"e\",\"payload\":{\"a\":1.10}}",
     "", "",
     "{\"merchant_id\":\"\\u00e9\",\"order_no\":\"o\",\"event\":\"e\",\"payload\":{\"a\":1.10}}",
     NULL, 0},
    {"null is not there", "payment.submit", "{" ORDER ",\"amount\":1,\"request\":null}", "", "",
     "{" ORDER ",\"amount\":1}", NULL, 0},
    {"a payment made elsewhere", "payment.submit",
     "{" ORDER ",\"amount\":1,\"gateway_reference\":\"r\"}", "", "",
     "{" ORDER ",\"amount\":1,\"gateway_reference\":\"r\"}", "payment.track", 0},
    {"an empty body", "notification.resend", "", "", "", "{}", NULL, 0},
    {"a question takes nothing", "payment", "{\"a\":1}", "unknown_member", "", "", NULL, 0},
    {"what must be there is not null", "payment.submit", "{" ORDER ",\"amount\":null}",
     "invalid_member", "amount", "", NULL, 0},
    {"a missing member", "payment.submit", "{" ORDER "}", "missing_member", "amount", "", NULL, 0},
    {"text for a number", "payment.submit", "{" ORDER ",\"amount\":\"1\"}", "invalid_member",
     "amount", "", NULL, 0},
    {"a fraction", "payment.submit", "{" ORDER ",\"amount\":1.0}", "invalid_member", "amount", "",
     NULL, 0},
    {"an exponent", "payment.submit", "{" ORDER ",\"amount\":1e3}", "invalid_member", "amount", "",
     NULL, 0},
    {"beyond any amount", "payment.submit", "{" ORDER ",\"amount\":99999999999999999}",
     "invalid_member", "amount", "", NULL, 0},
    {"waiting too long", "payment.submit", "{" ORDER ",\"amount\":1,\"wait_s\":16}",
     "invalid_member", "wait_s", "", NULL, 0},
    {"waiting backwards", "payment.submit", "{" ORDER ",\"amount\":1,\"wait_s\":-1}",
     "invalid_member", "wait_s", "", NULL, 0},
    {"a list", "payment.submit", "[]", "not_an_object", "", "", NULL, 0},
    {"half an object", "payment.submit", "{", "malformed_json", "", "", NULL, 0},
    {"a name by escapes is the same name", "payment.cancel", "{\"re\\u0061son\":\"x\"}", "", "",
     "{\"reason\":\"x\"}", NULL, 0},
    {"and counts as the second", "payment.cancel", "{\"re\\u0061son\":\"x\",\"reason\":\"y\"}",
     "member_twice", "reason", "", NULL, 0},
};

Test(door_arguments, each_body)
{
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_buffer_t out;
        pr_door_arguments_t result;
        pr_buffer_init(&out, 4096);
        pr_rc_t rc = pr_door_arguments_read(
            &(pr_door_arguments_request_t){.operation = cases[i].operation,
                                           .body = pr_bytes_text(cases[i].body)},
            &out, &result);
        cr_expect_eq(rc, cases[i].code[0] != '\0' ? PR_BAD : PR_OK, "%s", cases[i].what);
        cr_expect_str_eq(result.code, cases[i].code, "%s: %s", cases[i].what, result.code);
        cr_expect_str_eq(result.member, cases[i].member, "%s: %s", cases[i].what, result.member);
        if (rc == PR_OK) {
            const char *became = cases[i].became ? cases[i].became : cases[i].operation;
            cr_expect_str_eq(pr_buffer_text(&out), cases[i].out, "%s", cases[i].what);
            cr_expect_str_eq(result.operation, became, "%s", cases[i].what);
            cr_expect_eq(result.wait_s, cases[i].wait_s, "%s", cases[i].what);
        }
        pr_buffer_free(&out);
    }
}

Test(door_arguments, the_path_speaks_first_and_a_body_cannot_contradict_it)
{
    pr_buffer_t out;
    pr_door_arguments_t result;
    pr_door_arguments_request_t request = {.operation = "payment.refund",
                                           .body =
                                               pr_bytes_text("{\"refund_no\":\"r\",\"amount\":1}"),
                                           .names = {"payment_id"},
                                           .values = {"17\"\n"}};
    pr_buffer_init(&out, 4096);
    cr_assert_eq(pr_door_arguments_read(&request, &out, &result), PR_OK);
    cr_expect_str_eq(pr_buffer_text(&out),
                     "{\"payment_id\":\"17\\\"\\u000a\",\"refund_no\":\"r\",\"amount\":1}");
    pr_buffer_clear(&out);
    request.body = pr_bytes_text("{\"refund_no\":\"r\",\"amount\":1,\"payment_id\":18}");
    cr_expect_eq(pr_door_arguments_read(&request, &out, &result), PR_BAD);
    cr_expect_str_eq(result.code, "unknown_member");
    pr_buffer_free(&out);
}

Test(door_arguments, texts_are_json_whatever_their_bytes)
{
    static const struct {
        pr_bytes_t text;
        const char *out;
    } texts[] = {{{(const uint8_t *)"a\"b\\", 4}, "\"a\\\"b\\\\\""},
                 {{(const uint8_t *)"\xe2\x82\xac", 3}, "\"\xe2\x82\xac\""},
                 {{(const uint8_t *)"\xe9", 1}, "\"\\u00e9\""},
                 {{(const uint8_t *)"a\0b", 3}, "\"a\\ufffdb\""},
                 {{NULL, 0}, "\"\""}};
    for (size_t i = 0; i < PR_COUNT(texts); i++) {
        pr_buffer_t out;
        pr_json_t value;
        pr_buffer_init(&out, 256);
        cr_assert_eq(pr_members_write_text(&out, texts[i].text), PR_OK);
        cr_expect_str_eq(pr_buffer_text(&out), texts[i].out);
        cr_expect_eq(pr_json_check(pr_buffer_bytes(&out), &value), PR_OK);
        pr_buffer_free(&out);
    }
}
