/* SPDX-License-Identifier: Apache-2.0
 *
 * A record is built in one fixed buffer and leaves with one write(2), so that lines of several
 * processes on one stderr do not mix. A record that is too long is cut and ends with "...".
 *
 * The caller's format is walked here, conversion by conversion, because only so can the values of
 * %s be told apart from the text around them and be escaped.
 */
#include "base/log.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/fnv.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* PIPE_BUF on Linux: a write to a pipe up to this is never torn */
#define REPEAT_MS 10000
#define KEY_MAX_BYTES 64
#define SETS 128
#define WAYS 4

typedef struct {
    char text[LINE_MAX_BYTES];
    size_t len;
    bool cut;
} line_t;

typedef struct {
    uint64_t id; /* hash of event and key; 0 = free */
    int64_t written_ms;
    uint64_t suppressed;
} repeat_t;

static struct {
    const char *actor;
    pr_log_level_t level;
    uint64_t seq;
    uint64_t dropped; /* refused by stderr since the last line that got through */
    repeat_t repeats[SETS][WAYS];
} logger = {.actor = "postrider", .level = PR_LOG_INFO};

static const char *const level_names[] = {"none", "error", "warn", "info", "debug"};

void pr_log_init(const char *actor, pr_log_level_t level)
{
    logger.actor = actor;
    logger.level = level;
}

pr_log_level_t pr_log_level_parse(const char *text)
{
    for (int level = PR_LOG_ERROR; level <= PR_LOG_DEBUG; level++)
        if (strcmp(text, level_names[level]) == 0)
            return (pr_log_level_t)level;
    return PR_LOG_NONE;
}

/* The line's last 5 bytes are kept for "...\n" and the NUL of snprintf. */
static size_t room(const line_t *line)
{
    return sizeof line->text - 5 - line->len;
}

static void add(line_t *line, const char *text, size_t len)
{
    if (len > room(line)) {
        len = room(line);
        line->cut = true;
    }
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

static void add_text(line_t *line, const char *text)
{
    add(line, text, strlen(text));
}

static bool is_plain(const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];
        if (c <= 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '=')
            return false;
    }
    return len > 0;
}

static void add_escaped(line_t *line, const char *value, size_t len)
{
    if (is_plain(value, len)) {
        add(line, value, len);
        return;
    }
    add_text(line, "\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];
        char piece[8];
        if (c == '"' || c == '\\')
            snprintf(piece, sizeof piece, "\\%c", c);
        else if (c == '\n')
            snprintf(piece, sizeof piece, "\\n");
        else if (c < 0x20 || c >= 0x7f)
            snprintf(piece, sizeof piece, "\\x%02x", c);
        else
            snprintf(piece, sizeof piece, "%c", c);
        add_text(line, piece);
    }
    add_text(line, "\"");
}

/* One conversion as it stands in the format: "%" flags width .precision length letter. */
typedef struct {
    char text[24];
    char letter;
    int longs;     /* number of 'l' */
    bool is_size;  /* 'z' */
    bool is_max;   /* 'j' */
    int precision; /* of "%.Ns" and "%.*s"; -1 none */
} conversion_t;

