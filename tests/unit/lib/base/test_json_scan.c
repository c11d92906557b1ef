/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/json_scan.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(json_scan, .timeout = 300);

static pr_rc_t check(const char *text, pr_json_t *out)
{
    return pr_json_check(pr_bytes_text(text), out);
}

static pr_json_t must(const char *text)
{
    pr_json_t value;
    cr_assert_eq(check(text, &value), PR_OK, "%s", text);
    return value;
}

Test(json_scan, takes_what_rfc_8259_takes)
{
    static const struct {
        const char *text;
        pr_json_type_t type;
    } cases[] = {
        {"null", PR_JSON_NULL},
        {" true ", PR_JSON_TRUE},
        {"false", PR_JSON_FALSE},
        {"0", PR_JSON_NUMBER},
        {"-0", PR_JSON_NUMBER},
        {"-12.50e+3", PR_JSON_NUMBER},
        {"1E400", PR_JSON_NUMBER},
        {"\"\"", PR_JSON_STRING},
        {"\"\\u0000\"", PR_JSON_STRING},
        {"\"\xf0\x9f\x98\x80\"", PR_JSON_STRING},
        {"[]", PR_JSON_ARRAY},
        {"[1,[2,{}],\"x\"]", PR_JSON_ARRAY},
        {"{}", PR_JSON_OBJECT},
        {"\t{\"a\" : [ ] , \"a\":1}\r\n", PR_JSON_OBJECT},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", PR_JSON_STRING},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_json_t value = {0};
        cr_expect_eq(check(cases[i].text, &value), PR_OK, "%s", cases[i].text);
        cr_expect_eq(value.type, cases[i].type, "%s", cases[i].text);
    }
}

Test(json_scan, refuses_everything_else)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "nothing"},
        {"  ", "only space"},
        {"\xef\xbb\xbf{}", "a byte order mark"},
        {"{} {}", "two values"},
        {"{}x", "something after"},
        {"{\"a\":1,}", "a trailing comma"},
        {"[1,]", "a trailing comma"},
        {"[,1]", "a leading comma"},
        {"[1 2]", "no comma"},
        {"{\"a\" 1}", "no colon"},
        {"{a:1}", "a bare name"},
        {"{1:1}", "a number as a name"},
        {"{\"a\"}", "a name alone"},
        {"['a']", "single quotes"},
        {"[1", "an open array"},
        {"{\"a\":1", "an open object"},
        {"]", "only a bracket"},
        {"[1}", "the wrong bracket"},
        {"{\"a\":1]", "the wrong bracket"},
        {"01", "a leading zero"},
        {"+1", "a plus sign"},
        {"1.", "no digits after the point"},
        {".5", "no digits before the point"},
        {"1e", "no exponent"},
        {"-", "only a sign"},
        {"NaN", "not a number"},
        {"True", "another case"},
        {"nul", "half a word"},
        {"\"a", "an open string"},
        {"\"a\\", "an open escape"},
        {"\"a\\\"", "an escaped end"},
        {"\"\\x41\"", "an unknown escape"},
        {"\"\\u12\"", "half a code point"},
        {"\"\\ud800\"", "half a surrogate pair"},
        {"\"\\udc00\\ud800\"", "a pair the wrong way round"},
        {"\"\\ud800\\u0041\"", "half a pair and a letter"},
        {"\"a\nb\"", "a raw control byte"},
        {"\"\xff\"", "no UTF-8"},
        {"\"\xc0\xaf\"", "an overlong slash"},
        {"\"\xed\xa0\x80\"", "a surrogate as UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "beyond U+10FFFF"},
        {"\"\xe4\xb8\"", "a cut character"},
        {"// c\n1", "a comment"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_json_t value = {.type = PR_JSON_NONE};
        cr_expect_eq(check(cases[i].text, &value), PR_BAD, "%s: %s", cases[i].sentence,
                     cases[i].text);
        cr_expect_eq(value.type, PR_JSON_NONE, "a refusal changes nothing");
    }
}

Test(json_scan, bounds_the_depth)
{
    char text[2 * PR_JSON_DEPTH_MAX + 8];
    pr_json_t value;
    for (size_t depth = PR_JSON_DEPTH_MAX; depth <= PR_JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        text[2 * depth] = '\0';
        cr_expect_eq(check(text, &value), depth <= PR_JSON_DEPTH_MAX ? PR_OK : PR_BAD);
    }
}

Test(json_scan, does_not_recurse_into_an_endless_opening)
{
    static char text[200000];
    pr_json_t value;
    memset(text, '[', sizeof text);
    cr_assert_eq(pr_json_check(pr_bytes(text, sizeof text), &value), PR_BAD);
}

