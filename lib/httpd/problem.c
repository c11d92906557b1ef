/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/problem.h"

#include "base/alloc.h"
#include "wire/limits.h"

#include <string.h>

static const struct {
    uint32_t status;
    const char *title;
} titles[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

const char *pr_problem_title(uint32_t status)
{
    for (size_t i = 0; i < PR_COUNT(titles); i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Error";
}

/* A JSON string's inside. Text that is not UTF-8 loses its bytes above ASCII. */
static pr_rc_t write_escaped(pr_buffer_t *out, const char *text)
{
    bool utf8 = pr_utf8_valid(pr_bytes_text(text));
    pr_rc_t rc = PR_OK;
    for (const char *at = text; rc == PR_OK && *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            rc = pr_buffer_printf(out, "\\%c", c);
        else if (c < 0x20)
            rc = pr_buffer_printf(out, "\\u%04x", c);
        else
            rc = pr_buffer_append(out, c >= 0x80 && !utf8 ? "?" : at, 1);
    }
    return rc;
}

pr_rc_t pr_problem_write(uint32_t status, const char *code, const char *detail, pr_buffer_t *out)
{
    pr_rc_t rc = pr_buffer_printf(out, "{\"title\":\"%s\",\"status\":%u,\"code\":\"%s\"",
                                  pr_problem_title(status), status, code);
    if (rc == PR_OK && detail && detail[0] != '\0') {
        rc = pr_buffer_append_text(out, ",\"detail\":\"");
        rc = rc != PR_OK ? rc : write_escaped(out, detail);
        rc = rc != PR_OK ? rc : pr_buffer_append_text(out, "\"");
    }
    return rc != PR_OK ? rc : pr_buffer_append_text(out, "}");
}
