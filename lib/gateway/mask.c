/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/mask.h"

#include "base/alloc.h"

#include <string.h>

#define STARS "***"
#define NAME_MAX_BYTES 64
#define NAME_LOOK 256
#define CARD_MIN 13
#define CARD_MAX 19
#define CARD_HEAD 6
#define CARD_TAIL 4

/* Names as they are compared: lower case, letters and digits only. */
static const char *const whole_names[] = {"sign", "sig", "pan", "cvc", "cvv", "cvv2", "cvn", "pin"};
static const char *const name_ends[] = {"signature",  "paysign",      "secret",      "password",
                                        "passwd",     "apikey",       "accesstoken", "idtoken",
                                        "privatekey", "refreshtoken", "cardnumber",  "cardno",
                                        "cardcvc",    "cardcvv",      "securitycode"};
static const char *const header_parts[] = {"authorization", "signature",      "secret",
                                           "password",      "cookie",         "apikey",
                                           "token",         "transmissionsig"};

void pr_mask_init(pr_mask_t *self)
{
    *self = (pr_mask_t){0};
}

void pr_mask_add(pr_mask_t *self, pr_bytes_t value)
{
    if (value.len < PR_MASK_VALUE_MIN || self->count == PR_MASK_VALUES_MAX)
        return;
    self->values[self->count++] = value;
    self->begins[value.data[0]] = true;
}

/* ---- names ---- */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Longer names are compared by their end. */
static size_t plain_name(pr_bytes_t name, char out[NAME_MAX_BYTES])
{
    size_t len = 0, from = name.len > NAME_MAX_BYTES - 1 ? name.len - (NAME_MAX_BYTES - 1) : 0;
    for (size_t i = from; i < name.len; i++) {
        uint8_t c = name.data[i];
        if (is_letter(c) || is_digit(c))
            out[len++] = (char)(is_letter(c) ? c | 0x20 : c);
    }
    out[len] = '\0';
    return len;
}

static bool is_secret_name(pr_bytes_t name)
{
    char plain[NAME_MAX_BYTES];
    size_t len = plain_name(name, plain);
    for (size_t i = 0; i < PR_COUNT(whole_names); i++)
        if (strcmp(plain, whole_names[i]) == 0)
            return true;
    for (size_t i = 0; i < PR_COUNT(name_ends); i++) {
        size_t end = strlen(name_ends[i]);
        if (len >= end && strcmp(plain + len - end, name_ends[i]) == 0)
            return true;
    }
    return false;
}

static bool is_secret_header(const char *name)
{
    char plain[NAME_MAX_BYTES];
    (void)plain_name(pr_bytes_text(name), plain);
    for (size_t i = 0; i < PR_COUNT(header_parts); i++)
        if (strstr(plain, header_parts[i]))
            return true;
    return is_secret_name(pr_bytes_text(name));
}

/* ---- one step of reading: how many bytes at `at` are these, and how many are masked ---- */

typedef struct {
    size_t shown, hidden; /* first the ones that stay, then the ones that become stars */
} span_t;

static size_t spaces(pr_bytes_t text, size_t at)
{
    size_t from = at;
    while (at < text.len && strchr(" \t\r\n", text.data[at]) && text.data[at] != '\0')
        at++;
    return at - from;
}

/* From behind the opening quote to the closing one, or to the end. */
static size_t quoted_len(pr_bytes_t text, size_t at)
{
    size_t from = at;
    while (at < text.len && text.data[at] != '"')
        at += text.data[at] == '\\' ? 2 : 1;
    return (at < text.len ? at : text.len) - from;
}

static size_t until(pr_bytes_t text, size_t at, const char *ends)
{
    size_t from = at;
    while (at < text.len && (text.data[at] == '\0' || !strchr(ends, text.data[at])))
        at++;
    return at - from;
}

/* As far as a name may reach: what is longer is none, and is not looked through again and again. */
static pr_bytes_t clipped(pr_bytes_t text, size_t at)
{
    return pr_bytes(text.data, text.len - at < NAME_LOOK ? text.len : at + NAME_LOOK);
}

/* "name": "value" or "name": 123, at the quote. Objects and arrays are looked into, not hidden. */
static span_t member(pr_bytes_t text, size_t at)
{
    size_t name_at = at + 1, name_len = quoted_len(clipped(text, name_at), name_at);
    size_t value_at = name_at + name_len + 1;
    value_at += spaces(text, value_at);
    if (value_at >= text.len || text.data[value_at] != ':' ||
        !is_secret_name(pr_bytes(text.data + name_at, name_len)))
        return (span_t){0};
    value_at++;
    value_at += spaces(text, value_at);
    if (value_at >= text.len || text.data[value_at] == '{' || text.data[value_at] == '[')
        return (span_t){0};
    if (text.data[value_at] != '"')
        return (span_t){value_at - at, until(text, value_at, ",}] \t\r\n")};
    value_at++;
    return (span_t){value_at - at, quoted_len(text, value_at)};
}

