/* SPDX-License-Identifier: Apache-2.0
 *
 * Amounts, times, currencies and words as files write them.
 */
#include "base/alloc.h"
#include "core/moment.h"
#include "statement/statement_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define AMOUNT_TEXT_MAX 48

/* Takes grouping out and the decimal sign to '.': "1.234,50" -> "1234.50". Groups have three
 * digits, and none is behind the decimal sign; anything else stays and is refused by money's
 * grammar. */
static bool plain_amount(const char *text, char decimal, char out[AMOUNT_TEXT_MAX])
{
    size_t len = 0, since_group = 0;
    bool grouped = false, point = false;
    for (; *text; text++) {
        bool group =
            (*text == ',' || *text == '.' || *text == ' ' || *text == '\'') && *text != decimal;
        if (len + 1 >= AMOUNT_TEXT_MAX)
            return false;
        if (group && !point) {
            if (grouped ? since_group != 3 : since_group < 1 || since_group > 3)
                return false;
            grouped = true;
            since_group = 0;
            continue;
        }
        if (*text == decimal) {
            if (point || (grouped && since_group != 3))
                return false;
            point = true;
            out[len++] = '.';
            continue;
        }
        if (!isdigit((unsigned char)*text))
            return false;
        out[len++] = *text;
        since_group++;
    }
    out[len] = '\0';
    return point || !grouped || since_group == 3;
}

const char *pr_value_amount(const pr_statement_spec_t *spec, const char *text, pr_money_unit_t unit,
                            char decimal, const char *currency, int64_t *minor)
{
    char plain[AMOUNT_TEXT_MAX];
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    if (!plain_amount(text, decimal, plain))
        return "malformed";
    pr_money_result_t result =
        pr_money_parse(pr_bytes_text(plain), unit, currency, spec->exponents, minor);
    if (result != PR_MONEY_OK)
        return pr_money_result_name(result);
    *minor = negative ? -*minor : *minor;
    return NULL;
}

/* ---- time ---- */

/* A zone behind the time: "Z", "+08:00", "-0800". */
static bool has_zone(const char *text, size_t len)
{
    if (len > 0 && (text[len - 1] == 'Z' || text[len - 1] == 'z'))
        return true;
    for (size_t i = len; i > 10; i--) /* behind yyyy-mm-dd */
        if (text[i - 1] == '+' || text[i - 1] == '-')
            return true;
    return false;
}

bool pr_value_time(const char *text, int zone_min, int64_t *us)
{
    char local[PR_MOMENT_TEXT_MAX + 16];
    size_t len = strlen(text);
    *us = -1;
    if (len == 0)
        return true;
    if (len < 10 || len > PR_MOMENT_TEXT_MAX)
        return false;
    memcpy(local, text, len + 1);
    if (local[4] == '/' && local[7] == '/')
        local[4] = local[7] = '-';
    bool zoned = has_zone(local, len);
    if (len > 10 && local[10] != 'T' && local[10] != 't' && local[10] != ' ')
        return false;
    if (len == 10)
        memcpy(local + 10, " 00:00:00", 10);
    else if (len == 16)
        memcpy(local + 16, ":00", 4);
    else
        local[10] = zoned ? 'T' : ' ';
    if (len == 16)
        local[10] = ' ';
    if (zoned) { /* "12:00:00 -0800" is read like "12:00:00-0800" */
        char *gap = strchr(local + 11, ' ');
        if (gap)
            memmove(gap, gap + 1, strlen(gap));
    }
    pr_moment_format_t format = zoned ? PR_MOMENT_RFC3339 : PR_MOMENT_LOCAL;
    return pr_moment_parse(pr_bytes_text(local), format, zone_min, us);
}

/* ---- words ---- */

bool pr_value_currency(const pr_statement_spec_t *spec, const char *text, char out[4])
{
    if (strlen(text) != 3)
        return false;
    for (size_t i = 0; i < 4; i++)
        out[i] = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 'a' + 'A') : text[i];
    return pr_money_exponent(out, spec->exponents) >= 0;
}

bool pr_value_is_number(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return len <= PR_STATEMENT_NUMBER_MAX;
}

int pr_value_word(const pr_statement_words_t *words, const char *native, bool *known)
{
    for (size_t i = 0; i < words->count; i++) {
        const char *pattern = words->words[i].native;
        size_t len = strlen(pattern);
        bool prefix = len > 0 && pattern[len - 1] == '*';
        if (prefix ? strncmp(pattern, native, len - 1) == 0 : strcmp(pattern, native) == 0) {
            *known = true;
            return words->words[i].meaning;
        }
    }
    *known = false;
    return 0;
}
