/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sign/gcm.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(gcm, .timeout = 300);

static void unhex(const char *text, uint8_t *out)
{
    cr_assert(pr_unhex(text, strlen(text), out));
}

/* McGrew and Viega, "The Galois/Counter Mode of Operation", test case 16. */
Test(gcm, agrees_with_the_published_case)
{
    uint8_t key[32], nonce[12], plain[60], associated[20], sealed[76];
    unhex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", key);
    unhex("cafebabefacedbaddecaf888", nonce);
    unhex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
          "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
          plain);
    unhex("feedfacedeadbeeffeedfacedeadbeefabaddad2", associated);
    unhex("522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
          "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
          "76fc6ece0f4e1768cddf8853bb2d551b",
          sealed);
    pr_buffer_t out;
    pr_buffer_init(&out, 1024);
    cr_assert(pr_gcm_seal(key, nonce, pr_bytes(associated, sizeof associated),
                          pr_bytes(plain, sizeof plain), &out));
    cr_expect(pr_bytes_equal(pr_buffer_bytes(&out), pr_bytes(sealed, sizeof sealed)));
    pr_buffer_clear(&out);
    cr_assert(pr_gcm_open(key, nonce, pr_bytes(associated, sizeof associated),
                          pr_bytes(sealed, sizeof sealed), &out));
    cr_expect(pr_bytes_equal(pr_buffer_bytes(&out), pr_bytes(plain, sizeof plain)));
    pr_buffer_free(&out);
}

Test(gcm, one_changed_bit_anywhere_is_noticed)
{
    uint8_t key[32] = {1}, nonce[12] = {2}, sealed[21];
    pr_bytes_t associated = pr_bytes_text("transaction");
    pr_buffer_t out;
    pr_buffer_init(&out, 1024);
    cr_assert(pr_gcm_seal(key, nonce, associated, pr_bytes_text("hello"), &out));
    cr_assert_eq(out.len, sizeof sealed);
    memcpy(sealed, out.data, sizeof sealed);
    pr_buffer_clear(&out);
    for (size_t bit = 0; bit < 8 * sizeof sealed; bit++) {
        sealed[bit / 8] ^= (uint8_t)(1U << bit % 8);
        cr_assert_not(pr_gcm_open(key, nonce, associated, pr_bytes(sealed, sizeof sealed), &out));
        sealed[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    pr_bytes_t whole = pr_bytes(sealed, sizeof sealed);
    cr_expect_not(pr_gcm_open(key, nonce, pr_bytes_text("refund"), whole, &out));
    cr_expect_not(pr_gcm_open(key, nonce, associated, pr_bytes(sealed, 15), &out), "no whole tag");
    cr_expect_eq(out.len, 0, "nothing of it is handed out");
    cr_expect(pr_gcm_open(key, nonce, associated, whole, &out));
    pr_buffer_free(&out);
}

Test(gcm, an_empty_text_has_a_tag_too)
{
    uint8_t key[32] = {1}, nonce[12] = {2};
    pr_buffer_t sealed, out;
    pr_buffer_init(&sealed, 64);
    pr_buffer_init(&out, 64);
    cr_assert(pr_gcm_seal(key, nonce, pr_bytes(NULL, 0), pr_bytes(NULL, 0), &sealed));
    cr_expect_eq(sealed.len, PR_GCM_TAG_BYTES);
    cr_expect(pr_gcm_open(key, nonce, pr_bytes(NULL, 0), pr_buffer_bytes(&sealed), &out));
    pr_buffer_free(&sealed);
    pr_buffer_free(&out);
}
