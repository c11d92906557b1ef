/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "core/money.h"
#include "tests/support/prng.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(money, .timeout = 300);

#define MINOR PR_MONEY_UNIT_MINOR
#define MAJOR PR_MONEY_UNIT_MAJOR
#define UNTOUCHED (-7)

static const pr_money_overrides_t gateway = {.count = 3,
                                             .entries = {{"ISK", 2}, {"IDR", 0}, {"QQQ", 1}}};

Test(money, knows_the_exponents_of_iso_4217)
{
    static const struct {
        const char *currency;
        int exponent;
    } cases[] = {{"CNY", 2},  {"USD", 2}, {"EUR", 2}, {"JPY", 0},   {"KRW", 0},  {"VND", 0},
                 {"CLP", 0},  {"ISK", 0}, {"KWD", 3}, {"BHD", 3},   {"TND", 3},  {"IQD", 3},
                 {"CLF", 4},  {"UYW", 4}, {"ZWL", 2}, {"AED", 2},   {"QQQ", -1}, {"XAU", -1},
                 {"cny", -1}, {"CN", -1}, {"", -1},   {"CNYX", -1}, {"NYC", -1}, {"C\0Y", -1}};
    for (size_t i = 0; i < PR_COUNT(cases); i++)
        cr_expect_eq(pr_money_exponent(cases[i].currency, NULL), cases[i].exponent, "%s",
                     cases[i].currency);
    cr_expect_eq(pr_money_exponent("ISK", &gateway), 2, "an override wins");
    cr_expect_eq(pr_money_exponent("QQQ", &gateway), 1, "an override may add");
    cr_expect_eq(pr_money_exponent("JPY", &gateway), 0, "others stay");
}

