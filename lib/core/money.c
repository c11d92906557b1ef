/* SPDX-License-Identifier: Apache-2.0 */
#include "core/money.h"

#include "base/alloc.h"

#include <string.h>

#define CODE 3
#define FRACTION_DIGITS_MAX 12

/* ISO 4217, list one, by number of digits. Withdrawn codes of the last years stay: statements and
 * late webhooks still name them. Funds and metals (XAU, XDR, XXX ...) are not money to be paid
 * with. */
static const char *const codes_by_exponent[PR_MONEY_EXPONENT_MAX + 1] = {
    "BIFCLPDJFGNFISKJPYKMFKRWPYGRWFUGXUYIVNDVUVXAFXOFXPF",
    "",
    "AEDAFNALLAMDANGAOAARSAUDAWGAZNBAMBBDBDTBGNBMDBNDBOBBOVBRLBSDBTNBWPBYNBZDCADCDFCHECHFCHWCNYCOP"
    "COUCRCCUCCUPCVECZKDKKDOPDZDEGPERNETBEURFJDFKPGBPGELGHSGIPGMDGTQGYDHKDHNLHRKHTGHUFIDRILSINRIRR"
    "JMDKESKGSKHRKPWKYDKZTLAKLBPLKRLRDLSLMADMDLMGAMKDMMKMNTMOPMRUMURMVRMWKMXNMXVMYRMZNNADNGNNIONOK"
    "NPRNZDPABPENPGKPHPPKRPLNQARRONRSDRUBSARSBDSCRSDGSEKSGDSHPSLESLLSOSSRDSSPSTNSVCSYPSZLTHBTJSTMT"
    "TOPTRYTTDTWDTZSUAHUSDUSNUYUUZSVEDVESWSTXADXCDXCGYERZARZMWZWGZWL",
    "BHDIQDJODKWDLYDOMRTND",
    "CLFUYW",
};

static const int64_t powers[] = {1, 10, 100, 1000, 10000};

bool pr_money_is_currency(const char *text)
{
    for (size_t i = 0; i < CODE; i++)
        if (text[i] < 'A' || text[i] > 'Z')
            return false;
    return text[CODE] == '\0';
}

static int iso_exponent(const char *currency)
{
    for (int exponent = 0; exponent <= PR_MONEY_EXPONENT_MAX; exponent++)
        for (const char *code = codes_by_exponent[exponent]; *code; code += CODE)
            if (memcmp(code, currency, CODE) == 0)
                return exponent;
    return -1;
}

static int gateway_exponent(const char *currency, const pr_money_overrides_t *overrides)
{
    for (size_t i = 0; overrides && i < overrides->count; i++)
        if (memcmp(overrides->entries[i].currency, currency, CODE) == 0)
            return overrides->entries[i].exponent;
    return iso_exponent(currency);
}

int pr_money_exponent(const char *currency, const pr_money_overrides_t *overrides)
{
    return pr_money_is_currency(currency) ? gateway_exponent(currency, overrides) : -1;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Puts the digits after those of *value; false when it grows over the maximum. */
static bool push_digits(int64_t *value, const uint8_t *digits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (*value > PR_MONEY_MINOR_MAX / 10)
            return false;
        *value = *value * 10 + (digits[i] - '0');
    }
    return *value <= PR_MONEY_MINOR_MAX;
}

typedef struct {
    size_t whole;    /* digits before the point */
    size_t fraction; /* digits after it */
} shape_t;

static bool shape_of(pr_bytes_t text, pr_money_unit_t unit, shape_t *shape)
{
    size_t at = 0;
    while (at < text.len && is_digit(text.data[at]))
        at++;
    *shape = (shape_t){.whole = at};
    if (at == 0 || (at > 1 && text.data[0] == '0'))
        return false;
    if (at == text.len)
        return true;
    if (unit != PR_MONEY_UNIT_MAJOR || text.data[at] != '.')
        return false;
    while (at + 1 + shape->fraction < text.len && is_digit(text.data[at + 1 + shape->fraction]))
        shape->fraction++;
    return shape->fraction >= 1 && shape->fraction <= FRACTION_DIGITS_MAX &&
           at + 1 + shape->fraction == text.len;
}

