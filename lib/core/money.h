/* SPDX-License-Identifier: Apache-2.0
 *
 * Amounts as text and as integers in the minor unit of ISO 4217 (JPY 0 digits, CNY 2, KWD 3). Pure.
 *
 * One grammar, and no guessing: `0` or digits without leading zeros, for major units optionally a
 * dot and 1 to 12 digits. No sign ("-0.00"), no exponent ("1e3"), no grouping, no space, not empty.
 * "5800", "5800.00" and 5800 minor are the same yen; "5800.50" yen is refused, not rounded. What
 * is above 2^53 - 1 is refused: readers in other languages keep amounts in doubles.
 *
 * A gateway's own exponents (Stripe's ISK, Adyen's CLP ...) come as overrides. A currency that is
 * in neither table is its own result: nobody here knows where its decimal point is, so a person
 * looks.
 */
#ifndef PR_CORE_MONEY_H
#define PR_CORE_MONEY_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_MONEY_MINOR_MAX ((INT64_C(1) << 53) - 1)
#define PR_MONEY_EXPONENT_MAX 4
#define PR_MONEY_OVERRIDES_MAX 32
#define PR_MONEY_TEXT_MAX 24 /* with the NUL */

typedef enum {
    PR_MONEY_OK = 0,
    PR_MONEY_MALFORMED,        /* not the grammar above */
    PR_MONEY_FRACTION,         /* digits below the minor unit that are not zero */
    PR_MONEY_TOO_LARGE,        /* above PR_MONEY_MINOR_MAX */
    PR_MONEY_UNKNOWN_CURRENCY, /* held for a person */
} pr_money_result_t;

typedef enum {
    PR_MONEY_UNIT_NONE = 0,
    PR_MONEY_UNIT_MINOR, /* "580000" fen */
    PR_MONEY_UNIT_MAJOR, /* "5800.00" yuan */
} pr_money_unit_t;

typedef struct {
    size_t count;
    struct {
        char currency[4];
        uint8_t exponent; /* 0..PR_MONEY_EXPONENT_MAX */
    } entries[PR_MONEY_OVERRIDES_MAX];
} pr_money_overrides_t;

/* Three capital letters. */
bool pr_money_is_currency(const char *text);
/* Digits after the point: an override, else ISO 4217; -1 when the currency is in neither.
 * overrides may be NULL. */
int pr_money_exponent(const char *currency, const pr_money_overrides_t *overrides);

/* *minor is in ISO 4217's minor unit whatever the override says: an amount of a gateway that counts
 * ISK in hundredths is brought to ISO's krónur, and refused (FRACTION) when it has a rest.
 * *minor is unchanged unless PR_MONEY_OK. */
PR_CHECK pr_money_result_t pr_money_parse(pr_bytes_t text, pr_money_unit_t unit,
                                          const char *currency,
                                          const pr_money_overrides_t *overrides, int64_t *minor);
/* The way back, in the gateway's unit. False: the currency is unknown, minor is outside
 * 0..PR_MONEY_MINOR_MAX (in either unit), or the gateway's exponent cannot say it. */
PR_CHECK bool pr_money_format(int64_t minor, pr_money_unit_t unit, const char *currency,
                              const pr_money_overrides_t *overrides, char out[PR_MONEY_TEXT_MAX]);

const char *pr_money_result_name(pr_money_result_t result); /* "ok", "malformed" ... */

#endif
