/* SPDX-License-Identifier: Apache-2.0
 *
 * The judge's own signature check, against published and independently computed vectors:
 * Standard Webhooks' vector (libraries/go/webhook_test.go), and values made with Python's hmac, hashlib.
 */
#include "base/alloc.h"
#include "sandbox/check.h"
#include "sandbox/check_form.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(check, .timeout = 300);

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define OTHER "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
#define ID "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define AT "1614265330"
#define BODY "{\"test\": 2432232314}"
#define V1 "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static pr_signature_t judge(const char *headers, const char *body, char *const *secrets,
                            int64_t wall_s)
{
    char text[4096];
    snprintf(text, sizeof(text), "POST /m/a HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s", headers,
             strlen(body), body);
    pr_request_t request = {0};
    cr_assert_eq(pr_request_parse(&request, (const uint8_t *)text, strlen(text), 4096),
                 PR_REQUEST_READY);
    return pr_check_signatures(&request, (const uint8_t *)text, secrets, 4, wall_s);
}

#define WEBHOOK(id, at, signature) \
    "webhook-id: " id "\r\nwebhook-timestamp: " at "\r\nwebhook-signature: " signature "\r\n"
#define PLAIN(id, at, signature) \
    "X-Notify-ID: " id "\r\nX-Timestamp: " at "\r\nX-Signature: " signature "\r\n"
#define HEX "08a23b26433e366ed85c4994539da3ff8b8fe402dc92589a41a1b3e82fd833a6"

Test(check, judges_headers)
{
    static const struct {
        const char *why, *headers, *body, *secret;
        int64_t wall_s;
        pr_signature_t want;
    } cases[] = {
        {"the published vector", WEBHOOK(ID, AT, V1), BODY, SECRET, 1614265330, PR_SIGNATURE_OK},
        {"one of two is enough", WEBHOOK(ID, AT, "v1,AAAA v2,x " V1), BODY, SECRET, 1614265330,
         PR_SIGNATURE_OK},
        {"300 s old", WEBHOOK(ID, AT, V1), BODY, SECRET, 1614265630, PR_SIGNATURE_OK},
        {"301 s old", WEBHOOK(ID, AT, V1), BODY, SECRET, 1614265631, PR_SIGNATURE_BAD},
        {"from the future", WEBHOOK(ID, AT, V1), BODY, SECRET, 1614265029, PR_SIGNATURE_BAD},
        {"another body", WEBHOOK(ID, AT, V1), BODY " ", SECRET, 1614265330, PR_SIGNATURE_BAD},
        {"another id", WEBHOOK("x", AT, V1), BODY, SECRET, 1614265330, PR_SIGNATURE_BAD},
        {"another secret", WEBHOOK(ID, AT, V1), BODY, OTHER, 1614265330, PR_SIGNATURE_BAD},
        {"a version nobody knows", WEBHOOK(ID, AT, "v9,g0hM"), BODY, SECRET, 1614265330,
         PR_SIGNATURE_BAD},
        {"X-Signature", PLAIN(ID, AT, HEX), BODY, SECRET, 1614265330, PR_SIGNATURE_OK},
        {"X-Signature as the next one", "X-Signature-Next: " HEX "\r\n" PLAIN(ID, AT, "00"), BODY,
         SECRET, 1614265330, PR_SIGNATURE_OK},
        {"X-Signature, a digit off", PLAIN(ID, AT, "0" HEX), BODY, SECRET, 1614265330,
         PR_SIGNATURE_BAD},
        {"both good", PLAIN(ID, AT, HEX) WEBHOOK(ID, AT, V1), BODY, SECRET, 1614265330,
         PR_SIGNATURE_OK},
        {"one good, one bad", PLAIN(ID, AT, HEX) WEBHOOK(ID, AT, "v1,AAAA"), BODY, SECRET,
         1614265330, PR_SIGNATURE_BAD},
        {"two different ids", PLAIN("other", AT, HEX) WEBHOOK(ID, AT, V1), BODY, SECRET, 1614265330,
         PR_SIGNATURE_BAD},
        {"no signature", "", BODY, SECRET, 1614265330, PR_SIGNATURE_MISSING},
        {"no secret", WEBHOOK(ID, AT, V1), BODY, NULL, 1614265330, PR_SIGNATURE_UNKNOWN},
        {"ed25519",
         WEBHOOK(
             "msg_1", "1700000000",
             "v1a,NOVddvaonwa9xyL5OlsRBZhtv2ZxEHZ6yT+Q214VuvCK+vSa+Cyqg8jJOlz5NQ3VgEM51gkwlnfetz0+btGDAQ=="),
         BODY, "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=", 1700000000, PR_SIGNATURE_OK},
        {"ed25519, another body",
         WEBHOOK(
             "msg_1", "1700000000",
             "v1a,NOVddvaonwa9xyL5OlsRBZhtv2ZxEHZ6yT+Q214VuvCK+vSa+Cyqg8jJOlz5NQ3VgEM51gkwlnfetz0+btGDAQ=="),
         "{}", "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=", 1700000000, PR_SIGNATURE_BAD},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        char *secrets[4] = {(char *)cases[i].secret}; /* only read */
        cr_expect_eq(judge(cases[i].headers, cases[i].body, secrets, cases[i].wall_s),
                     cases[i].want, "%s", cases[i].why);
    }
    char *both[4] = {OTHER, SECRET};
    cr_expect_eq(judge(WEBHOOK(ID, AT, V1), BODY, both, 1614265330), PR_SIGNATURE_OK,
                 "a receiver in the middle of a rotation");
}

Test(check, judges_forms)
{
    static const struct {
        const char *why, *form, *secret;
        pr_signature_t want;
    } cases[] = {
        {"MD5, sorted, empty left out",
         "order_no=A+1&empty=&amount=100&timestamp=1700000000&sign_type=MD5&sign=800949D11F09265B8BD696780192689B",
         "0123456789abcdef", PR_SIGNATURE_OK},
        {"percent-escapes",
         "order_no=A%201&amount=100&timestamp=1700000000&sign_type=MD5&sign=800949D11F09265B8BD696780192689B",
         "0123456789abcdef", PR_SIGNATURE_OK},
        {"another amount",
         "order_no=A+1&amount=101&timestamp=1700000000&sign_type=MD5&sign=800949D11F09265B8BD696780192689B",
         "0123456789abcdef", PR_SIGNATURE_BAD},
        {"HMAC",
         "order_no=A+1&amount=100&timestamp=1700000000&sign_type=HMAC-SHA256&sign=55F49C0B287DCA4E5FC7CE197785BBE39D85F3A184EBAD4FD53AC31B4681B1E8",
         "0123456789abcdef", PR_SIGNATURE_OK},
        {"HMAC, another secret",
         "order_no=A+1&amount=100&timestamp=1700000000&sign_type=HMAC-SHA256&sign=55F49C0B287DCA4E5FC7CE197785BBE39D85F3A184EBAD4FD53AC31B4681B1E8",
         "0123456789abcdeg", PR_SIGNATURE_BAD},
        {"unsigned", "order_no=A+1&amount=100", "0123456789abcdef", PR_SIGNATURE_MISSING},
        {"nothing", "", "0123456789abcdef", PR_SIGNATURE_MISSING},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        int64_t at = 0;
        cr_expect_eq(pr_check_form(pr_bytes_text(cases[i].form), cases[i].secret, &at),
                     cases[i].want, "%s", cases[i].why);
        if (cases[i].want == PR_SIGNATURE_OK) {
            cr_expect_eq(at, 1700000000, "%s", cases[i].why);
        }
    }
}