/* The value in the gateway's smallest unit. */
static pr_money_result_t read_units(pr_bytes_t text, const shape_t *shape, size_t digits,
                                    int64_t *units)
{
    static const uint8_t zeros[] = "0000";
    const uint8_t *fraction = text.data + shape->whole + 1;
    size_t kept = shape->fraction < digits ? shape->fraction : digits;
    for (size_t i = kept; i < shape->fraction; i++)
        if (fraction[i] != '0')
            return PR_MONEY_FRACTION;
    *units = 0;
    return push_digits(units, text.data, shape->whole) && push_digits(units, fraction, kept) &&
                   push_digits(units, zeros, digits - kept)
               ? PR_MONEY_OK
               : PR_MONEY_TOO_LARGE;
}

pr_money_result_t pr_money_parse(pr_bytes_t text, pr_money_unit_t unit, const char *currency,
                                 const pr_money_overrides_t *overrides, int64_t *minor)
{
    shape_t shape;
    int64_t units;
    int theirs = pr_money_exponent(currency, overrides);
    if (theirs < 0)
        return PR_MONEY_UNKNOWN_CURRENCY;
    if (!shape_of(text, unit, &shape))
        return PR_MONEY_MALFORMED;
    pr_money_result_t result =
        read_units(text, &shape, unit == PR_MONEY_UNIT_MAJOR ? (size_t)theirs : 0, &units);
    if (result != PR_MONEY_OK)
        return result;
    int iso = iso_exponent(currency);
    if (iso < 0)
        iso = theirs; /* known to this gateway only: its own unit is ours */
    if (iso < theirs && units % powers[theirs - iso] != 0)
        return PR_MONEY_FRACTION;
    if (iso > theirs && units > PR_MONEY_MINOR_MAX / powers[iso - theirs])
        return PR_MONEY_TOO_LARGE;
    *minor = iso < theirs ? units / powers[theirs - iso] : units * powers[iso - theirs];
    return PR_MONEY_OK;
}

/* From the last digit to the first; the point stands before the last `digits` of them. */
static void write_units(int64_t units, int digits, char out[PR_MONEY_TEXT_MAX])
{
    char *at = out + PR_MONEY_TEXT_MAX - 1;
    *at = '\0';
    for (int written = 0; units > 0 || written <= digits; written++, units /= 10) {
        if (written > 0 && written == digits)
            *--at = '.';
        *--at = (char)('0' + units % 10);
    }
    memmove(out, at, (size_t)(out + PR_MONEY_TEXT_MAX - at));
}

bool pr_money_format(int64_t minor, pr_money_unit_t unit, const char *currency,
                     const pr_money_overrides_t *overrides, char out[PR_MONEY_TEXT_MAX])
{
    int theirs = pr_money_exponent(currency, overrides);
    if (theirs < 0 || minor < 0 || minor > PR_MONEY_MINOR_MAX)
        return false;
    int iso = iso_exponent(currency);
    if (iso < 0)
        iso = theirs;
    if (iso > theirs && minor % powers[iso - theirs] != 0)
        return false;
    /* at most 2^53 * 10^4: fits */
    int64_t units = iso > theirs ? minor / powers[iso - theirs] : minor * powers[theirs - iso];
    if (units > PR_MONEY_MINOR_MAX)
        return false;
    write_units(units, unit == PR_MONEY_UNIT_MAJOR ? theirs : 0, out);
    return true;
}

const char *pr_money_result_name(pr_money_result_t result)
{
    static const char *const names[] = {"ok", "malformed", "fraction", "too_large",
                                        "unknown_currency"};
    return (size_t)result < PR_COUNT(names) ? names[result] : "?";
}
