/* SPDX-License-Identifier: Apache-2.0
 *
 * The table against docs/openapi.yaml: the same paths, methods and statuses, both ways. What of it is
 * the console's is compared by its own test.
 */
#include "actors/ingress/routes.h"
#include "base/alloc.h"
#include "httpd/door_error.h"
#include "tests/support/openapi.h"

#include <criterion/criterion.h>

static bool says(const described_t *one, uint32_t status)
{
    for (size_t i = 0; i < one->count; i++)
        if (one->statuses[i] == status)
            return true;
    return false;
}

Test(routes, are_those_of_the_description)
{
    read_description();
    cr_expect_eq(described_beginning("/v1/") + 2, pr_endpoints_count); /* and /healthz, /readyz */
    for (size_t i = 0; i < pr_endpoints_count; i++) {
        const pr_endpoint_t *endpoint = &pr_endpoints[i];
        const described_t *one = find_described(&endpoint->route);
        cr_assert(one != NULL, "%s %s is not described", endpoint->route.method,
                  endpoint->route.pattern);
        for (size_t j = 0; endpoint->statuses[j] != 0; j++)
            cr_expect(says(one, endpoint->statuses[j]), "%s %s: %u is not described", one->method,
                      one->path, endpoint->statuses[j]);
        for (size_t j = 0; j < one->count; j++)
            cr_expect(pr_endpoint_says(endpoint, one->statuses[j]), "%s %s never answers %u",
                      one->method, one->path, one->statuses[j]);
    }
}

/* Every status that an error of a door may become is in the row of every write. */
Test(routes, writes_may_say_whatever_a_door_may)
{
    static const char *const states[] = {"PR001", "PR002", "PR003", "PR004", "PR005",
                                         "PR006", "PR007", "PR008", "PR009", "PR013",
                                         "55P03", "22023", "08006", "42P01", ""};
    for (size_t i = 0; i < pr_endpoints_count; i++)
        for (size_t j = 0; pr_endpoints[i].kind == PR_ENDPOINT_WRITE && j < PR_COUNT(states); j++)
            cr_expect(pr_endpoint_says(&pr_endpoints[i], pr_door_error(states[j]).status), "%s: %s",
                      pr_endpoints[i].route.pattern, states[j]);
}
