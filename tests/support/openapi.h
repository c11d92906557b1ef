/* SPDX-License-Identifier: Apache-2.0
 *
 * docs/openapi.yaml, read line by line in the shape that it keeps: paths at two spaces, methods at
 * four, x-role at six, statuses at eight. For the tests of the tables that serve it.
 */
#ifndef PR_TESTS_OPENAPI_H
#define PR_TESTS_OPENAPI_H

#include "base/alloc.h"
#include "httpd/route.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS_MAX 160
#define STATUSES_MAX 24

typedef struct {
    char path[128], method[16], role[16];
    uint32_t statuses[STATUSES_MAX];
    size_t count;
} described_t;

static described_t described[OPERATIONS_MAX];
static size_t described_count;

static void take_line(const char *line, char path[128])
{
    static const char role[] = "x-role: ";
    size_t indent = strspn(line, " ");
    const char *text = line + indent;
    size_t len = strcspn(text, ":");
    described_t *last = described_count > 0 ? &described[described_count - 1] : NULL;
    if (indent == 2 && text[0] == '/') {
        snprintf(path, 128, "%.*s", (int)len, text);
    } else if (indent == 4 && (strncmp(text, "get:", 4) == 0 || strncmp(text, "post:", 5) == 0)) {
        cr_assert_lt(described_count, OPERATIONS_MAX);
        described_t *one = &described[described_count++];
        snprintf(one->path, sizeof one->path, "%s", path);
        snprintf(one->method, sizeof one->method, "%s", text[0] == 'g' ? "GET" : "POST");
    } else if (indent == 6 && last && strncmp(text, role, sizeof role - 1) == 0) {
        size_t role_len = strcspn(text + sizeof role - 1, "\n");
        snprintf(last->role, sizeof last->role, "%.*s", (int)role_len, text + sizeof role - 1);
    } else if (indent == 8 && text[0] == '"' && last) {
        cr_assert_lt(last->count, STATUSES_MAX);
        last->statuses[last->count++] = (uint32_t)strtoul(text + 1, NULL, 10);
    }
}

static void read_description(void)
{
    char line[4096], path[128] = "";
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

static const described_t *find_described(const pr_route_t *route)
{
    for (size_t i = 0; i < described_count; i++)
        if (strcmp(described[i].path, route->pattern) == 0 &&
            strcmp(described[i].method, route->method) == 0)
            return &described[i];
    return NULL;
}

/* How many operations have a path that begins so. */
static size_t described_beginning(const char *prefix)
{
    size_t count = 0;
    for (size_t i = 0; i < described_count; i++)
        count += strncmp(described[i].path, prefix, strlen(prefix)) == 0;
    return count;
}

#endif
