/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/framing.h"

#include <string.h>
#include <strings.h>

#define LENGTH_DIGITS_MAX 15 /* a petabyte: no overflow, and no honest body */

const char *pr_headers_find(const pr_header_t *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(headers[i].name, name) == 0)
            return headers[i].value;
    return NULL;
}

bool pr_token_ok(const char *text)
{
    static const char other[] = "!#$%&'*+-.^_`|~";
    if (text[0] == '\0')
        return false;
    for (const char *at = text; *at != '\0'; at++) {
        char c = *at;
        bool alphanumeric =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alphanumeric && strchr(other, c) == NULL)
            return false;
    }
    return true;
}

static bool value_ok(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool target_ok(const char *target)
{
    if (target[0] != '/')
        return false;
    for (const char *at = target; *at != '\0'; at++) {
        if (*at <= 0x20 || *at >= 0x7f || *at == '#') /* char is signed or not: both refuse */
            return false;
        if (*at != '%')
            continue;
        if (!is_hex(at[1]) || !is_hex(at[2]) || (at[1] == '0' && at[2] == '0'))
            return false;
        at += 2;
    }
    return true;
}

static bool parse_length(const char *text, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > LENGTH_DIGITS_MAX || text[digits] != '\0')
        return false;
    *out = 0;
    for (size_t i = 0; i < digits; i++)
        *out = *out * 10 + (uint64_t)(text[i] - '0');
    return true;
}

static size_t count_of(const pr_framing_head_t *head, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < head->header_count; i++)
        count += strcasecmp(head->headers[i].name, name) == 0;
    return count;
}

static bool headers_ok(const pr_framing_head_t *head)
{
    for (size_t i = 0; i < head->header_count; i++)
        if (!pr_token_ok(head->headers[i].name) || !value_ok(head->headers[i].value))
            return false;
    return true;
}

static const char *check_body(const pr_framing_head_t *head, bool http11, pr_framing_t *out)
{
    const char *coding = pr_headers_find(head->headers, head->header_count, "Transfer-Encoding");
    const char *length = pr_headers_find(head->headers, head->header_count, "Content-Length");
    if (count_of(head, "Content-Length") > 1 || (length && !parse_length(length, &out->length)))
        return "bad_content_length";
    if (coding && (length || !http11 || count_of(head, "Transfer-Encoding") > 1 ||
                   strcasecmp(coding, "chunked") != 0))
        return "bad_transfer_encoding";
    out->has_length = length != NULL;
    out->chunked = coding != NULL;
    return "";
}

static pr_framing_t refuse(uint32_t status, const char *code)
{
    return (pr_framing_t){.status = status, .code = code};
}

pr_framing_t pr_framing_check(const pr_framing_head_t *head)
{
    pr_framing_t seen = {.code = ""};
    bool http11 = strcmp(head->version, "HTTP/1.1") == 0;
    if (!http11 && strcmp(head->version, "HTTP/1.0") != 0)
        return refuse(505, "http_version");
    if (!pr_token_ok(head->method))
        return refuse(400, "bad_method");
    if (!target_ok(head->target))
        return refuse(400, "bad_target");
    if (!headers_ok(head))
        return refuse(400, "bad_header");
    if (count_of(head, "Host") > 1 || (http11 && count_of(head, "Host") == 0))
        return refuse(400, "bad_host");
    const char *flaw = check_body(head, http11, &seen);
    return flaw[0] != '\0' ? refuse(400, flaw) : seen;
}
