/* SPDX-License-Identifier: Apache-2.0
 *
 * The table against docs/openapi.yaml: the same paths, methods and roles, both ways; and what every
 * row must keep to.
 */
#include "actors/console/routes.h"
#include "tests/support/openapi.h"

static const char *const roles[] = {"nobody", "viewer", "operator", "approver", "admin"};

Test(routes, are_those_of_the_description)
{
    read_description();
    cr_expect_eq(described_beginning("/api/") + described_beginning("/metrics") + 2,
                 pr_console_routes_count); /* and /healthz, /readyz */
    for (size_t i = 0; i < pr_console_routes_count; i++) {
        const pr_console_route_t *row = &pr_console_routes[i];
        const described_t *one = find_described(&row->route);
        cr_assert(one != NULL, "%s %s is not described", row->route.method, row->route.pattern);
        if (row->kind != PR_CONSOLE_HEALTH && row->kind != PR_CONSOLE_READY)
            cr_expect_str_eq(one->role, roles[row->role], "%s %s", one->method, one->path);
    }
}

Test(routes, what_changes_something_is_a_post_of_somebody)
{
    for (size_t i = 0; i < pr_console_routes_count; i++) {
        const pr_console_route_t *row = &pr_console_routes[i];
        bool acts = row->kind == PR_CONSOLE_ACT || row->kind == PR_CONSOLE_LOGOUT;
        bool post = strcmp(row->route.method, "POST") == 0;
        cr_expect(post == (acts || row->kind == PR_CONSOLE_LOGIN), "%s", row->route.pattern);
        cr_expect(!acts || row->role > PR_CONSOLE_NOBODY, "%s", row->route.pattern);
        cr_expect(row->make == PR_MAKE_NOTHING || row->kind == PR_CONSOLE_ACT);
    }
}

Test(routes, fixed_words_come_before_parameters)
{
    /* "/api/exceptions/summary" must not be "/api/exceptions/{id}" of an earlier row */
    for (size_t i = 0; i < pr_console_routes_count; i++) {
        pr_route_match_t match;
        const pr_route_t *route = &pr_console_routes[i].route;
        pr_route_find(pr_console_routes, pr_console_routes_count, sizeof pr_console_routes[0],
                      route->method, pr_bytes_text(route->pattern), &match);
        cr_assert_eq(match.result, PR_ROUTE_MATCHED, "%s", route->pattern);
        cr_expect_eq(match.index, i, "%s is taken by %s", route->pattern,
                     pr_console_routes[match.index].route.pattern);
    }
}

Test(routes, roles_have_an_order)
{
    for (size_t i = 1; i < PR_COUNT(roles); i++)
        cr_expect_eq(pr_console_role(roles[i]), (pr_console_role_t)i);
    cr_expect_eq(pr_console_role("root"), PR_CONSOLE_NOBODY);
    cr_expect_eq(pr_console_role(""), PR_CONSOLE_NOBODY);
}
