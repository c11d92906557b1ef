/* SPDX-License-Identifier: Apache-2.0
 *
 * The vector was made with the openssl command:
 *   printf 'POST\n/v1/payments?a=b\n1700000000\nnonce-nonce-0001\n%s' $(printf '{}' | sha256sum | cut
 *   -c1-64) | openssl dgst -sha256 -hmac key
 */
#include "base/alloc.h"
#include "httpd/problem.h"
#include "httpd/signed.h"

#include <criterion/criterion.h>

#include <string.h>

#define GOOD "990765e0713e0f31c5eef411642fd5452ede1921c8c73e22458c35a99b05dd63"
#define NOW 1700000000

static pr_signed_request_t good(void)
{
    return (pr_signed_request_t){.method = "POST",
                                 .target = "/v1/payments?a=b",
                                 .timestamp = "1700000000",
                                 .nonce = "nonce-nonce-0001",
                                 .signature = GOOD,
                                 .body = pr_bytes_text("{}")};
}

static const char *check(const pr_signed_request_t *request, int64_t now_s)
{
    const char *flaw = pr_signed_request_check(request, pr_bytes_text("key"), now_s);
    return flaw ? flaw : "";
}

Test(signed, agrees_with_openssl)
{
    pr_signed_request_t request = good();
    char made[PR_SIGNED_HEX_BYTES];
    cr_expect_str_eq(check(&request, NOW), "");
    cr_assert(pr_signed_request_make(&request, pr_bytes_text("key"), made));
    cr_expect_str_eq(made, GOOD);
}

Test(signed, every_part_is_covered)
{
    pr_signed_request_t changed[6];
    for (size_t i = 0; i < PR_COUNT(changed); i++)
        changed[i] = good();
    changed[0].method = "PUT";
    changed[1].target = "/v1/payments?a=c";
    changed[2].timestamp = "1700000001";
    changed[3].nonce = "nonce-nonce-0002";
    changed[4].body = pr_bytes_text("{ }");
    changed[5].signature = "00" GOOD;
    for (size_t i = 0; i < PR_COUNT(changed); i++)
        cr_expect_str_eq(check(&changed[i], NOW), "signature_wrong", "%zu", i);
    pr_signed_request_t request = good();
    const char *flaw = pr_signed_request_check(&request, pr_bytes_text("yek"), NOW);
    cr_expect_str_eq(flaw ? flaw : "", "signature_wrong");
}

Test(signed, the_window_is_300_seconds_either_way)
{
    pr_signed_request_t request = good();
    cr_expect_str_eq(check(&request, NOW + 300), "");
    cr_expect_str_eq(check(&request, NOW - 300), "");
    cr_expect_str_eq(check(&request, NOW + 301), "signature_stale");
    cr_expect_str_eq(check(&request, NOW - 301), "signature_stale");
}

Test(signed, what_is_missing_or_malformed_is_told_apart)
{
    static const char *const bad_times[] = {"", "-1", "1e9", "1700000000 ", "1234567890123"};
    static const char *const bad_nonces[] = {"", "short", "nonce nonce 0001",
                                             "nonce-nonce-0001\xff"};
    pr_signed_request_t request = good();
    request.nonce = NULL;
    cr_expect_str_eq(check(&request, NOW), "signature_missing");
    for (size_t i = 0; i < PR_COUNT(bad_times); i++) {
        request = good();
        request.timestamp = bad_times[i];
        cr_expect_str_eq(check(&request, NOW), "signature_malformed", "%s", bad_times[i]);
    }
    for (size_t i = 0; i < PR_COUNT(bad_nonces); i++) {
        request = good();
        request.nonce = bad_nonces[i];
        cr_expect_str_eq(check(&request, NOW), "signature_malformed", "%s", bad_nonces[i]);
    }
}

Test(problem, is_json_whatever_the_detail)
{
    pr_buffer_t out;
    pr_buffer_init(&out, 1024);
    cr_assert_eq(pr_problem_write(404, "not_found", "a\"b\\c\n\xe2\x82\xac", &out), PR_OK);
    cr_expect_str_eq(pr_buffer_text(&out),
                     "{\"title\":\"Not Found\",\"status\":404,\"code\":\"not_found\","
                     "\"detail\":\"a\\\"b\\\\c\\u000a\xe2\x82\xac\"}");
    pr_buffer_clear(&out);
    cr_assert_eq(pr_problem_write(400, "x", "\xff", &out), PR_OK);
    cr_expect(strstr(pr_buffer_text(&out), "\"detail\":\"?\"") != NULL);
    pr_buffer_free(&out);
}
