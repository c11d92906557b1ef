/* SPDX-License-Identifier: Apache-2.0
 *
 * Published vectors: RFC 4231 (HMAC-SHA256), RFC 1321 (MD5), RFC 8032 (ed25519).
 */
#include "base/alloc.h"
#include "sign/digest.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(digest, .timeout = 300);

static size_t from_hex(const char *hex, uint8_t *out)
{
    cr_assert(pr_unhex(hex, strlen(hex), out));
    return strlen(hex) / 2;
}

Test(digest, hmac_agrees_with_rfc_4231)
{
    static const struct {
        const char *key, *data, *mac;
    } cases[] = {
        {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {"0102030405060708090a0b0c0d0e0f10111213141516171819",
         "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
         "cdcdcdcd",
         "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        uint8_t key[64], data[64], wanted[32], mac[32];
        size_t key_len = from_hex(cases[i].key, key), len = from_hex(cases[i].data, data);
        from_hex(cases[i].mac, wanted);
        const pr_bytes_t whole = pr_bytes(data, len);
        const pr_bytes_t parts[] = {pr_bytes(data, 3), pr_bytes(NULL, 0),
                                    pr_bytes(data + 3, len - 3)};
        cr_assert(pr_hmac_sha256(pr_bytes(key, key_len), &whole, 1, mac));
        cr_expect_arr_eq(mac, wanted, 32, "case %zu", i);
        cr_assert(pr_hmac_sha256(pr_bytes(key, key_len), parts, 3, mac));
        cr_expect_arr_eq(mac, wanted, 32, "case %zu in parts", i);
    }
}

Test(digest, hmac_takes_long_keys_and_an_empty_one)
{
    uint8_t key[131], mac[32], wanted[32], other[32];
    memset(key, 0xaa, sizeof key);
    const pr_bytes_t data = pr_bytes_text("Test Using Larger Than Block-Size Key - Hash Key First");
    from_hex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", wanted);
    cr_assert(pr_hmac_sha256(pr_bytes(key, sizeof key), &data, 1, mac));
    cr_assert_arr_eq(mac, wanted, 32, "RFC 4231 case 6");
    /* the key of the call before must not be used again for an empty one */
    from_hex("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad", wanted);
    cr_assert(pr_hmac_sha256(pr_bytes(NULL, 0), NULL, 0, other));
    cr_assert_arr_eq(other, wanted, 32, "HMAC-SHA256 of nothing with nothing");
}

Test(digest, md5_agrees_with_rfc_1321)
{
    uint8_t digest[16], wanted[16];
    cr_assert(pr_md5(pr_bytes_text("message digest"), digest));
    from_hex("f96b697d7cb7938d525a2f31aaf161d0", wanted);
    cr_assert_arr_eq(digest, wanted, 16);
}

Test(digest, ed25519_agrees_with_rfc_8032)
{
    static const struct {
        const char *seed, *public_key, *message, *signature;
    } cases[] = {
        {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
         "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
         "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9"
         "b46bd25bf5f0595bbe24655141438e7a100b"},
        {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
         "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
         "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f1"
         "1d8c387b2eaeb4302aeeb00d291612bb0c00"},
        {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
         "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
         "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984d"
         "c6594a7c15e9716ed28dc027beceea1ec40a"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        uint8_t seed[32], wanted_key[32], key[32], message[4], wanted[64], signature[64];
        from_hex(cases[i].seed, seed);
        from_hex(cases[i].public_key, wanted_key);
        from_hex(cases[i].signature, wanted);
        pr_bytes_t bytes = pr_bytes(message, from_hex(cases[i].message, message));
        cr_assert(pr_ed25519_public(seed, key));
        cr_expect_arr_eq(key, wanted_key, 32, "case %zu", i);
        cr_assert(pr_ed25519_sign(seed, bytes, signature));
        cr_expect_arr_eq(signature, wanted, 64, "case %zu", i);
        cr_expect(pr_ed25519_verify(key, bytes, signature), "case %zu", i);
        for (int bit = 0; bit < 512; bit += 37) {
            signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
            cr_expect_not(pr_ed25519_verify(key, bytes, signature), "case %zu bit %d", i, bit);
            signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

Test(digest, compares_by_content_and_length)
{
    cr_assert(pr_same_bytes(pr_bytes_text("abc"), pr_bytes_text("abc")));
    cr_assert(pr_same_bytes(pr_bytes(NULL, 0), pr_bytes_text("")));
    cr_assert_not(pr_same_bytes(pr_bytes_text("abc"), pr_bytes_text("abd")));
    cr_assert_not(pr_same_bytes(pr_bytes_text("abc"), pr_bytes_text("ab")));
}

/* RFC 4231, test case 2. */
Test(digest, hmac_sha512_agrees_with_rfc_4231)
{
    uint8_t mac[PR_SHA512_BYTES];
    char hex[2 * PR_SHA512_BYTES + 1];
    const pr_bytes_t parts[] = {pr_bytes_text("what do ya want "), pr_bytes_text("for nothing?")};
    cr_assert(pr_hmac_sha512(pr_bytes_text("Jefe"), parts, 2, mac));
    pr_hex(pr_bytes(mac, sizeof mac), hex);
    cr_expect_str_eq(hex, "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                          "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737");
}

Test(digest, crc32_agrees_with_zip)
{
    cr_expect_eq(pr_crc32(pr_bytes_text("123456789")), 0xcbf43926U);
    cr_expect_eq(pr_crc32(pr_bytes(NULL, 0)), 0);
}