static const char *read_conversion(const char *at, conversion_t *out, va_list *args)
{
    *out = (conversion_t){.precision = -1};
    size_t len = 0;
    const char *start = at;
    bool after_dot = false;
    for (at++; *at; at++) {
        if (*at == '.') {
            after_dot = true;
            out->precision = 0;
        } else if (*at == '*') {
            /* only "%.*s" is supported */
            pr_assert(after_dot);
            out->precision = va_arg(*args, int);
        } else if (isdigit((unsigned char)*at) || strchr("-+ #", *at)) {
            if (after_dot)
                out->precision = out->precision * 10 + (*at - '0');
        } else if (*at == 'l') {
            out->longs++;
        } else if (*at == 'z') {
            out->is_size = true;
        } else if (*at == 'j') {
            out->is_max = true;
        } else {
            break;
        }
    }
    out->letter = *at;
    len = (size_t)(at - start) + 1;
    pr_assert(*at && len < sizeof out->text);
    memcpy(out->text, start, len);
    return at + 1;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* pieces of a checked literal */

static void format_integer(char *out, size_t size, const conversion_t *c, va_list *args)
{
    if (c->longs >= 2) /* NOLINTNEXTLINE(bugprone-branch-clone): the types differ elsewhere */
        snprintf(out, size, c->text, va_arg(*args, long long));
    else if (c->longs == 1)
        snprintf(out, size, c->text, va_arg(*args, long));
    else if (c->is_size)
        snprintf(out, size, c->text, va_arg(*args, size_t));
    else if (c->is_max)
        snprintf(out, size, c->text, va_arg(*args, intmax_t));
    else
        snprintf(out, size, c->text, va_arg(*args, int));
}

static void add_value(line_t *line, const conversion_t *c, va_list *args)
{
    char piece[352] = ""; /* the longest double in %f */
    switch (c->letter) {
    case 's': {
        const char *value = va_arg(*args, const char *);
        if (!value)
            value = "(null)";
        size_t max = c->precision >= 0 ? (size_t)c->precision : SIZE_MAX;
        add_escaped(line, value, strnlen(value, max));
        return;
    }
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
        format_integer(piece, sizeof piece, c, args);
        break;
    case 'c':
        piece[0] = (char)va_arg(*args, int);
        add_escaped(line, piece, 1);
        return;
    case 'f':
    case 'g':
    case 'e':
        snprintf(piece, sizeof piece, c->text, va_arg(*args, double));
        break;
    default:
        pr_assert_failed("unsupported conversion in a log format", __FILE__, __LINE__);
    }
    add_text(line, piece);
}

#pragma GCC diagnostic pop

static void add_fields(line_t *line, const char *fmt, va_list *args)
{
    if (*fmt)
        add_text(line, " ");
    while (*fmt) {
        if (fmt[0] == '%' && fmt[1] == '%') {
            add_text(line, "%");
            fmt += 2;
        } else if (*fmt == '%') {
            conversion_t conversion;
            fmt = read_conversion(fmt, &conversion, args);
            add_value(line, &conversion, args);
        } else {
            size_t len = strcspn(fmt, "%");
            add(line, fmt, len);
            fmt += len;
        }
    }
}

static void add_number(line_t *line, const char *name, uint64_t value)
{
    char piece[48];
    snprintf(piece, sizeof piece, " %s=%llu", name, (unsigned long long)value);
    add_text(line, piece);
}

static void begin(line_t *line, pr_log_level_t level, const char *event)
{
    int64_t now_us = pr_clock_wall_us();
    time_t now_s = (time_t)(now_us / 1000000);
    struct tm tm;
    char piece[64];
    line->len = 0;
    line->cut = false;
    gmtime_r(&now_s, &tm);
    size_t len = strftime(piece, sizeof piece, "at=%Y-%m-%dT%H:%M:%S", &tm);
    add(line, piece, len);
    snprintf(piece, sizeof piece, ".%03dZ level=%s actor=", (int)(now_us / 1000 % 1000),
             level_names[level]);
    add_text(line, piece);
    add_escaped(line, logger.actor, strlen(logger.actor));
    add_number(line, "pid", (uint64_t)getpid());
    add_number(line, "seq", ++logger.seq);
    add_text(line, " event=");
    add_text(line, event);
}

static void finish(line_t *line)
{
    if (logger.dropped > 0)
        add_number(line, "dropped", logger.dropped);
    if (line->cut) {
        memcpy(line->text + line->len, "...", 3);
        line->len += 3;
    }
    line->text[line->len++] = '\n';
    ssize_t wrote = write(STDERR_FILENO, line->text, line->len);
    if (wrote == (ssize_t)line->len)
        logger.dropped = 0;
    else
        logger.dropped++;
}

static void write_record(pr_log_level_t level, const char *event, uint64_t suppressed,
                         const char *fmt, va_list *args)
{
    line_t line;
    begin(&line, level, event);
    if (suppressed > 0)
        add_number(&line, "suppressed", suppressed);
    add_fields(&line, fmt, args);
    finish(&line);
}

static bool wanted(pr_log_level_t level)
{
    return level != PR_LOG_NONE && level <= logger.level;
}

/* A collision costs a suppressed line, no more. */
static uint64_t repeat_id(const char *event, const char *key)
{
    uint64_t hash = pr_fnv_bytes(PR_FNV_START, event, strlen(event) + 1); /* the NUL divides */
    hash = pr_fnv_bytes(hash, key, strnlen(key, KEY_MAX_BYTES));
    return hash ? hash : 1;
}

/* The entry of id; if there is none, the one of its set that was written longest ago. */
static repeat_t *repeat_entry(uint64_t id)
{
    repeat_t *set = logger.repeats[id % SETS];
    repeat_t *oldest = &set[0];
    for (int way = 0; way < WAYS; way++) {
        if (set[way].id == id)
            return &set[way];
        if (set[way].written_ms < oldest->written_ms)
            oldest = &set[way];
    }
    return oldest;
}

/* True: write it now, and tell *suppressed earlier ones. */
static bool repeat_may_pass(const char *event, const char *key, uint64_t *suppressed)
{
    int64_t now_ms = pr_clock_mono_ms();
    uint64_t id = repeat_id(event, key);
    repeat_t *entry = repeat_entry(id);
    if (entry->id == id && now_ms - entry->written_ms < REPEAT_MS) {
        entry->suppressed++;
        return false;
    }
    *suppressed = entry->id == id ? entry->suppressed : 0;
    *entry = (repeat_t){.id = id, .written_ms = now_ms};
    return true;
}

void pr_log(pr_log_level_t level, const char *event, const char *fmt, ...)
{
    if (!wanted(level))
        return;
    va_list args;
    va_start(args, fmt);
    write_record(level, event, 0, fmt, &args);
    va_end(args);
}

void pr_log_limited(pr_log_level_t level, const char *event, const char *key, const char *fmt, ...)
{
    uint64_t suppressed = 0;
    if (!wanted(level) || !repeat_may_pass(event, key ? key : "", &suppressed))
        return;
    va_list args;
    va_start(args, fmt);
    write_record(level, event, suppressed, fmt, &args);
    va_end(args);
}

void pr_log_error(pr_log_level_t level, const char *event, const pr_error_t *error)
{
    pr_log_limited(level, event, error->code, "source=%s code=%s text=%s", error->source,
                   error->code, error->text);
}
