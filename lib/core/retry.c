/* SPDX-License-Identifier: Apache-2.0 */
#include "core/retry.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/buffer.h"
#include "base/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_JITTER_PERCENT 10
#define CHARGE_JITTER_MS 500

static const struct {
    const char *name;
    pr_retry_kind_t kind;
} kinds[] = {
    {"list", PR_RETRY_LIST},
    {"fixed", PR_RETRY_FIXED},
    {"linear", PR_RETRY_LINEAR},
    {"exponential", PR_RETRY_EXPONENTIAL},
    {"exponential-jitter", PR_RETRY_EXPONENTIAL_JITTER},
};

/* ---- reading ---- */

static bool is_exponential(pr_retry_kind_t kind)
{
    return kind == PR_RETRY_EXPONENTIAL || kind == PR_RETRY_EXPONENTIAL_JITTER;
}

static pr_bytes_t trim(pr_bytes_t text)
{
    while (text.len > 0 && text.data[0] == ' ') {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && text.data[text.len - 1] == ' ')
        text.len--;
    return text;
}

/* Cuts *rest at the first separator: gives what stands before it, leaves what follows. */
static bool cut(pr_bytes_t *rest, const char *separator, pr_bytes_t *before)
{
    size_t width = strlen(separator);
    for (size_t i = 0; i + width <= rest->len; i++) {
        if (memcmp(rest->data + i, separator, width) == 0) {
            *before = trim(pr_bytes(rest->data, i));
            *rest = trim(pr_bytes(rest->data + i + width, rest->len - i - width));
            return true;
        }
    }
    return false;
}

/* The next piece up to the separator or the end; false when nothing is left. */
static bool next_piece(pr_bytes_t *rest, bool *more, char separator, pr_bytes_t *piece)
{
    if (!*more)
        return false;
    const char text[] = {separator, '\0'};
    if (!cut(rest, text, piece)) {
        *piece = trim(*rest);
        *more = false;
    }
    return true;
}

static bool read_number(pr_bytes_t text, uint32_t max, uint32_t *out)
{
    uint32_t value = 0;
    if (text.len == 0 || text.len > 6)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (uint32_t)(text.data[i] - '0');
    }
    *out = value;
    return value <= max;
}

static bool read_duration(pr_bytes_t text, int64_t min_ms, int64_t *ms)
{
    return pr_duration_parse((const char *)text.data, text.len, ms) && *ms >= min_ms &&
           *ms <= PR_RETRY_DELAY_MAX_MS;
}

static pr_rc_t bad(pr_error_t *error, const char *what, pr_bytes_t text)
{
    int len = text.len < 40 ? (int)text.len : 40;
    return pr_error_set(error, PR_BAD, "retry", "", "%s at '%.*s'", what, len,
                        text.data ? (const char *)text.data : "");
}

static pr_rc_t read_list(pr_bytes_t rest, pr_retry_policy_t *out, pr_error_t *error)
{
    bool more = true;
    pr_bytes_t piece;
    while (next_piece(&rest, &more, ',', &piece)) {
        if (out->retries == PR_RETRY_LIST_MAX)
            return bad(error, "more than 64 delays", piece);
        if (!read_duration(piece, 0, &out->list_ms[out->retries]))
            return bad(error, "not a delay of 0 to 30d (units ms s m h d)", piece);
        out->retries++;
    }
    return PR_OK;
}

/* BASE*RETRIES, or BASE..CAP*RETRIES for the exponential kinds. */
static pr_rc_t read_formula(pr_bytes_t rest, pr_retry_policy_t *out, pr_error_t *error)
{
    pr_bytes_t whole = rest, base, cap;
    if (!cut(&rest, "*", &base))
        return bad(error, "*RETRIES is missing", whole);
    if (!read_number(rest, PR_RETRY_TRIES_MAX, &out->retries) || out->retries == 0)
        return bad(error, "not a number of retries from 1 to 1000", rest);
    if (is_exponential(out->kind)) {
        cap = base;
        if (!cut(&cap, "..", &base))
            return bad(error, "BASE..CAP is missing", whole);
        if (!read_duration(cap, 1, &out->cap_ms))
            return bad(error, "not a cap of 1ms to 30d", cap);
    }
    if (!read_duration(base, 1, &out->base_ms))
        return bad(error, "not a delay of 1ms to 30d (units ms s m h d)", base);
    return PR_OK;
}

