/* SPDX-License-Identifier: Apache-2.0 */
#include "core/url.h"

#include "base/buffer.h"
#include "core/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define NAME_MAX_BYTES 253 /* RFC 1035 */
#define LABEL_MAX_BYTES 63

static pr_rc_t bad(pr_error_t *error, const char *why)
{
    return pr_error_set(error, PR_BAD, "url", "", "%s", why);
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

static bool starts_with(pr_bytes_t text, const char *prefix)
{
    size_t len = strlen(prefix);
    if (text.len < len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (lower(text.data[i]) != (uint8_t)prefix[i])
            return false;
    return true;
}

static pr_bytes_t skip(pr_bytes_t text, size_t len)
{
    return pr_bytes(text.data + len, text.len - len);
}

/* Bytes before the first of any byte in `ends`. */
static size_t span_until(pr_bytes_t text, const char *ends)
{
    size_t len = 0;
    while (len < text.len && !strchr(ends, text.data[len]))
        len++;
    return len;
}

static const char *check_bytes(pr_bytes_t text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c >= 0x80)
            return "not ASCII: write the host in punycode and percent-encode the rest";
        if (c <= 0x20 || c == 0x7f)
            return "a space or control byte";
        if (strchr("\"<>\\`", c))
            return "one of \" < > \\ ` must be percent-encoded";
        if (c == '%' &&
            (text.len - i < 3 || !is_hex(text.data[i + 1]) || !is_hex(text.data[i + 2])))
            return "% without two hex digits";
    }
    return NULL;
}

static const char *read_scheme(pr_bytes_t *rest, pr_url_t *out)
{
    out->https = starts_with(*rest, "https://");
    if (!out->https && !starts_with(*rest, "http://"))
        return "the scheme must be http:// or https://";
    *rest = skip(*rest, out->https ? 8 : 7);
    out->port = out->https ? 443 : 80;
    return NULL;
}

/* text: after the ':'. */
static const char *read_port(pr_bytes_t text, pr_url_t *out)
{
    uint32_t port = 0;
    if (text.len == 0 || text.len > 5 || text.data[0] == '0')
        return "the port must be 1 to 65535";
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i]))
            return "the port must be 1 to 65535";
        port = port * 10 + (uint32_t)(text.data[i] - '0');
    }
    if (port > UINT16_MAX)
        return "the port must be 1 to 65535";
    out->port = (uint16_t)port;
    return NULL;
}

static const char *read_ipv6(pr_bytes_t text, pr_url_t *out)
{
    pr_ip_t ip;
    if (!pr_ip_parse((const char *)text.data, text.len, &ip) || !ip.is_ipv6)
        return "not an IPv6 address in the brackets";
    out->host_is_ipv6 = true;
    inet_ntop(AF_INET6, ip.bytes, out->host, sizeof out->host);
    return NULL;
}

static const char *check_label(pr_bytes_t label)
{
    if (label.len == 0)
        return "an empty label in the host";
    if (label.len > LABEL_MAX_BYTES)
        return "a label of the host is longer than 63";
    if (label.data[0] == '-' || label.data[label.len - 1] == '-')
        return "a label of the host begins or ends with a hyphen";
    for (size_t i = 0; i < label.len; i++) {
        uint8_t c = lower(label.data[i]);
        if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_')
            return "the host has a byte that is no letter, digit, hyphen or underscore";
    }
    return NULL;
}

/* Some resolvers read "127.1", "2130706433" and "0x7f.1" as addresses (WHATWG URL, "ends in a
 * number"). */
static bool is_number(pr_bytes_t label)
{
    size_t i = 0;
    bool hex = label.len >= 2 && label.data[0] == '0' && lower(label.data[1]) == 'x';
    for (i = hex ? 2 : 0; i < label.len; i++)
        if (hex ? !is_hex(label.data[i]) : !is_digit(label.data[i]))
            return false;
    return true;
}

static const char *read_name(pr_bytes_t text, pr_url_t *out)
{
    pr_ip_t ip;
    pr_bytes_t rest = text, last = text;
    if (text.len == 0 || text.len > NAME_MAX_BYTES)
        return "the host must have 1 to 253 bytes";
    for (bool more = true; more;) {
        last = pr_bytes(rest.data, span_until(rest, "."));
        const char *why = check_label(last);
        if (why)
            return why;
        more = last.len < rest.len;
        if (more)
            rest = skip(rest, last.len + 1);
    }
    out->host_is_ipv4 = pr_ip_parse((const char *)text.data, text.len, &ip);
    if (is_number(last) && !out->host_is_ipv4)
        return "the host ends in a number but is no dotted quad";
    for (size_t i = 0; i < text.len; i++)
        out->host[i] = (char)lower(text.data[i]);
    out->host[text.len] = '\0';
    return NULL;
}

static const char *read_authority(pr_bytes_t text, pr_url_t *out)
{
    if (span_until(text, "@") < text.len)
        return "user information is not allowed";
    if (text.len > 0 && text.data[0] == '[') {
        size_t close = span_until(text, "]");
        if (close == text.len)
            return "the closing bracket of the host is missing";
        const char *why = read_ipv6(pr_bytes(text.data + 1, close - 1), out);
        if (why)
            return why;
        text = skip(text, close + 1);
        if (text.len > 0 && text.data[0] != ':')
            return "something follows the bracket of the host";
        return text.len > 0 ? read_port(skip(text, 1), out) : NULL;
    }
    size_t colon = span_until(text, ":");
    const char *why = read_name(pr_bytes(text.data, colon), out);
    if (why || colon == text.len)
        return why;
    return read_port(skip(text, colon + 1), out);
}

/* The path and query, without the fragment; an empty path becomes "/". */
static void read_target(pr_bytes_t text, pr_url_t *out)
{
    size_t len = span_until(text, "#");
    size_t at = 0;
    if (len == 0 || text.data[0] != '/')
        out->target[at++] = '/';
    if (len > 0)
        memcpy(out->target + at, text.data, len);
    out->target[at + len] = '\0';
}

static void make_origin(pr_url_t *out)
{
    snprintf(out->origin, sizeof out->origin, "%s://%s%s%s:%u", out->https ? "https" : "http",
             out->host_is_ipv6 ? "[" : "", out->host, out->host_is_ipv6 ? "]" : "", out->port);
}

pr_rc_t pr_url_parse(const char *text, pr_url_t *out, pr_error_t *error)
{
    pr_bytes_t rest = pr_bytes(text, strnlen(text, PR_URL_MAX_BYTES + 1));
    *out = (pr_url_t){0};
    if (rest.len > PR_URL_MAX_BYTES)
        return bad(error, "longer than 512 bytes");
    const char *why = check_bytes(rest);
    if (!why)
        why = read_scheme(&rest, out);
    if (why)
        return bad(error, why);
    size_t authority = span_until(rest, "/?#");
    why = read_authority(pr_bytes(rest.data, authority), out);
    if (why)
        return bad(error, why);
    read_target(skip(rest, authority), out);
    make_origin(out);
    return PR_OK;
}
