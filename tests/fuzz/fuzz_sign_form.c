/* SPDX-License-Identifier: Apache-2.0
 *
 * Form signatures: a body that can be signed verifies, under its own secret only, and stops to
 * verify when a byte changes its meaning. Any bytes as a form never verify without the secret, and
 * what is read from a form is written back the same.
 */
#include "sign/form.h"
#include "sign/sign.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static pr_secret_t secret_of(const char *text)
{
    pr_secret_t secret;
    FUZZ_CHECK(pr_secret_parse(pr_bytes_text(text), &secret, NULL) == PR_OK);
    return secret;
}

static void check_signing(pr_bytes_t body, pr_scheme_t scheme)
{
    pr_secret_t secret = secret_of("0123456789abcdef"), other = secret_of("0123456789abcdeF");
    pr_sign_request_t request = {.scheme = scheme,
                                 .notify_id = "n-1",
                                 .timestamp_s = 1795000000,
                                 .body = body,
                                 .secret = &secret};
    pr_signed_t out;
    pr_signed_init(&out);
    if (pr_sign(&request, &out, NULL) == PR_OK) {
        pr_bytes_t form = pr_buffer_bytes(&out.body);
        FUZZ_CHECK(pr_verify_form(scheme, &secret, form));
        FUZZ_CHECK(!pr_verify_form(scheme, &other, form));
        FUZZ_CHECK(pr_buffer_append_text(&out.body, "0") != PR_OK ||
                   !pr_verify_form(scheme, &secret, pr_buffer_bytes(&out.body)));
    } else {
        FUZZ_CHECK(out.body.len == 0 && out.count == 0);
    }
    pr_signed_free(&out);
}

static void check_reading(pr_bytes_t body)
{
    pr_secret_t secret = secret_of("0123456789abcdef");
    pr_form_t form, back;
    pr_buffer_t once, twice;
    FUZZ_CHECK(!pr_verify_form(PR_SCHEME_FORM_HMAC, &secret, body));
    pr_form_init(&form, PR_SIGN_FORM_MAX_BYTES);
    pr_form_init(&back, PR_SIGN_FORM_MAX_BYTES);
    pr_buffer_init(&once, 3 * body.len + 1);
    pr_buffer_init(&twice, 3 * body.len + 1);
    if (pr_form_read_urlencoded(&form, body) == PR_OK) {
        FUZZ_CHECK(pr_form_urlencode(&form, &once) == PR_OK);
        FUZZ_CHECK(pr_form_read_urlencoded(&back, pr_buffer_bytes(&once)) == PR_OK);
        FUZZ_CHECK(pr_form_urlencode(&back, &twice) == PR_OK && back.count == form.count);
        FUZZ_CHECK(pr_bytes_equal(pr_buffer_bytes(&once), pr_buffer_bytes(&twice)));
    }
    pr_buffer_free(&once);
    pr_buffer_free(&twice);
    pr_form_free(&form);
    pr_form_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pr_bytes_t body = pr_bytes(data, size);
    check_signing(body, PR_SCHEME_FORM_MD5);
    check_signing(body, PR_SCHEME_FORM_HMAC);
    check_reading(body);
    return 0;
}