static pr_rc_t read_jitter(pr_bytes_t value, pr_retry_policy_t *out, pr_error_t *error)
{
    pr_bytes_t whole = value;
    out->jitter_percent = 0;
    out->jitter_ms = 0;
    if (value.len > 2 && memcmp(value.data, "+-", 2) == 0) {
        out->jitter_both_ways = true;
        value = pr_bytes(value.data + 2, value.len - 2);
    }
    if (value.len > 0 && value.data[value.len - 1] == '%') {
        if (read_number(pr_bytes(value.data, value.len - 1), 100, &out->jitter_percent))
            return PR_OK;
    } else if (!out->jitter_both_ways && read_duration(value, 0, &out->jitter_ms)) {
        return PR_OK;
    }
    return bad(error, "not a jitter such as 10%, +-20% or 500ms", whole);
}

static pr_rc_t read_options(pr_bytes_t rest, pr_retry_policy_t *out, pr_error_t *error)
{
    bool more = true, jitter_seen = false, cap_seen = is_exponential(out->kind);
    pr_bytes_t option, name;
    while (next_piece(&rest, &more, ';', &option)) {
        pr_bytes_t whole = option;
        if (!cut(&option, "=", &name))
            return bad(error, "not an option NAME=VALUE", whole);
        if (pr_bytes_equal(name, pr_bytes_text("jitter")) && !jitter_seen) {
            jitter_seen = true;
            pr_rc_t rc = read_jitter(option, out, error);
            if (rc != PR_OK)
                return rc;
        } else if (pr_bytes_equal(name, pr_bytes_text("cap")) && !cap_seen) {
            cap_seen = true;
            if (!read_duration(option, 1, &out->cap_ms))
                return bad(error, "not a cap of 1ms to 30d", option);
        } else {
            return bad(error, "unknown or repeated option (jitter, cap)", whole);
        }
    }
    return PR_OK;
}

static pr_retry_kind_t read_kind(pr_bytes_t name)
{
    for (size_t i = 0; i < PR_COUNT(kinds); i++)
        if (pr_bytes_equal(name, pr_bytes_text(kinds[i].name)))
            return kinds[i].kind;
    return PR_RETRY_NONE;
}

static void set_default_jitter(pr_retry_policy_t *self)
{
    if (self->kind == PR_RETRY_EXPONENTIAL_JITTER)
        self->jitter_ms = CHARGE_JITTER_MS;
    else
        self->jitter_percent = DEFAULT_JITTER_PERCENT;
}

pr_rc_t pr_retry_parse(const char *text, pr_retry_policy_t *out, pr_error_t *error)
{
    pr_retry_policy_t made = {.cap_ms = PR_RETRY_DELAY_MAX_MS};
    pr_bytes_t rest = trim(pr_bytes_text(text)), name, body;
    if (!cut(&rest, ":", &name) || (made.kind = read_kind(name)) == PR_RETRY_NONE)
        return bad(error, "not one of list: fixed: linear: exponential: exponential-jitter:",
                   trim(pr_bytes_text(text)));
    set_default_jitter(&made);
    bool has_options = cut(&rest, ";", &body);
    if (!has_options)
        body = rest;
    pr_rc_t rc = made.kind == PR_RETRY_LIST ? read_list(body, &made, error)
                                            : read_formula(body, &made, error);
    if (rc == PR_OK && has_options)
        rc = read_options(rest, &made, error);
    if (rc == PR_OK && made.base_ms > made.cap_ms)
        rc = bad(error, "the cap is below the base", body);
    if (rc == PR_OK)
        *out = made;
    return rc;
}

pr_retry_policy_t pr_retry_notification(void)
{
    pr_retry_policy_t policy;
    pr_rc_t rc = pr_retry_parse(PR_RETRY_NOTIFICATION_TEXT, &policy, NULL);
    pr_assert(rc == PR_OK);
    return policy;
}

/* ---- deciding ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The delay before jitter, at most the cap. */
static int64_t plain_delay(const pr_retry_policy_t *self, uint32_t attempt)
{
    int64_t delay = self->base_ms;
    switch (self->kind) {
    case PR_RETRY_LIST:
        delay = self->list_ms[attempt - 1];
        break;
    case PR_RETRY_LINEAR:
        delay = self->base_ms * attempt; /* <= 30 d * 1000 */
        break;
    case PR_RETRY_EXPONENTIAL:
    case PR_RETRY_EXPONENTIAL_JITTER:
        for (uint32_t i = 1; i < attempt && delay < self->cap_ms; i++)
            delay *= 2;
        break;
    case PR_RETRY_FIXED:
    case PR_RETRY_NONE:
        break;
    }
    return smaller(delay, self->cap_ms);
}

