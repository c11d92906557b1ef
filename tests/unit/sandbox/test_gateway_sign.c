/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateways' cryptography against published vectors, and against lib/sign, which shares no code with
 * it.
 */
#include "base/alloc.h"
#include "sandbox/gateway_sign.h"
#include "sign/base64.h"
#include "sign/digest.h"
#include "sign/gcm.h"
#include "sign/rsa.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(gateway_sign);

Test(gateway_sign, published_vectors)
{
    static const char text[] =
        "7914073381342284::TestMerchant:TestPayment-1407325143704:1130:EUR:AUTHORISATION:true";
    static const char hex[] = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
    uint8_t key[32];
    char out[65];
    cr_assert(pr_unhex(hex, 64, key));
    pr_gate_hmac_base64(pr_bytes(key, 32), pr_bytes_text(text), out);
    cr_assert_str_eq(out, "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=", "Adyen's own");
    /* RFC 4231, case 2 */
    pr_gate_hmac_hex(pr_bytes_text("Jefe"), pr_bytes_text("what do ya want for nothing?"), out);
    cr_assert_str_eq(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    pr_gate_md5_upper(pr_bytes_text("abc"), out); /* RFC 1321 */
    cr_assert_str_eq(out, "900150983CD24FB0D6963F7D28E17F72");
    cr_assert(pr_gate_crc32(pr_bytes_text("123456789")) == 0xCBF43926U);
    cr_assert(pr_gate_crc32(pr_bytes_text("")) == 0);
}

Test(gateway_sign, what_it_signs_the_other_side_verifies)
{
    EVP_PKEY *key = pr_gate_key_make();
    PR_CLEANUP_FREE char *public = pr_gate_key_public(key), *private = pr_gate_key_private(key);
    char signature[PR_GATE_SIGNATURE_MAX];
    uint8_t bytes[PR_RSA_SIGNATURE_MAX_BYTES];
    size_t len = 0;
    pr_rsa_key_t *ours = NULL, *secret = NULL;
    cr_assert(pr_rsa_key_parse(pr_bytes_text(public), &ours, NULL) == PR_OK);
    cr_assert(pr_rsa_key_parse(pr_bytes_text(private), &secret, NULL) == PR_OK);
    cr_assert(pr_gate_rsa_sign(key, pr_bytes_text("text"), signature));
    cr_assert(pr_base64_decode(pr_bytes_text(signature), bytes, sizeof(bytes), &len));
    cr_assert(pr_rsa_sha256_verify(ours, pr_bytes_text("text"), pr_bytes(bytes, len)));
    /* and the way back, with the public half alone */
    EVP_PKEY *half = pr_gate_key_read(public);
    cr_assert(half && !pr_gate_key_is_private(half) && pr_gate_key_is_private(key));
    cr_assert(pr_rsa_sha256_sign(secret, pr_bytes_text("other"), bytes, &len));
    pr_base64_encode(pr_bytes(bytes, len), signature);
    cr_assert(pr_gate_rsa_verify(half, pr_bytes_text("other"), pr_bytes_text(signature)));
    cr_assert(!pr_gate_rsa_verify(half, pr_bytes_text("othex"), pr_bytes_text(signature)));
    cr_assert(!pr_gate_rsa_verify(half, pr_bytes_text("other"), pr_bytes_text("AAAA")));
    cr_assert(!pr_gate_rsa_verify(half, pr_bytes_text("other"), pr_bytes_text("no base64!")));
    cr_assert(!pr_gate_rsa_verify(NULL, pr_bytes_text("other"), pr_bytes_text(signature)));
    cr_assert(!pr_gate_key_read("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"));
    EVP_PKEY_free(half);
    EVP_PKEY_free(key);
    pr_rsa_key_destroy(&ours);
    pr_rsa_key_destroy(&secret);
}

Test(gateway_sign, what_it_seals_the_other_side_opens)
{
    static const char key[] = "0123456789abcdef0123456789ABCDEF", nonce[] = "abcdefghijkl";
    static const char plain[] = "{\"trade_state\":\"SUCCESS\"}";
    uint8_t bytes[128];
    size_t len = 0;
    pr_buffer_t text, opened;
    pr_buffer_init(&text, 1024);
    pr_buffer_init(&opened, 1024);
    cr_assert(pr_gate_gcm_seal(key, nonce, "transaction", pr_bytes_text(plain), &text));
    cr_assert(pr_base64_decode(pr_buffer_bytes(&text), bytes, sizeof(bytes), &len));
    cr_assert(pr_gcm_open((const uint8_t *)key, (const uint8_t *)nonce,
                          pr_bytes_text("transaction"), pr_bytes(bytes, len), &opened));
    cr_assert_str_eq(pr_buffer_text(&opened), plain);
    cr_assert(!pr_gate_gcm_seal("short", nonce, "", pr_bytes_text(plain), &text));
    pr_buffer_free(&text);
    pr_buffer_free(&opened);
}
