/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "httpd/route.h"

#include <criterion/criterion.h>

#include <string.h>

typedef struct {
    pr_route_t route;
    int own;
} row_t;

static const row_t rows[] = {
    {{"GET", "/healthz"}, 1},
    {{"POST", "/v1/payments"}, 2},
    {{"GET", "/v1/payments/{payment_id}"}, 3},
    {{"POST", "/v1/payments/{payment_id}/cancel"}, 4},
    {{"GET", "/v1/merchants/{merchant_id}/orders/{order_no}"}, 5},
    {{"GET", "/v1/webhooks/{channel}"}, 6},
    {{"POST", "/v1/webhooks/{channel}"}, 7},
};

static const struct {
    const char *what, *method, *path;
    pr_route_result_t result;
    size_t index;
    const char *first, *second; /* parameters */
    const char *allow;
} cases[] = {
    {"a plain path", "GET", "/healthz", PR_ROUTE_MATCHED, 0, "", "", ""},
    {"HEAD is GET", "HEAD", "/healthz", PR_ROUTE_MATCHED, 0, "", "", ""},
    {"methods have a case", "get", "/healthz", PR_ROUTE_METHOD, 0, "", "", "GET, HEAD"},
    {"another method", "DELETE", "/v1/payments", PR_ROUTE_METHOD, 0, "", "", "POST"},
    {"several methods", "PUT", "/v1/webhooks/w", PR_ROUTE_METHOD, 0, "", "", "GET, HEAD, POST"},
    {"a parameter", "GET", "/v1/payments/17", PR_ROUTE_MATCHED, 2, "17", "", ""},
    {"a parameter in the middle", "POST", "/v1/payments/17/cancel", PR_ROUTE_MATCHED, 3, "17", "",
     ""},
    {"two, decoded", "GET", "/v1/merchants/m%201/orders/a%2Fb%E2%82%AC", PR_ROUTE_MATCHED, 4, "m 1",
     "a/b\xe2\x82\xac", ""},
    {"plus is a plus", "GET", "/v1/payments/a+b", PR_ROUTE_MATCHED, 2, "a+b", "", ""},
    {"no empty parameter", "GET", "/v1/payments/", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"no slash at the end", "GET", "/healthz/", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"no doubled slash", "GET", "//healthz", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"dots mean nothing", "GET", "/v1/../healthz", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"an escaped plain path is another one", "GET", "/%68ealthz", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"more than there is", "GET", "/v1/payments/1/2/3", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"less than there is", "GET", "/v1", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"no UTF-8", "GET", "/v1/payments/%ff", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"a NUL", "GET", "/v1/payments/a%00", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"a broken escape", "GET", "/v1/payments/a%4", PR_ROUTE_UNKNOWN, 0, "", "", ""},
    {"nothing", "GET", "", PR_ROUTE_UNKNOWN, 0, "", "", ""},
};

Test(route, finds_each)
{
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        pr_route_match_t match;
        pr_route_find(rows, PR_COUNT(rows), sizeof rows[0], cases[i].method,
                      pr_bytes_text(cases[i].path), &match);
        cr_expect_eq(match.result, cases[i].result, "%s", cases[i].what);
        cr_expect_str_eq(match.allow, cases[i].allow, "%s: allow %s", cases[i].what, match.allow);
        if (match.result != PR_ROUTE_MATCHED)
            continue;
        cr_expect_eq(match.index, cases[i].index, "%s", cases[i].what);
        cr_expect_str_eq(match.parameters[0], cases[i].first, "%s", cases[i].what);
        cr_expect_str_eq(match.parameters[1], cases[i].second, "%s", cases[i].what);
    }
}

Test(route, a_parameter_has_its_size)
{
    char path[600] = "/v1/payments/";
    pr_route_match_t match;
    size_t len = strlen(path);
    memset(path + len, 'x', 255);
    pr_route_find(rows, PR_COUNT(rows), sizeof rows[0], "GET", pr_bytes_text(path), &match);
    cr_expect_eq(match.result, PR_ROUTE_MATCHED);
    path[len + 255] = 'x';
    pr_route_find(rows, PR_COUNT(rows), sizeof rows[0], "GET", pr_bytes_text(path), &match);
    cr_expect_eq(match.result, PR_ROUTE_UNKNOWN);
}

Test(route, names_of_parameters)
{
    char names[PR_ROUTE_PARAMETERS_MAX][PR_ROUTE_NAME_BYTES];
    cr_expect_eq(pr_route_names("/healthz", names), 0);
    cr_expect_eq(pr_route_names("/m/{merchant_id}/o/{order_no}", names), 2);
    cr_expect_str_eq(names[0], "merchant_id");
    cr_expect_str_eq(names[1], "order_no");
}
