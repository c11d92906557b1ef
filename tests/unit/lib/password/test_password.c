/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "password/password.h"

#include <criterion/criterion.h>

#include <string.h>

Test(password, a_hash_takes_its_own_password_and_no_other)
{
    char hash[PR_PASSWORD_HASH_BYTES], again[PR_PASSWORD_HASH_BYTES];
    cr_assert_eq(pr_password_hash("correct horse battery", hash), PR_OK);
    cr_assert_eq(pr_password_hash("correct horse battery", again), PR_OK);
    cr_assert_eq(strncmp(hash, "$argon2id$v=19$m=32768,t=2,p=1$", 31), 0, "%s", hash);
    cr_assert_str_neq(hash, again, "each has a salt of its own");
    cr_assert(pr_password_verify(hash, "correct horse battery"));
    cr_assert_not(pr_password_verify(hash, "correct horse batterz"));
    cr_assert_not(pr_password_verify(hash, ""));
}

Test(password, what_is_no_hash_takes_none)
{
    static const char *const hashes[] = {NULL,
                                         "",
                                         "x",
                                         "$argon2id$",
                                         "$argon2i$v=19$m=32768,t=2,p=1$AAAA$AAAA",
                                         "$argon2id$v=19$m=32768,t=2,p=1$c2FsdHNhbHRzYWx0$AAAA"};
    for (size_t i = 0; i < PR_COUNT(hashes); i++)
        cr_assert_not(pr_password_verify(hashes[i], "correct horse battery"), "%zu", i);
}

Test(password, what_anybody_would_guess_is_refused)
{
    static const struct {
        const char *password, *name;
        bool good;
    } cases[] = {
        {"correct horse battery", "alice", true},
        {"passwort mit \xc3\xbcmlaut", "alice", true},
        {"elevenchars", "alice", false},
        {"twelve chars", "alice", true},
        {"\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", "alice", false}, /* 5 */
        {"aaaaaaaaaaaaaaaa", "alice", false},
        {"abababababababab", "alice", false},
        {"123456789012", "alice", false},
        {"abcdefghijklmnop", "alice", false},
        {"zyxwvutsrqponm", "alice", false},
        {"this is Alice's own", "alice", false},
        {"this is Al's own word", "al", true}, /* too short a name to say anything */
        {"latin \xfc is not utf-8", "alice", false},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++)
        cr_assert_eq(pr_password_flaw(cases[i].password, cases[i].name) == NULL, cases[i].good,
                     "%s", cases[i].password);
}

Test(password, one_that_is_too_long_is_no_work)
{
    char text[PR_PASSWORD_MAX_BYTES + 2];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_assert_not_null(pr_password_flaw(text, "alice"));
    cr_assert_not(pr_password_verify(NULL, text));
}
