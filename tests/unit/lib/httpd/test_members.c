/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries, and doors that know their members themselves; what a table allows in a body is tested by
 * tests/unit/actors/ingress/test_door_arguments.c.
 */
#include "base/alloc.h"
#include "httpd/members.h"

#include <criterion/criterion.h>

static const pr_member_t table[] = {
    {"text", PR_MEMBER_TEXT, false},     {"count", PR_MEMBER_INTEGER, false},
    {"yes", PR_MEMBER_BOOL, false},      {"list", PR_MEMBER_LIST, false},
    {"object", PR_MEMBER_OBJECT, false}, {NULL, PR_MEMBER_TEXT, false}};

static const struct {
    const char *query, *body;
    bool any;         /* no table */
    const char *code; /* "" = good */
    const char *out;
} cases[] = {
    {"", "", false, "", "{\"id\":\"p/1\"}"},
    {"text=a+b%2Bc&count=-5&yes=true&list=a,b", "", false, "",
     "{\"id\":\"p/1\",\"text\":\"a b+c\",\"count\":-5,\"yes\":true,\"list\":[\"a\",\"b\"]}"},
    {"text=", "", false, "", "{\"id\":\"p/1\"}"},
    {"text", "", false, "", "{\"id\":\"p/1\"}"},
    {"&&", "", false, "", "{\"id\":\"p/1\"}"},
    {"text=\"\\", "", false, "", "{\"id\":\"p/1\",\"text\":\"\\\"\\\\\"}"},
    {"count=1.5", "", false, "invalid_member", ""},
    {"count=1,\"x\":2", "", false, "invalid_member", ""},
    {"yes=1", "", false, "invalid_member", ""},
    {"object=%7B%7D", "", false, "invalid_member", ""},
    {"text=1&text=2", "", false, "member_twice", ""},
    {"id=2", "", false, "unknown_member", ""},
    {"other=1", "", false, "unknown_member", ""},
    {"text=%zz", "", false, "malformed_query", ""},
    {"text=%00", "", false, "malformed_query", ""},
    {"text=%ff", "", false, "malformed_query", ""},
    {"a=1&b=x%20y", "", true, "", "{\"id\":\"p/1\",\"a\":\"1\",\"b\":\"x y\"}"},
    {"a%22%3A1=1", "", true, "", "{\"id\":\"p/1\",\"a\\\":1\":\"1\"}"},
    {"id=2", "", true, "unknown_member", ""},
    {"", "{\"a\": [1.10], \"b\": null}", true, "", "{\"id\":\"p/1\",\"a\":[1.10],\"b\":null}"},
    {"", "{\"i\\u0064\": \"2\"}", true, "unknown_member", ""},
    {"", "[]", true, "not_an_object", ""},
    {"", "{", true, "malformed_json", ""},
};

Test(members, of_each_request)
{
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_members_t result;
        pr_buffer_t out;
        pr_buffer_init(&out, 1024);
        pr_members_request_t request = {.members = cases[i].any ? NULL : table,
                                        .query = pr_bytes_text(cases[i].query),
                                        .body = pr_bytes_text(cases[i].body),
                                        .names = {"id"},
                                        .values = {"p/1"}};
        pr_rc_t rc = pr_members_read(&request, &out, &result);
        cr_expect_str_eq(result.code, cases[i].code, "%s %s", cases[i].query, cases[i].body);
        cr_expect_eq(rc == PR_OK, cases[i].code[0] == '\0', "%s", cases[i].query);
        if (rc == PR_OK)
            cr_expect_str_eq(pr_buffer_text(&out), cases[i].out);
        pr_buffer_free(&out);
    }
}
