/* SPDX-License-Identifier: Apache-2.0
 *
 * The table against docs/openapi.yaml: the same paths, methods and statuses, both ways. The YAML is
 * read line by line in the shape that the file keeps: paths at two spaces, methods at four, statuses
 * at eight.
 */
#include "actors/ingress/routes.h"
#include "base/alloc.h"
#include "httpd/door_error.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS_MAX 32
#define STATUSES_MAX 24

typedef struct {
    char path[128], method[16];
    uint32_t statuses[STATUSES_MAX];
    size_t count;
} described_t;

static described_t described[OPERATIONS_MAX];
static size_t described_count;

static size_t indent_of(const char *line)
{
    return strspn(line, " ");
}

static void take_line(const char *line, char path[128])
{
    size_t indent = indent_of(line);
    const char *text = line + indent;
    size_t len = strcspn(text, ":");
    if (indent == 2 && text[0] == '/') {
        snprintf(path, 128, "%.*s", (int)len, text);
    } else if (indent == 4 && (strncmp(text, "get:", 4) == 0 || strncmp(text, "post:", 5) == 0)) {
        cr_assert_lt(described_count, OPERATIONS_MAX);
        described_t *one = &described[described_count++];
        snprintf(one->path, sizeof one->path, "%s", path);
        snprintf(one->method, sizeof one->method, "%s", text[0] == 'g' ? "GET" : "POST");
    } else if (indent == 8 && text[0] == '"' && described_count > 0) {
        described_t *one = &described[described_count - 1];
        cr_assert_lt(one->count, STATUSES_MAX);
        one->statuses[one->count++] = (uint32_t)strtoul(text + 1, NULL, 10);
    }
}

static void read_description(void)
{
    char line[1024], path[128] = "";
    const char *home = getenv("POSTRIDER_HOME");
    PR_CLEANUP_FREE char *name = pr_asprintf("%s/docs/openapi.yaml", home ? home : ".");
    FILE *file = fopen(name, "re");
    cr_assert(file != NULL, "%s", name);
    described_count = 0;
    bool in_paths = false;
    while (fgets(line, sizeof line, file)) {
        if (line[0] != ' ' && line[0] != '\n')
            in_paths = strncmp(line, "paths:", 6) == 0;
        else if (in_paths)
            take_line(line, path);
    }
    fclose(file);
}

static const described_t *find(const pr_endpoint_t *endpoint)
{
    for (size_t i = 0; i < described_count; i++)
        if (strcmp(described[i].path, endpoint->route.pattern) == 0 &&
            strcmp(described[i].method, endpoint->route.method) == 0)
            return &described[i];
    return NULL;
}

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
    cr_expect_eq(described_count, pr_endpoints_count);
    for (size_t i = 0; i < pr_endpoints_count; i++) {
        const pr_endpoint_t *endpoint = &pr_endpoints[i];
        const described_t *one = find(endpoint);
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
                                         "PR006", "PR007", "PR008", "PR009", "55P03",
                                         "22023", "08006", "42P01", ""};
    for (size_t i = 0; i < pr_endpoints_count; i++)
        for (size_t j = 0; pr_endpoints[i].kind == PR_ENDPOINT_WRITE && j < PR_COUNT(states); j++)
            cr_expect(pr_endpoint_says(&pr_endpoints[i], pr_door_error(states[j]).status), "%s: %s",
                      pr_endpoints[i].route.pattern, states[j]);
}