/* Uniform in 0..span by the high word of a product (Lemire, 2019; the bias is below 2^-30 here). */
static int64_t uniform(int64_t span, uint64_t random)
{
    return (int64_t)((unsigned __int128)random * ((uint64_t)span + 1) >> 64);
}

int64_t pr_retry_delay_ms(const pr_retry_policy_t *self, uint32_t attempt, uint64_t random)
{
    pr_assert(self->retries > 0);
    if (attempt < 1)
        attempt = 1;
    if (attempt > self->retries)
        attempt = self->retries;
    int64_t delay = plain_delay(self, attempt);
    int64_t span = self->jitter_percent > 0 ? delay * self->jitter_percent / 100 : self->jitter_ms;
    if (self->jitter_both_ways)
        delay += uniform(2 * span, random) - span;
    else
        delay += uniform(span, random);
    return smaller(delay, self->cap_ms);
}

bool pr_retry_exhausted(const pr_retry_policy_t *self, uint32_t attempts)
{
    return attempts > self->retries;
}

static int64_t scaled(int64_t ms, double time_scale)
{
    if (ms <= 0)
        return ms;
    int64_t result = (int64_t)((double)ms * time_scale);
    return result < 1 ? 1 : result;
}

void pr_retry_scale(pr_retry_policy_t *self, double time_scale)
{
    pr_assert(time_scale > 0 && time_scale <= 1);
    for (uint32_t i = 0; self->kind == PR_RETRY_LIST && i < self->retries; i++)
        self->list_ms[i] = scaled(self->list_ms[i], time_scale);
    self->base_ms = scaled(self->base_ms, time_scale);
    self->cap_ms = scaled(self->cap_ms, time_scale);
    self->jitter_ms = scaled(self->jitter_ms, time_scale);
}

/* ---- writing ---- */

static void add_duration(pr_buffer_t *out, const char *before, int64_t ms)
{
    char text[PR_DURATION_TEXT_MAX];
    pr_duration_format(ms, text);
    pr_rc_t rc = pr_buffer_printf(out, "%s%s", before, text);
    pr_assert(rc == PR_OK); /* PR_RETRY_TEXT_MAX holds 64 delays of at most 11 characters */
}

static void add_text(pr_buffer_t *out, const char *text)
{
    pr_rc_t rc = pr_buffer_append_text(out, text);
    pr_assert(rc == PR_OK);
}

static void add_jitter(pr_buffer_t *out, const pr_retry_policy_t *self)
{
    char text[32];
    pr_retry_policy_t usual = {.kind = self->kind};
    set_default_jitter(&usual);
    if (self->jitter_percent == usual.jitter_percent && self->jitter_ms == usual.jitter_ms &&
        !self->jitter_both_ways)
        return;
    if (self->jitter_ms > 0) {
        add_duration(out, ";jitter=", self->jitter_ms);
        return;
    }
    snprintf(text, sizeof text, ";jitter=%s%" PRIu32 "%%", self->jitter_both_ways ? "+-" : "",
             self->jitter_percent);
    add_text(out, text);
}

void pr_retry_format(const pr_retry_policy_t *self, char out[PR_RETRY_TEXT_MAX])
{
    pr_buffer_t text;
    char number[16];
    pr_assert(self->kind >= PR_RETRY_LIST && self->kind <= PR_RETRY_EXPONENTIAL_JITTER);
    pr_buffer_init(&text, PR_RETRY_TEXT_MAX - 1);
    add_text(&text, kinds[self->kind - 1].name);
    if (self->kind == PR_RETRY_LIST) {
        for (uint32_t i = 0; i < self->retries; i++)
            add_duration(&text, i == 0 ? ":" : ",", self->list_ms[i]);
    } else {
        add_duration(&text, ":", self->base_ms);
        if (is_exponential(self->kind))
            add_duration(&text, "..", self->cap_ms);
        snprintf(number, sizeof number, "*%" PRIu32, self->retries);
        add_text(&text, number);
    }
    add_jitter(&text, self);
    if (!is_exponential(self->kind) && self->cap_ms != PR_RETRY_DELAY_MAX_MS)
        add_duration(&text, ";cap=", self->cap_ms);
    memcpy(out, pr_buffer_text(&text), text.len + 1);
    pr_buffer_free(&text);
}
