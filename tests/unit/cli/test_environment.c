/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/environment.h"

#include <criterion/criterion.h>

#include <stdlib.h>

Test(environment, what_a_running_topology_lent_is_forgotten)
{
    setenv("POSTRIDER_DATABASE_URL", "postgresql://elsewhere", 1);
    setenv("POSTRIDER_BUS_BROKERS", "ipc:///elsewhere", 1);
    setenv("POSTRIDER_CONFIG", "/elsewhere", 1);
    setenv("POSTRIDER_HOME", "/home", 1);
    setenv("POSTRIDER_STATE", "/state", 1);
    setenv("POSTRIDERS", "others'", 1);
    pr_environment_forget();
    cr_expect_null(getenv("POSTRIDER_DATABASE_URL"));
    cr_expect_null(getenv("POSTRIDER_BUS_BROKERS"));
    cr_expect_null(getenv("POSTRIDER_CONFIG"));
    cr_expect_str_eq(getenv("POSTRIDER_HOME"), "/home", "where the checkout lies");
    cr_expect_str_eq(getenv("POSTRIDER_STATE"), "/state", "where the state goes");
    cr_expect_str_eq(getenv("POSTRIDERS"), "others'", "another's name");
}
