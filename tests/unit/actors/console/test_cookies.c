/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/console/cookies.h"
#include "base/alloc.h"

#include <criterion/criterion.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

Test(cookies, are_found_by_name_and_form)
{
    static const struct {
        const char *what, *header;
        bool secure;
        const char *token; /* NULL: none */
    } cases[] = {
        {"no header", NULL, false, NULL},
        {"an empty one", "", false, NULL},
        {"alone", "postrider_session=" A, false, A},
        {"among others", "x=1; postrider_session=" A "; y=2", false, A},
        {"spaces at its end", "postrider_session=" A " ;x=1", false, A},
        {"another's name that begins alike", "postrider_session2=" A, false, NULL},
        {"another's name that ends alike", "my_postrider_session=" A, false, NULL},
        {"too short", "postrider_session=aaaa", false, NULL},
        {"too long", "postrider_session=" A "a", false, NULL},
        {"capitals", "postrider_session=A" A, false, NULL},
        {"quoted", "postrider_session=\"" A "\"", false, NULL},
        {"two of ours", "postrider_session=" A "; postrider_session=" B, false, NULL},
        {"the second malformed", "postrider_session=" A "; postrider_session=x", false, NULL},
        {"over TLS the other name counts", "__Host-postrider=" A, true, A},
        {"and the plain one does not", "postrider_session=" A, true, NULL},
        {"nor the other way round", "__Host-postrider=" A, false, NULL},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        char out[PR_SESSION_TOKEN_BYTES] = "";
        bool found = pr_cookie_find(cases[i].header, cases[i].secure, out);
        cr_expect_eq(found, cases[i].token != NULL, "%s", cases[i].what);
        if (found && cases[i].token)
            cr_expect_str_eq(out, cases[i].token, "%s", cases[i].what);
    }
}

Test(cookies, say_what_browsers_keep_them_from)
{
    char out[PR_SESSION_COOKIE_BYTES];
    pr_cookie_write(A, false, out);
    cr_expect_str_eq(out, "postrider_session=" A "; Path=/; HttpOnly; SameSite=Strict");
    pr_cookie_write(A, true, out);
    cr_expect_str_eq(out, "__Host-postrider=" A "; Path=/; HttpOnly; SameSite=Strict; Secure");
    pr_cookie_write("", true, out);
    cr_expect_str_eq(out,
                     "__Host-postrider=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0");
}
