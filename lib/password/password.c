/* SPDX-License-Identifier: Apache-2.0 */
#include "password/password.h"

#include "base/assert.h"
#include "wire/limits.h"

#include <ctype.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#define PASSES 2
#define MEMORY_BYTES ((size_t)32 * 1024 * 1024)
#define DISTINCT_MIN 5 /* characters */

_Static_assert(PR_PASSWORD_HASH_BYTES >= crypto_pwhash_argon2id_STRBYTES, "a hash has room");

static void ready(void)
{
    int rc = sodium_init();
    pr_assert(rc >= 0); /* no randomness: nothing may go on */
}

/* ---- new ones ---- */

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static size_t distinct_bytes(const char *text)
{
    bool seen[256] = {false};
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += !seen[(unsigned char)*text];
        seen[(unsigned char)*text] = true;
    }
    return count;
}

/* Every character is the next, or the one before, of the one to its left; 0 follows 9. */
static bool is_run(const char *text)
{
    bool up = true, down = true;
    for (size_t i = 1; text[i] != '\0'; i++) {
        int step = tolower((unsigned char)text[i]) - tolower((unsigned char)text[i - 1]);
        up = up && (step == 1 || (text[i - 1] == '9' && text[i] == '0'));
        down = down && (step == -1 || (text[i - 1] == '0' && text[i] == '9'));
    }
    return up || down;
}

const char *pr_password_flaw(const char *password, const char *name)
{
    if (strlen(password) > PR_PASSWORD_MAX_BYTES)
        return "it has more than 256 bytes";
    if (!pr_utf8_valid(pr_bytes_text(password)))
        return "it is not UTF-8";
    if (characters(password) < PR_PASSWORD_MIN)
        return "it has fewer than 12 characters";
    if (distinct_bytes(password) < DISTINCT_MIN || is_run(password))
        return "it is easily guessed";
    if (name && strlen(name) >= 3 && strcasestr(password, name))
        return "it holds the operator's name";
    return NULL;
}

/* ---- hashes ---- */

pr_rc_t pr_password_hash(const char *password, char out[PR_PASSWORD_HASH_BYTES])
{
    ready();
    memset(out, 0, PR_PASSWORD_HASH_BYTES);
    return crypto_pwhash_str_alg(out, password, strlen(password), PASSES, MEMORY_BYTES,
                                 crypto_pwhash_ALG_ARGON2ID13) == 0
               ? PR_OK
               : PR_AGAIN;
}

static bool is_hash(const char *hash)
{
    static const char method[] = "$argon2id$";
    return hash && strncmp(hash, method, sizeof method - 1) == 0 &&
           strlen(hash) < crypto_pwhash_argon2id_STRBYTES;
}

/* As long as a look at a real one takes. */
static void spend(const char *password)
{
    char unused[PR_PASSWORD_HASH_BYTES];
    (void)!pr_password_hash(password, unused);
}

bool pr_password_verify(const char *hash, const char *password)
{
    ready();
    if (strlen(password) > PR_PASSWORD_MAX_BYTES)
        return false;
    if (!is_hash(hash)) {
        spend(password);
        return false;
    }
    return crypto_pwhash_str_verify(hash, password, strlen(password)) == 0;
}
