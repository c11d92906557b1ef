/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/temper.h"

#include "base/alloc.h"
#include "base/buffer.h"

#include <string.h>

/* Arguments, one letter each: d duration, p share, c status, n count, m second count, t text to
 * the end, r Retry-After as `date`. Those after '?' may be left out; the row holds their defaults. */
typedef struct {
    const char *name, *args, *usage, *help;
    pr_temper_t base;
} row_t;

#define T(kind_, ...) \
    { \
        .kind = PR_TEMPER_##kind_, ##__VA_ARGS__ \
    }

static const row_t rows[] = {
    {"prompt", "", "prompt", "200 SUCCESS at once", T(PROMPT)},
    {"slow", "d", "slow:TIME", "200 SUCCESS after TIME", T(SLOW)},
    {"flaky", "p?c", "flaky:SHARE[:CODE]",
     "SHARE of the tries get CODE (500), by hash of id and try", T(FLAKY, .code = 500)},
    {"refuse", "?c", "refuse[:CODE]", "always CODE (500)", T(REFUSE, .code = 500)},
    {"hang", "", "hang", "reads the request and never answers", T(HANG)},
    {"redirect", "?ct", "redirect[:CODE[:URL]]", "CODE (302) to URL (/m/elsewhere)",
     T(REDIRECT, .code = 302, .text = "/m/elsewhere", .text_len = 12)},
    {"gone", "", "gone", "410", T(GONE, .code = 410)},
    {"throttle", "?cdnr", "throttle[:CODE[:TIME[:BURST[:date]]]]",
     "CODE (429) with Retry-After TIME (2s); closed so long, then BURST (10) are let in, and again",
     T(THROTTLE, .code = 429, .ms = 2000, .count = 10)},
    {"huge", "?n", "huge[:BYTES]", "200 and BYTES (1048576) of x", T(HUGE, .count = 1048576)},
    {"padded", "?n", "padded[:BYTES]", "200, BYTES (2048) spaces, SUCCESS",
     T(PADDED, .count = 2048)},
    {"endless", "", "endless", "200 and a chunked body without end", T(ENDLESS)},
    {"drip", "?d", "drip[:TIME]", "200 SUCCESS, one byte every TIME (1s)", T(DRIP, .ms = 1000)},
    {"garbage", "", "garbage", "bytes that are not HTTP, then closes", T(GARBAGE)},
    {"reset", "", "reset", "RST instead of an answer", T(RESET)},
    {"close", "", "close", "closes instead of answering", T(CLOSE)},
    {"truncated", "", "truncated", "promises 100 bytes of body, sends SUCCESS and closes",
     T(TRUNCATED)},
    {"recover", "d?c", "recover:TIME[:CODE]",
     "CODE (500) for TIME from the first request on, then prompt", T(RECOVER, .code = 500)},
    {"flip", "?nmc", "flip[:FAIL[:GOOD[:CODE]]]",
     "FAIL (1) requests get CODE (500), GOOD (1) succeed, and so on",
     T(FLIP, .count = 1, .more = 1, .code = 500)},
    {"fail-first", "n?c", "fail-first:N[:CODE]",
     "the first N tries of each notification get CODE (500)", T(FAIL_FIRST, .code = 500)},
    {"leave", "?d", "leave[:TIME]",
     "200 SUCCESS with keep-alive, yet closes TIME (0) after the answer", T(LEAVE)},
    {"interim", "", "interim", "103 Early Hints before 200 SUCCESS", T(INTERIM)},
    {"answer", "c?t", "answer:CODE[:BODY]", "CODE with BODY", T(ANSWER)},
    {"raw", "t", "raw:BYTES", "exactly BYTES (percent-escaped), then closes", T(RAW)},
};

typedef struct {
    const char *at, *end;
} cursor_t;

static bool take_number(cursor_t *from, uint64_t max, uint64_t *out)
{
    const char *start = from->at;
    uint64_t value = 0;
    while (from->at < from->end && *from->at >= '0' && *from->at <= '9') {
        value = value * 10 + (uint64_t)(*from->at - '0');
        if (value > max) {
            return false;
        }
        from->at++;
    }
    *out = value;
    return from->at > start;
}

static bool take_duration(cursor_t *from, int64_t *out)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"", 1000}};
    uint64_t value = 0;
    if (!take_number(from, 1000000000, &value)) {
        return false;
    }
    size_t len = (size_t)(from->end - from->at);
    for (size_t i = 0; i < PR_COUNT(units); i++) {
        if (strlen(units[i].unit) == len && memcmp(units[i].unit, from->at, len) == 0) {
            *out = (int64_t)value * units[i].ms;
            return true;
        }
    }
    return false;
}