Test(money, reads_what_gateways_write_and_refuses_the_rest)
{
    static const struct {
        const char *text;
        pr_money_unit_t unit;
        const char *currency;
        pr_money_result_t result;
        int64_t minor;
        const char *sentence;
    } cases[] = {
        {"5800", MINOR, "JPY", PR_MONEY_OK, 5800, "yen in minor units"},
        {"5800", MAJOR, "JPY", PR_MONEY_OK, 5800, "yen are not multiplied by 100"},
        {"5800.00", MAJOR, "JPY", PR_MONEY_OK, 5800, "zeros below the unit are nothing"},
        {"5800.50", MAJOR, "JPY", PR_MONEY_FRACTION, 0, "half a yen is refused, not rounded"},
        {"58.00", MAJOR, "CNY", PR_MONEY_OK, 5800, "yuan"},
        {"58", MAJOR, "CNY", PR_MONEY_OK, 5800, "yuan without a point"},
        {"58.1", MAJOR, "CNY", PR_MONEY_OK, 5810, "one digit"},
        {"0.01", MAJOR, "CNY", PR_MONEY_OK, 1, "a cent"},
        {"0", MINOR, "CNY", PR_MONEY_OK, 0, "nothing"},
        {"58.001", MAJOR, "CNY", PR_MONEY_FRACTION, 0, "below a cent"},
        {"1.234", MAJOR, "KWD", PR_MONEY_OK, 1234, "three digits"},
        {"1.2340", MAJOR, "KWD", PR_MONEY_OK, 1234, "and a zero"},
        {"90071992547409.91", MAJOR, "CNY", PR_MONEY_OK, PR_MONEY_MINOR_MAX, "the largest"},
        {"90071992547409.92", MAJOR, "CNY", PR_MONEY_TOO_LARGE, 0, "one more"},
        {"9007199254740991", MINOR, "CNY", PR_MONEY_OK, PR_MONEY_MINOR_MAX, "the largest"},
        {"9007199254740992", MINOR, "CNY", PR_MONEY_TOO_LARGE, 0, "one more"},
        {"99999999999999999999999999", MINOR, "CNY", PR_MONEY_TOO_LARGE, 0, "huge"},
        {"", MINOR, "CNY", PR_MONEY_MALFORMED, 0, "empty"},
        {"", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "empty"},
        {"-0.00", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "a sign"},
        {"-1", MINOR, "CNY", PR_MONEY_MALFORMED, 0, "a sign"},
        {"+1", MINOR, "CNY", PR_MONEY_MALFORMED, 0, "a sign"},
        {"1e3", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "an exponent"},
        {"58.00", MINOR, "CNY", PR_MONEY_MALFORMED, 0, "a point in minor units"},
        {"58.", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "nothing behind the point"},
        {".58", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "nothing before it"},
        {"5.8.0", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "two points"},
        {"1,000.00", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "grouping"},
        {"3.100,55", MAJOR, "EUR", PR_MONEY_MALFORMED, 0, "another locale"},
        {" 58", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "space"},
        {"58 ", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "space"},
        {"0058", MINOR, "CNY", PR_MONEY_MALFORMED, 0, "leading zeros"},
        {"0x10", MINOR, "CNY", PR_MONEY_MALFORMED, 0, "hex"},
        {"abc", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "a word"},
        {"1.0000000000000", MAJOR, "CNY", PR_MONEY_MALFORMED, 0, "thirteen digits"},
        {"58", MAJOR, "QQX", PR_MONEY_UNKNOWN_CURRENCY, 0, "held for a person"},
        {"abc", MAJOR, "", PR_MONEY_UNKNOWN_CURRENCY, 0, "no currency"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        int64_t minor = UNTOUCHED;
        cr_expect_eq(pr_money_parse(pr_bytes_text(cases[i].text), cases[i].unit, cases[i].currency,
                                    NULL, &minor),
                     cases[i].result, "'%s' %s: %s", cases[i].text, cases[i].currency,
                     cases[i].sentence);
        cr_expect_eq(minor, cases[i].result == PR_MONEY_OK ? cases[i].minor : UNTOUCHED,
                     "'%s' %s: %s", cases[i].text, cases[i].currency, cases[i].sentence);
    }
}

Test(money, brings_a_gateways_own_unit_to_iso)
{
    static const struct {
        const char *text;
        pr_money_unit_t unit;
        const char *currency;
        pr_money_result_t result;
        int64_t minor;
    } cases[] = {
        {"500", MINOR, "ISK", PR_MONEY_OK, 5},
        {"5.00", MAJOR, "ISK", PR_MONEY_OK, 5},
        {"550", MINOR, "ISK", PR_MONEY_FRACTION, 0},
        {"1000", MINOR, "IDR", PR_MONEY_OK, 100000},
        {"1000", MAJOR, "IDR", PR_MONEY_OK, 100000},
        {"10.5", MAJOR, "IDR", PR_MONEY_FRACTION, 0},
        {"7.5", MAJOR, "QQQ", PR_MONEY_OK, 75},
        {"90071992547410", MINOR, "IDR", PR_MONEY_TOO_LARGE, 0},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        int64_t minor = UNTOUCHED;
        cr_expect_eq(pr_money_parse(pr_bytes_text(cases[i].text), cases[i].unit, cases[i].currency,
                                    &gateway, &minor),
                     cases[i].result, "'%s' %s", cases[i].text, cases[i].currency);
        cr_expect_eq(minor, cases[i].result == PR_MONEY_OK ? cases[i].minor : UNTOUCHED, "'%s' %s",
                     cases[i].text, cases[i].currency);
    }
}

Test(money, writes_in_the_gateways_unit)
{
    static const struct {
        int64_t minor;
        pr_money_unit_t unit;
        const char *currency, *text; /* NULL: cannot be said */
    } cases[] = {
        {5800, MAJOR, "CNY", "58.00"},  {5800, MINOR, "CNY", "5800"},
        {5, MAJOR, "CNY", "0.05"},      {5800, MAJOR, "JPY", "5800"},
        {1234, MAJOR, "KWD", "1.234"},  {5, MINOR, "ISK", "500"},
        {100000, MINOR, "IDR", "1000"}, {100050, MINOR, "IDR", NULL},
        {-1, MINOR, "CNY", NULL},       {PR_MONEY_MINOR_MAX + 1, MINOR, "CNY", NULL},
        {1, MINOR, "QQX", NULL},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        char text[PR_MONEY_TEXT_MAX] = "";
        bool said =
            pr_money_format(cases[i].minor, cases[i].unit, cases[i].currency, &gateway, text);
        cr_expect_eq(said, cases[i].text != NULL, "%zu", i);
        cr_expect_str_eq(text, cases[i].text ? cases[i].text : "");
    }
}

Test(money, what_is_written_reads_back)
{
    static const char *const currencies[] = {"CNY", "JPY", "KWD", "CLF", "ISK", "IDR"};
    uint64_t prng = 11;
    for (int i = 0; i < 20000; i++) {
        const char *currency = currencies[prng_next(&prng) % PR_COUNT(currencies)];
        pr_money_unit_t unit = prng_next(&prng) % 2 ? MINOR : MAJOR;
        int64_t minor = (int64_t)(prng_next(&prng) >> (11 + prng_next(&prng) % 50)), back = -1;
        char text[PR_MONEY_TEXT_MAX];
        if (!pr_money_format(minor, unit, currency, &gateway, text))
            continue;
        pr_money_result_t result =
            pr_money_parse(pr_bytes_text(text), unit, currency, &gateway, &back);
        cr_assert(result == PR_MONEY_OK && back == minor, "%s %s: %s", text, currency,
                  pr_money_result_name(result));
    }
}
