/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "sign/seal.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

TestSuite(seal, .timeout = 300);

static const uint8_t nonce[PR_SEAL_NONCE_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static pr_master_key_t key_of(uint8_t id, uint8_t fill)
{
    pr_master_key_t key = {.id = id};
    memset(key.bytes, fill, sizeof key.bytes);
    return key;
}

Test(seal, what_is_sealed_opens_again_for_its_merchant_and_key_only)
{
    pr_master_key_t key = key_of(3, 7), same_id = key_of(3, 8), other_id = key_of(4, 7);
    for (size_t len = 0; len <= PR_SEAL_PLAIN_MAX_BYTES; len = len * 3 + 1) {
        static uint8_t plain[PR_SEAL_PLAIN_MAX_BYTES];
        pr_buffer_t sealed, opened;
        pr_buffer_init(&sealed, 8192);
        pr_buffer_init(&opened, 8192);
        memset(plain, 'p', sizeof plain);
        cr_assert_eq(pr_seal(&key, "m1", pr_bytes(plain, len), nonce, &sealed, NULL), PR_OK);
        cr_assert_eq(sealed.len, len + PR_SEAL_OVERHEAD_BYTES);
        pr_bytes_t bytes = pr_buffer_bytes(&sealed);
        cr_assert_eq(pr_sealed_key_id(bytes), 3);
        cr_assert_eq(pr_unseal(&key, "m2", bytes, &opened, NULL), PR_BAD, "another merchant");
        cr_assert_eq(pr_unseal(&same_id, "m1", bytes, &opened, NULL), PR_BAD, "another key");
        cr_assert_eq(pr_unseal(&other_id, "m1", bytes, &opened, NULL), PR_BAD, "another key id");
        cr_assert_eq(opened.len, 0, "a refusal gives nothing");
        cr_assert_eq(pr_unseal(&key, "m1", bytes, &opened, NULL), PR_OK);
        cr_assert(pr_bytes_equal(pr_buffer_bytes(&opened), pr_bytes(plain, len)));
        pr_buffer_free(&sealed);
        pr_buffer_free(&opened);
    }
}

Test(seal, a_change_of_any_bit_or_length_is_noticed)
{
    pr_master_key_t key = key_of(0, 1);
    pr_buffer_t sealed, opened;
    pr_buffer_init(&sealed, 100);
    pr_buffer_init(&opened, 100);
    cr_assert_eq(pr_seal(&key, "merchant", pr_bytes_text("whsec_secret"), nonce, &sealed, NULL),
                 PR_OK);
    for (size_t bit = 0; bit < sealed.len * 8; bit++) {
        sealed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(pr_unseal(&key, "merchant", pr_buffer_bytes(&sealed), &opened, NULL), PR_BAD,
                     "bit %zu", bit);
        sealed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t len = 0; len < sealed.len; len++)
        cr_assert_eq(pr_unseal(&key, "merchant", pr_bytes(sealed.data, len), &opened, NULL),
                     PR_BAD);
    cr_assert_eq(opened.len, 0);
    pr_buffer_free(&sealed);
    pr_buffer_free(&opened);
}

/* Made once with an independent implementation (python-cryptography's AESGCM over the layout of
 * seal.h). */
Test(seal, the_layout_is_what_the_header_says)
{
    pr_master_key_t key = key_of(5, 0x11);
    pr_buffer_t sealed;
    char hex[200];
    pr_buffer_init(&sealed, 100);
    cr_assert_eq(pr_seal(&key, "m-1", pr_bytes_text("secret"), nonce, &sealed, NULL), PR_OK);
    pr_hex(pr_buffer_bytes(&sealed), hex);
    cr_assert_str_eq(hex,
                     "01050102030405060708090a0b0c8e9a0fdd0f02c2ec4fe55d7828a735e911d30d22e127");
    pr_buffer_free(&sealed);
}

Test(seal, bounds_what_it_takes)
{
    static uint8_t plain[PR_SEAL_PLAIN_MAX_BYTES + 1];
    pr_master_key_t key = key_of(0, 1);
    pr_buffer_t out;
    char merchant[66];
    memset(merchant, 'm', sizeof merchant);
    merchant[65] = '\0';
    pr_buffer_init(&out, 5000);
    cr_assert_eq(pr_seal(&key, "m", pr_bytes(plain, sizeof plain), nonce, &out, NULL), PR_BAD);
    cr_assert_eq(pr_seal(&key, "", pr_bytes(plain, 1), nonce, &out, NULL), PR_BAD);
    cr_assert_eq(pr_seal(&key, merchant, pr_bytes(plain, 1), nonce, &out, NULL), PR_BAD);
    merchant[64] = '\0';
    cr_assert_eq(pr_seal(&key, merchant, pr_bytes(plain, 1), nonce, &out, NULL), PR_OK);
    pr_buffer_free(&out);
    pr_buffer_init(&out, PR_SEAL_OVERHEAD_BYTES);
    cr_assert_eq(pr_seal(&key, "m", pr_bytes(plain, 1), nonce, &out, NULL), PR_BAD, "no room");
    cr_assert_eq(out.len, 0);
    pr_buffer_free(&out);
}

Test(seal, reads_master_keys_in_hex_or_raw)
{
    static const char hex[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F";
    pr_master_key_t key;
    char text[100];
    uint8_t raw[33];
    for (uint8_t i = 0; i < 33; i++)
        raw[i] = i;
    cr_assert_eq(pr_master_key_parse(pr_bytes_text(hex), 9, &key, NULL), PR_OK);
    cr_assert_eq(key.id, 9);
    cr_assert_arr_eq(key.bytes, raw, 32);
    snprintf(text, sizeof text, " %s \n", hex);
    cr_assert_eq(pr_master_key_parse(pr_bytes_text(text), 9, &key, NULL), PR_OK,
                 "white space around");
    cr_assert_eq(pr_master_key_parse(pr_bytes(raw, 32), 9, &key, NULL), PR_OK, "raw bytes");
    cr_assert_arr_eq(key.bytes, raw, 32);
    cr_assert_eq(pr_master_key_parse(pr_bytes(raw, 31), 9, &key, NULL), PR_BAD);
    cr_assert_eq(pr_master_key_parse(pr_bytes(raw, 33), 9, &key, NULL), PR_BAD);
    cr_assert_eq(pr_master_key_parse(pr_bytes(hex, 63), 9, &key, NULL), PR_BAD);
    cr_assert_eq(pr_master_key_parse(pr_bytes(NULL, 0), 9, &key, NULL), PR_BAD);
    text[10] = 'g';
    cr_assert_eq(pr_master_key_parse(pr_bytes_text(text), 9, &key, NULL), PR_BAD);
}
