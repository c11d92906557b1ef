/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys are made in the test by libcrypto; what the openssl command makes and takes is compared in
 * tests/integration/gateways.
 */
#include "base/alloc.h"
#include "sign/rsa.h"
#include "tests/support/rsa_keys.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(rsa, .timeout = 300);

static pr_rsa_key_t *must(const char *pem)
{
    pr_rsa_key_t *key = NULL;
    pr_error_t error = {0};
    cr_assert_eq(pr_rsa_key_parse(pr_bytes_text(pem), &key, &error), PR_OK, "%s", error.text);
    return key;
}

Test(rsa, signs_with_the_private_half_and_verifies_with_either)
{
    static rsa_pem_t pem, others;
    rsa_pem_make(&pem, 2048);
    rsa_pem_make(&others, 2048);
    pr_rsa_key_t *private = must(pem.private_key), *public = must(pem.public_key),
                 *certificate = must(pem.certificate), *other = must(others.public_key);
    uint8_t signature[PR_RSA_SIGNATURE_MAX_BYTES];
    size_t len;
    pr_bytes_t message = pr_bytes_text("1554208460\nnonce\n{}\n");
    cr_assert(pr_rsa_sha256_sign(private, message, signature, &len));
    cr_expect_eq(len, 256);
    pr_bytes_t made = pr_bytes(signature, len);
    cr_expect(pr_rsa_sha256_verify(public, message, made));
    cr_expect(pr_rsa_sha256_verify(private, message, made));
    cr_expect(pr_rsa_sha256_verify(certificate, message, made));
    cr_expect_not(pr_rsa_sha256_verify(other, message, made), "another key");
    cr_expect_not(pr_rsa_sha256_verify(public, pr_bytes_text("1554208460\nnonce\n{ }\n"), made));
    cr_expect_not(pr_rsa_sha256_verify(public, message, pr_bytes(signature, len - 1)));
    cr_expect_not(pr_rsa_sha256_verify(public, message, pr_bytes(NULL, 0)));
    signature[0] ^= 1;
    cr_expect_not(pr_rsa_sha256_verify(public, message, made));
    cr_expect_not(pr_rsa_sha256_sign(public, message, signature, &len), "no private half");
    cr_expect(pr_rsa_key_is_private(private) && !pr_rsa_key_is_private(certificate));
    pr_rsa_key_destroy(&private);
    pr_rsa_key_destroy(&public);
    pr_rsa_key_destroy(&certificate);
    pr_rsa_key_destroy(&other);
}

Test(rsa, refuses_what_is_no_usable_key_and_does_not_repeat_it)
{
    static rsa_pem_t pem, small;
    static char padded[PR_RSA_PEM_MAX_BYTES + 1];
    rsa_pem_make(&pem, 2048);
    rsa_pem_make(&small, 1024);
    PR_CLEANUP_FREE char *cut = pr_strndup(pem.private_key, 200);
    PR_CLEANUP_FREE char *ec = rsa_pem_of_ec();
    PR_CLEANUP_FREE char *locked = rsa_pem_encrypted(pem.private_key);
    memset(padded, ' ', sizeof padded - 1);
    const char *const refused[] = {
        "",     "secret words",
        cut,    ec,
        locked, small.private_key,
        padded, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"};
    for (size_t i = 0; i < PR_COUNT(refused); i++) {
        pr_rsa_key_t *key = (pr_rsa_key_t *)(uintptr_t)1;
        pr_error_t error = {0};
        cr_expect_eq(pr_rsa_key_parse(pr_bytes_text(refused[i]), &key, &error), PR_BAD, "%zu", i);
        cr_expect_null(key);
        cr_expect(error.text[0] && !strstr(error.text, "secret"), "%zu: %s", i, error.text);
    }
}
