/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/notifier/secrets.h"
#include "base/alloc.h"
#include "sign/seal.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char key_file[64];

static void write_key(const char *text)
{
    snprintf(key_file, sizeof(key_file), "/tmp/pr-test-key-XXXXXX");
    int fd = mkstemp(key_file);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

#define KEY_TEXT "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"

static pr_secrets_t *fresh(void)
{
    pr_secrets_t *self = NULL;
    pr_error_t error;
    write_key(KEY_TEXT);
    cr_assert_eq(pr_secrets_new(key_file, 1, &self, &error), PR_OK, "%s", error.text);
    unlink(key_file);
    return self;
}

/* Seals `text` for the merchant, as the CLI does. */
static void seal(const char *merchant, const char *text, uint32_t nonce, pr_buffer_t *out)
{
    pr_master_key_t key;
    uint8_t bytes[PR_SEAL_NONCE_BYTES] = {0};
    memcpy(bytes, &nonce, sizeof(nonce));
    cr_assert_eq(pr_master_key_parse(pr_bytes_text(KEY_TEXT), 1, &key, NULL), PR_OK);
    pr_buffer_init(out, 8192);
    cr_assert_eq(pr_seal(&key, merchant, pr_bytes_text(text), bytes, out, NULL), PR_OK);
}

TestSuite(secrets, .timeout = 300);

Test(secrets, a_key_file_is_needed)
{
    pr_secrets_t *self = NULL;
    pr_error_t error;
    cr_expect_eq(pr_secrets_new("", 1, &self, &error), PR_BAD);
    cr_expect(strstr(error.text, "master_key_file") != NULL);
    cr_expect_eq(pr_secrets_new("/nowhere/key", 1, &self, &error), PR_BAD);
    write_key("too short");
    cr_expect_eq(pr_secrets_new(key_file, 1, &self, &error), PR_BAD);
    unlink(key_file);
    cr_expect_null(self);
}

Test(secrets, what_was_sealed_is_opened_for_its_merchant_only)
{
    pr_secrets_t *self = fresh();
    pr_buffer_t sealed;
    seal("m1", "a-secret-of-some-length", 1, &sealed);
    const pr_secret_t *secret = NULL;
    pr_error_t error;
    for (int i = 0; i < 2; i++) { /* opened, then from the cache */
        cr_assert_eq(pr_secrets_open(self, "m1", pr_buffer_bytes(&sealed), &secret, &error), PR_OK);
        cr_expect_str_eq(secret->text, "a-secret-of-some-length");
    }
    cr_expect_eq(pr_secrets_open(self, "m2", pr_buffer_bytes(&sealed), &secret, &error), PR_BAD);
    sealed.data[sealed.len - 1] ^= 1;
    cr_expect_eq(pr_secrets_open(self, "m1", pr_buffer_bytes(&sealed), &secret, &error), PR_BAD);
    cr_expect_eq(pr_secrets_open(self, "m1", pr_bytes(NULL, 0), &secret, &error), PR_BAD);
    cr_expect_eq(pr_secrets_open(self, "m1", pr_bytes_text("x"), &secret, &error), PR_BAD);
    cr_expect_null(strstr(error.text, "a-secret"), "errors never tell");
    pr_buffer_free(&sealed);
    pr_secrets_destroy(&self);
    cr_expect_null(self);
}

/* More secrets than the cache holds: the one given before the last stays readable, because both
 * sign one request. */
Test(secrets, the_cache_is_bounded_and_the_last_two_live)
{
    pr_secrets_t *self = fresh();
    const pr_secret_t *before = NULL;
    char want[64] = "";
    for (uint32_t i = 0; i < 9000; i++) {
        pr_buffer_t sealed;
        char text[64];
        snprintf(text, sizeof(text), "secret-number-%08u", i);
        seal("m1", text, i, &sealed);
        const pr_secret_t *secret = NULL;
        cr_assert_eq(pr_secrets_open(self, "m1", pr_buffer_bytes(&sealed), &secret, NULL), PR_OK);
        cr_assert_str_eq(secret->text, text);
        if (before != NULL)
            cr_assert_str_eq(before->text, want);
        before = secret;
        memcpy(want, text, sizeof(want));
        pr_buffer_free(&sealed);
    }
    pr_secrets_destroy(&self);
}