/* name=value, at the start of a form or query, or behind ? and &. */
static span_t field(pr_bytes_t text, size_t at)
{
    if (at > 0 && text.data[at - 1] != '&' && text.data[at - 1] != '?')
        return (span_t){0};
    size_t name_len = until(clipped(text, at), at, "=&?#\"{}<> \t\r\n"),
           value_at = at + name_len + 1;
    if (value_at > text.len || text.data[value_at - 1] != '=' ||
        !is_secret_name(pr_bytes(text.data + at, name_len)))
        return (span_t){0};
    return (span_t){name_len + 1, until(text, value_at, "&#\" \t\r\n")};
}

static span_t known_secret(const pr_mask_t *self, pr_bytes_t text, size_t at)
{
    if (!self->begins[text.data[at]])
        return (span_t){0};
    for (size_t i = 0; i < self->count; i++) {
        pr_bytes_t secret = self->values[i];
        if (text.len - at >= secret.len && memcmp(text.data + at, secret.data, secret.len) == 0)
            return (span_t){0, secret.len};
    }
    return (span_t){0};
}

static bool is_luhn(pr_bytes_t digits)
{
    unsigned sum = 0;
    for (size_t i = 0; i < digits.len; i++) {
        unsigned digit = (unsigned)(digits.data[digits.len - 1 - i] - '0');
        digit *= i % 2 == 1 ? 2 : 1;
        sum += digit > 9 ? digit - 9 : digit;
    }
    return sum % 10 == 0;
}

/* The ranges of issuers: 3 to 6, and Mastercard's 2221 to 2720. Dates and counters begin otherwise. */
static bool is_issued(const uint8_t *digits)
{
    int head = (digits[0] - '0') * 1000 + (digits[1] - '0') * 100 + (digits[2] - '0') * 10 +
               (digits[3] - '0');
    return (head >= 3000 && head <= 6999) || (head >= 2221 && head <= 2720);
}

/* A card's number, written without gaps. */
static span_t card(pr_bytes_t text, size_t at)
{
    size_t len = 0;
    if (at > 0 && (is_digit(text.data[at - 1]) || is_letter(text.data[at - 1])))
        return (span_t){0};
    while (at + len < text.len && is_digit(text.data[at + len]))
        len++;
    bool alone = at + len == text.len || !is_letter(text.data[at + len]);
    if (!alone || len < CARD_MIN || len > CARD_MAX || !is_issued(text.data + at) ||
        !is_luhn(pr_bytes(text.data + at, len)))
        return (span_t){0};
    return (span_t){CARD_HEAD, len - CARD_HEAD - CARD_TAIL};
}

static span_t look(const pr_mask_t *self, pr_bytes_t text, size_t at)
{
    span_t found = known_secret(self, text, at);
    if (found.hidden == 0 && text.data[at] == '"')
        found = member(text, at);
    if (found.hidden == 0)
        found = field(text, at);
    if (found.hidden == 0 && is_digit(text.data[at]))
        found = card(text, at);
    return found;
}

pr_rc_t pr_mask_text(pr_mask_t *self, pr_bytes_t text, pr_buffer_t *out)
{
    pr_rc_t rc = PR_OK;
    size_t plain_at = 0; /* from here on nothing was written yet */
    for (size_t at = 0; at < text.len && rc == PR_OK;) {
        span_t found = look(self, text, at);
        if (found.hidden == 0) {
            at++;
            continue;
        }
        rc = pr_buffer_append(out, text.data + plain_at, at + found.shown - plain_at);
        if (rc == PR_OK)
            rc = pr_buffer_append_text(out, STARS);
        self->masked++;
        at += found.shown + found.hidden;
        plain_at = at;
    }
    if (rc != PR_OK || plain_at >= text.len)
        return rc;
    return pr_buffer_append(out, text.data + plain_at, text.len - plain_at);
}

pr_rc_t pr_mask_header(pr_mask_t *self, const char *name, pr_bytes_t value, pr_buffer_t *out)
{
    if (!is_secret_header(name))
        return pr_mask_text(self, value, out);
    char plain[NAME_MAX_BYTES];
    (void)plain_name(pr_bytes_text(name), plain);
    size_t scheme = strstr(plain, "authorization") ? until(value, 0, " ") : value.len;
    self->masked++;
    if (scheme < value.len && pr_buffer_append(out, value.data, scheme + 1) != PR_OK)
        return PR_BAD;
    return pr_buffer_append_text(out, STARS);
}