Test(json_scan, walks_members_and_elements_in_order)
{
    pr_json_t object = must(" { \"a\" : 1 , \"b\":[true, \"x\"] , \"c\" : { } } ");
    pr_json_t key, value, element;
    size_t cursor = 0, inner = 0;
    cr_assert(pr_json_next_member(object, &cursor, &key, &value));
    cr_assert(pr_json_is_text(key, "a", 1));
    cr_assert(pr_bytes_equal(value.text, pr_bytes_text("1")));
    cr_assert(pr_json_next_member(object, &cursor, &key, &value));
    cr_assert_eq(value.type, PR_JSON_ARRAY);
    cr_assert(pr_json_next_element(value, &inner, &element));
    cr_assert_eq(element.type, PR_JSON_TRUE);
    cr_assert(pr_json_next_element(value, &inner, &element));
    cr_assert(pr_json_is_text(element, "x", 1));
    cr_assert_not(pr_json_next_element(value, &inner, &element));
    cr_assert(pr_json_next_member(object, &cursor, &key, &value));
    cr_assert_eq(value.type, PR_JSON_OBJECT);
    inner = 0;
    cr_assert_not(pr_json_next_member(value, &inner, &key, &element));
    cr_assert_not(pr_json_next_member(object, &cursor, &key, &value));
    cr_assert_not(pr_json_next_member(object, &cursor, &key, &value), "and stays at the end");
}

Test(json_scan, finds_by_the_decoded_name_and_refuses_to_choose)
{
    pr_json_t object =
        must("{\"c\\u006fde\":\"x\",\"twice\":1,\"twice\":2,\"\":3,\"n\":{\"code\":4}}");
    pr_json_t value = {0};
    cr_assert_eq(pr_json_find(object, "code", 4, &value), PR_OK, "an escaped name is the name");
    cr_assert(pr_json_is_text(value, "x", 1));
    cr_assert_eq(pr_json_find(object, "twice", 5, &value), PR_BAD);
    cr_assert_eq(pr_json_find(object, "Code", 4, &value), PR_LOST, "case counts");
    cr_assert_eq(pr_json_find(object, "cod", 3, &value), PR_LOST);
    cr_assert_eq(pr_json_find(object, "", 0, &value), PR_OK);
    cr_assert_eq(pr_json_find(must("[1]"), "code", 4, &value), PR_LOST, "not an object");
}

Test(json_scan, decodes_strings)
{
    static const struct {
        const char *json, *bytes;
        size_t len;
    } cases[] = {
        {"\"plain\"", "plain", 5},
        {"\"\\u00e9\\u4e2d\\ud83d\\ude00\"", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", 9},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\\/\\\\\\\"\\n\"", "/\\\"\n", 4},
        {"\"\"", "", 0},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_buffer_t out;
        pr_buffer_init(&out, 100);
        pr_json_t value = must(cases[i].json);
        cr_expect_eq(pr_json_decode(value, &out), PR_OK);
        cr_expect(pr_bytes_equal(pr_buffer_bytes(&out), pr_bytes(cases[i].bytes, cases[i].len)),
                  "%s", cases[i].json);
        cr_expect(pr_json_is_text(value, cases[i].bytes, cases[i].len), "%s", cases[i].json);
        cr_expect_not(pr_json_is_text(value, "other", 5), "%s", cases[i].json);
        pr_buffer_free(&out);
    }
}

Test(json_scan, a_decode_beyond_the_maximum_is_refused)
{
    pr_buffer_t out;
    pr_buffer_init(&out, 3);
    cr_assert_eq(pr_json_decode(must("\"abcd\""), &out), PR_BAD);
    cr_assert_eq(pr_json_compact(must("[1,2]"), &out), PR_BAD);
    pr_buffer_free(&out);
}

Test(json_scan, compacts_without_touching_strings_or_numbers)
{
    static const struct {
        const char *json, *compact;
    } cases[] = {
        {" { \"a b\" : [ 1 , 2.50 , \" x \\\" y \" ] , \"c\" : { } } ",
         "{\"a b\":[1,2.50,\" x \\\" y \"],\"c\":{}}"},
        {"[\n]", "[]"},
        {" 1e5 ", "1e5"},
        {"\" \"", "\" \""},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_buffer_t out;
        pr_buffer_init(&out, 100);
        cr_expect_eq(pr_json_compact(must(cases[i].json), &out), PR_OK);
        cr_expect_str_eq(pr_buffer_text(&out), cases[i].compact);
        pr_buffer_free(&out);
    }
}
