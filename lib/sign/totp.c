/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/totp.h"

#include "base/alloc.h"
#include "sign/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHA1_BYTES 20
#define COUNTER_BYTES 8

bool pr_totp_code(const uint8_t key[PR_TOTP_KEY_BYTES], uint64_t step, int digits,
                  char out[PR_TOTP_DIGITS_MAX + 1])
{
    static const uint32_t powers[] = {1000000, 10000000, 100000000};
    uint8_t counter[COUNTER_BYTES], mac[SHA1_BYTES];
    size_t len = 0;
    for (int i = 0; i < COUNTER_BYTES; i++)
        counter[i] = (uint8_t)(step >> (8 * (COUNTER_BYTES - 1 - i)));
    if (!EVP_Q_mac(NULL, "HMAC", NULL, "SHA1", NULL, key, PR_TOTP_KEY_BYTES, counter,
                   sizeof counter, mac, sizeof mac, &len) ||
        len != sizeof mac)
        return false;
    const uint8_t *at = mac + (mac[SHA1_BYTES - 1] & 15);
    uint32_t number = (uint32_t)(at[0] & 0x7f) << 24 | (uint32_t)at[1] << 16 |
                      (uint32_t)at[2] << 8 | (uint32_t)at[3];
    (void)snprintf(out, PR_TOTP_DIGITS_MAX + 1, "%0*" PRIu32, digits,
                   number % powers[digits - PR_TOTP_DIGITS]);
    OPENSSL_cleanse(mac, sizeof mac);
    return true;
}

int64_t pr_totp_step_of(const uint8_t key[PR_TOTP_KEY_BYTES], const char *code, int64_t now_s,
                        int64_t last_step)
{
    int64_t now = now_s / PR_TOTP_STEP_S, found = -1;
    for (int64_t step = now - 1; step <= now + 1; step++) {
        char wanted[PR_TOTP_DIGITS_MAX + 1];
        if (step < 0 || !pr_totp_code(key, (uint64_t)step, PR_TOTP_DIGITS, wanted))
            continue;
        bool same = pr_same_bytes(pr_bytes_text(code), pr_bytes_text(wanted));
        if (same && step > last_step && found < 0)
            found = step;
        OPENSSL_cleanse(wanted, sizeof wanted);
    }
    return found;
}

void pr_totp_key_text(const uint8_t key[PR_TOTP_KEY_BYTES], char out[PR_TOTP_KEY_TEXT_BYTES])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    for (size_t i = 0; i < PR_TOTP_KEY_TEXT_BYTES - 1; i++) {
        size_t bit = i * 5, byte = bit / 8;
        unsigned pair =
            (unsigned)key[byte] << 8 | (byte + 1 < PR_TOTP_KEY_BYTES ? (unsigned)key[byte + 1] : 0);
        out[i] = letters[pair >> (11 - bit % 8) & 31];
    }
    out[PR_TOTP_KEY_TEXT_BYTES - 1] = '\0';
}

bool pr_totp_seal_name(const char *operator_name, char out[65])
{
    uint8_t hash[PR_SHA256_BYTES];
    PR_CLEANUP_FREE char *name = pr_asprintf("operator/%s", operator_name);
    if (!pr_sha256(pr_bytes_text(name), hash))
        return false;
    pr_hex(pr_bytes(hash, sizeof hash), out);
    return true;
}
