/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/json_path.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(json_path, .timeout = 300);

static const char document[] =
    "{\"a\":{\"b\":[{\"c\":1e3},{\"c\":\"two\"}]},\"links\":[{\"rel\":\"self\",\"href\":\"s\"},"
    "{\"rel\":\"approve\",\"href\":\"x\"}],\"twice\":1,\"twice\":2,\"null\":null,"
    "\"deep\":[[[7]]], \"b-c_1\" : 12.10 ,\"escaped\\u005fname\":true}";

Test(json_path, follows_members_elements_and_choices)
{
    static const struct {
        const char *path;
        pr_rc_t rc;
        const char *text;
    } cases[] = {
        {"a.b[0].c", PR_OK, "1e3"},
        {"a.b[1].c", PR_OK, "\"two\""},
        {"links[rel=approve].href", PR_OK, "\"x\""},
        {"deep[0][0][0]", PR_OK, "7"},
        {"b-c_1", PR_OK, "12.10"},
        {"null", PR_OK, "null"},
        {"escaped_name", PR_OK, "true"},
        {"a.b[2].c", PR_LOST, NULL},
        {"a.b.c", PR_LOST, NULL},
        {"a[0]", PR_LOST, NULL},
        {"links[rel=cancel].href", PR_LOST, NULL},
        {"links[missing=self]", PR_LOST, NULL},
        {"null.x", PR_LOST, NULL},
        {"nothing", PR_LOST, NULL},
        {"twice", PR_BAD, NULL},
        {"twice.x", PR_BAD, NULL},
    };
    pr_json_t root;
    cr_assert_eq(pr_json_check(pr_bytes_text(document), &root), PR_OK);
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_json_t value = {0};
        cr_expect(pr_json_path_is_valid(cases[i].path), "%s", cases[i].path);
        cr_expect_eq(pr_json_path_get(root, cases[i].path, &value), cases[i].rc, "%s",
                     cases[i].path);
        cr_expect(cases[i].text ? pr_bytes_equal(value.text, pr_bytes_text(cases[i].text))
                                : value.type == PR_JSON_NONE,
                  "%s", cases[i].path);
    }
    pr_json_t same;
    cr_expect(pr_json_path_get(root, "", &same) == PR_OK && same.text.data == root.text.data);
}

Test(json_path, refuses_malformed_paths)
{
    static const char *const refused[] = {".",
                                          ".a",
                                          "a.",
                                          "a..b",
                                          "a[",
                                          "a[]",
                                          "a[x]",
                                          "a[-1]",
                                          "a[10000]",
                                          "a]",
                                          "a[0",
                                          "a b",
                                          "a[0]b",
                                          "a[=x]",
                                          "a[x=]",
                                          "$.a",
                                          "a[x=y",
                                          "a/b",
                                          "a\n",
                                          "\xe4.a",
                                          "a[1.]",
                                          "a[\"b\"]",
                                          "a.b.c.d.e.f.g.h.i.j.k.l.m"};
    for (size_t i = 0; i < PR_COUNT(refused); i++)
        cr_expect_not(pr_json_path_is_valid(refused[i]), "%s", refused[i]);
    char name[67];
    memset(name, 'n', sizeof name - 1);
    name[65] = '\0';
    cr_expect_not(pr_json_path_is_valid(name), "65 letters");
    name[64] = '\0';
    cr_expect(pr_json_path_is_valid(name), "64 letters");
    cr_expect(pr_json_path_is_valid("a.b.c.d.e.f.g.h.i.j.k.l"), "twelve steps");
}