/* "0.25", ".5", "1": in millionths. */
static bool take_share(cursor_t *from, uint32_t *out)
{
    uint64_t whole = 0;
    uint32_t part = 0;
    if (from->at < from->end && *from->at != '.' && !take_number(from, 1, &whole)) {
        return false;
    }
    if (from->at < from->end && *from->at == '.') {
        from->at++;
        for (uint32_t unit = 100000; from->at < from->end; from->at++, unit /= 10) {
            if (*from->at < '0' || *from->at > '9') {
                return false;
            }
            part += (uint32_t)(*from->at - '0') * unit;
        }
    }
    *out = (uint32_t)whole * 1000000U + part;
    return *out <= 1000000U;
}

static bool take_text(cursor_t field, pr_temper_t *out)
{
    size_t len = (size_t)(field.end - field.at);
    memcpy(out->text, field.at, len); /* fits: the whole decoded spec does */
    out->text[len] = '\0';
    out->text_len = (uint16_t)len;
    return true;
}

static bool take_argument(char letter, cursor_t field, pr_temper_t *out)
{
    uint64_t number = 0;
    bool good = false;
    switch (letter) {
    case 'd':
        return take_duration(&field, &out->ms);
    case 'p':
        return take_share(&field, &out->ppm) && field.at == field.end;
    case 'c':
        good = take_number(&field, 999, &number) && number >= 200 && field.at == field.end;
        out->code = (int)number;
        return good;
    case 'n':
        return take_number(&field, 1ULL << 40, &out->count) && field.at == field.end;
    case 'm':
        return take_number(&field, 1ULL << 40, &out->more) && field.at == field.end;
    case 'r':
        out->date = true;
        return field.end - field.at == 4 && memcmp(field.at, "date", 4) == 0;
    default:
        return take_text(field, out);
    }
}

static size_t unescape(const char *spec, size_t len, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = 0;
        if (spec[i] == '%' && i + 2 < len && pr_unhex(spec + i + 1, 2, &byte)) {
            out[used++] = (char)byte;
            i += 2;
        } else {
            out[used++] = spec[i];
        }
    }
    out[used] = '\0';
    return used;
}

static const row_t *find_row(const char *name, size_t len)
{
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

pr_rc_t pr_temper_parse(const char *spec, size_t len, pr_temper_t *out, pr_error_t *error)
{
    char plain[PR_TEMPER_TEXT_MAX + 1];
    if (len > PR_TEMPER_TEXT_MAX) {
        return pr_error_set(error, PR_BAD, "sandbox", "", "temper longer than %d bytes",
                            PR_TEMPER_TEXT_MAX);
    }
    cursor_t rest = {plain, plain + unescape(spec, len, plain)};
    const char *colon = memchr(rest.at, ':', (size_t)(rest.end - rest.at));
    const row_t *row = find_row(rest.at, (size_t)((colon ? colon : rest.end) - rest.at));
    if (!row) {
        return pr_error_set(error, PR_BAD, "sandbox", "", "unknown temper '%s'", plain);
    }
    pr_temper_t made = row->base;
    bool optional = false;
    for (const char *letter = row->args; *letter; letter++) {
        if (*letter == '?') {
            optional = true;
            continue;
        }
        if (!colon) {
            if (optional) {
                break;
            }
            return pr_error_set(error, PR_BAD, "sandbox", "", "temper '%s': write it as %s", plain,
                                row->usage);
        }
        cursor_t field = {colon + 1, rest.end};
        colon = *letter == 't' ? NULL : memchr(field.at, ':', (size_t)(field.end - field.at));
        field.end = colon ? colon : rest.end;
        if (!take_argument(*letter, field, &made)) {
            return pr_error_set(error, PR_BAD, "sandbox", "", "temper '%s': write it as %s", plain,
                                row->usage);
        }
    }
    if (colon) {
        return pr_error_set(error, PR_BAD, "sandbox", "",
                            "temper '%s': too many parts, write it as %s", plain, row->usage);
    }
    *out = made;
    return PR_OK;
}

const char *pr_temper_name(pr_temper_kind_t kind)
{
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        if (rows[i].base.kind == kind) {
            return rows[i].name;
        }
    }
    return "none";
}

bool pr_temper_describe(size_t i, const char **usage, const char **help)
{
    if (i >= PR_COUNT(rows)) {
        return false;
    }
    *usage = rows[i].usage;
    *help = rows[i].help;
    return true;
}
