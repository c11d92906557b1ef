/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/route.h"

#include "wire/limits.h"

#include <stdio.h>
#include <string.h>

static int digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool pr_route_decode(pr_bytes_t text, char *out, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        int byte = text.data[i];
        if (byte == '%') {
            int high = i + 2 < text.len ? digit(text.data[i + 1]) : -1;
            int low = i + 2 < text.len ? digit(text.data[i + 2]) : -1;
            byte = high < 0 || low < 0 ? 0 : high * 16 + low;
            i += 2;
        }
        if (byte == 0 || len + 1 >= size)
            return false;
        out[len++] = (char)byte;
    }
    out[len] = '\0';
    return pr_utf8_valid(pr_bytes(out, len));
}

/* The next segment of a path, behind its '/'; false at the end. */
static bool next_segment(pr_bytes_t *rest, pr_bytes_t *segment)
{
    if (rest->len == 0 || rest->data[0] != '/')
        return false;
    const uint8_t *begin = rest->data + 1;
    size_t left = rest->len - 1;
    const uint8_t *slash = left > 0 ? memchr(begin, '/', left) : NULL;
    size_t len = slash ? (size_t)(slash - begin) : left;
    *segment = pr_bytes(begin, len);
    *rest = pr_bytes(begin + len, left - len);
    return true;
}

static bool take_segment(pr_bytes_t pattern, pr_bytes_t segment, pr_route_match_t *out)
{
    if (pattern.len == 0 || pattern.data[0] != '{')
        return pr_bytes_equal(pattern, segment);
    return segment.len > 0 && out->count < PR_ROUTE_PARAMETERS_MAX &&
           pr_route_decode(segment, out->parameters[out->count++], PR_ROUTE_PARAMETER_BYTES);
}

static bool path_matches(const char *pattern, pr_bytes_t path, pr_route_match_t *out)
{
    pr_bytes_t wanted = pr_bytes_text(pattern);
    pr_bytes_t want, have;
    out->count = 0;
    while (next_segment(&wanted, &want))
        if (!next_segment(&path, &have) || !take_segment(want, have, out))
            return false;
    return path.len == 0;
}

static bool method_matches(const char *wanted, const char *method)
{
    return strcmp(wanted, method) == 0 ||
           (strcmp(wanted, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

static void allow(pr_route_match_t *out, const char *method)
{
    size_t len = strlen(out->allow);
    snprintf(out->allow + len, sizeof out->allow - len, "%s%s%s", len > 0 ? ", " : "", method,
             strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

void pr_route_find(const void *rows, size_t count, size_t stride, const char *method,
                   pr_bytes_t path, pr_route_match_t *out)
{
    *out = (pr_route_match_t){.result = PR_ROUTE_UNKNOWN};
    for (size_t i = 0; i < count; i++) {
        const pr_route_t *row = (const void *)((const char *)rows + i * stride);
        if (!path_matches(row->pattern, path, out))
            continue;
        if (method_matches(row->method, method)) {
            out->result = PR_ROUTE_MATCHED;
            out->index = i;
            return;
        }
        out->result = PR_ROUTE_METHOD;
        allow(out, row->method);
    }
}

size_t pr_route_names(const char *pattern, char out[PR_ROUTE_PARAMETERS_MAX][PR_ROUTE_NAME_BYTES])
{
    size_t count = 0;
    for (const char *at = pattern; count < PR_ROUTE_PARAMETERS_MAX && (at = strchr(at, '{'));) {
        size_t len = strcspn(++at, "}");
        snprintf(out[count++], PR_ROUTE_NAME_BYTES, "%.*s", (int)len, at);
    }
    return count;
}
