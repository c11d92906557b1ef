/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "httpd/door_error.h"

#include <criterion/criterion.h>

Test(door_error, each_has_a_status)
{
    static const struct {
        const char *sqlstate;
        uint32_t status;
    } cases[] = {{"PR001", 422}, {"PR002", 422}, {"PR003", 400}, {"PR004", 422}, {"PR005", 409},
                 {"PR006", 409}, {"PR007", 422}, {"PR008", 413}, {"PR009", 403}, {"PR013", 429},
                 {"02000", 404}, {"P0002", 404}, {"55P03", 409}, {"22P05", 400}, {"23505", 422},
                 {"40001", 503}, {"57P01", 503}, {"53300", 503}, {"", 503},      {"42P01", 500},
                 {"XX000", 500}};
    for (size_t i = 0; i < PR_COUNT(cases); i++)
        cr_expect_eq(pr_door_error(cases[i].sqlstate).status, cases[i].status, "%s",
                     cases[i].sqlstate);
}
