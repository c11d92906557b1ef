/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "cli/args.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(args, .timeout = 300);

static const pr_arg_t options[] = {
    {"url", PR_ARG_TEXT, "URL", "where", 0, 0},
    {"tier", PR_ARG_CHOICE, "vip|normal|small", "class", 0, 0},
    {"limit", PR_ARG_INT, "N", "at most", 1, 100},
    {"rate", PR_ARG_REAL, "R", "per second", 0.5, 10},
    {"wait", PR_ARG_DURATION, "D", "how long", 0, 3600000},
    {"header", PR_ARG_REPEATED, "N:V", "headers", 0, 0},
    {"all", PR_ARG_FLAG, NULL, "everything", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_spec_t spec = {"thing do ID [OPTION...]", "Does it.", options, 1, 2};

static pr_args_t args;
static pr_error_t error;

#define PARSE(...) parse((const char *[]){"do", __VA_ARGS__, NULL})
static pr_rc_t parse(const char **words)
{
    int count = 0;
    while (words[count] != NULL) {
        count++;
    }
    memset(&error, 0, sizeof error);
    return pr_args_parse(&args, &spec, count, (char **)words, &error);
}

Test(args, both_forms_of_a_value)
{
    cr_assert_eq(PARSE("--url", "u", "m1", "--tier=vip", "--limit", "7"), PR_OK);
    cr_assert_str_eq(pr_args_text(&args, "url"), "u");
    cr_assert_str_eq(pr_args_text(&args, "tier"), "vip");
    cr_assert_eq(pr_args_get(&args, "limit")->integer, 7);
    cr_assert_eq(args.positional_count, 1);
    cr_assert_str_eq(args.positional[0], "m1");
    cr_assert_null(pr_args_text(&args, "wait"));
    cr_assert_not(pr_args_given(&args, "all"));
}

Test(args, numbers_and_durations_have_units)
{
    cr_assert_eq(PARSE("m", "--rate", "2.5", "--wait", "90s", "--all"), PR_OK);
    cr_assert_float_eq(pr_args_get(&args, "rate")->real, 2.5, 1e-9);
    cr_assert_eq(pr_args_get(&args, "wait")->integer, 90000);
    cr_assert(pr_args_given(&args, "all"));
}

Test(args, repeated_values_keep_their_order)
{
    cr_assert_eq(PARSE("m", "--header", "a:1", "--header=b:2"), PR_OK);
    const pr_arg_value_t *headers = pr_args_get(&args, "header");
    cr_assert_eq(headers->count, 2);
    cr_assert_str_eq(headers->items[0], "a:1");
    cr_assert_str_eq(headers->items[1], "b:2");
    cr_assert_null(headers->items[2], "an end mark");
}

Test(args, too_many_repeats_are_refused)
{
    const char *words[80] = {"do", "m"};
    for (int i = 2; i < 78; i += 2) {
        words[i] = "--header";
        words[i + 1] = "a:1";
    }
    cr_assert_eq(parse(words), PR_BAD);
    cr_assert(strstr(error.text, "more than"));
}

Test(args, a_negative_number_is_no_option)
{
    cr_assert_eq(PARSE("-42", "--limit", "3"), PR_OK);
    cr_assert_str_eq(args.positional[0], "-42");
}

Test(args, two_dashes_end_the_options)
{
    cr_assert_eq(PARSE("--", "--url"), PR_OK);
    cr_assert_str_eq(args.positional[0], "--url");
}

Test(args, common_options_are_always_there)
{
    cr_assert_eq(PARSE("m", "--json", "--operator", "anna", "--set", "a=b", "--set", "c=d"), PR_OK);
    cr_assert(pr_args_given(&args, "json"));
    cr_assert_str_eq(pr_args_text(&args, "operator"), "anna");
    cr_assert_eq(pr_args_get(&args, "set")->count, 2);
}

Test(args, help_wins_over_everything_behind_it)
{
    cr_assert_eq(PARSE("--help", "--nonsense"), PR_OK);
    cr_assert(args.help);
    cr_assert_eq(PARSE("-h"), PR_OK, "and over what is missing");
    cr_assert(args.help);
}

Test(args, what_is_wrong_is_said)
{
    static const struct {
        const char *words[8];
        const char *says;
        const char *why;
    } cases[] = {
        {{"do", NULL}, "missing", "no ID"},
        {{"do", "a", "b", "c", NULL}, "unexpected argument \"c\"", "one too many"},
        {{"do", "m", "--nope", NULL}, "no option --nope", "unknown"},
        {{"do", "m", "-x", NULL}, "no option -x", "there are no short ones"},
        {{"do", "m", "--ur", "x", NULL}, "no option --ur", "no guessing of beginnings"},
        {{"do", "m", "--url", NULL}, "--url needs a value", "value missing"},
        {{"do", "m", "--all=yes", NULL}, "takes no value", "a flag with a value"},
        {{"do", "m", "--url", "a", "--url", "b", NULL}, "given twice", "which one?"},
        {{"do", "m", "--tier", "gold", NULL}, "is not vip|normal|small", "no such choice"},
        {{"do", "m", "--tier", "vip|normal", NULL}, "is not vip", "not two choices"},
        {{"do", "m", "--tier", "", NULL}, "is not vip", "not nothing"},
        {{"do", "m", "--limit", "7x", NULL}, "whole number", "rubbish behind"},
        {{"do", "m", "--limit", "", NULL}, "whole number", "empty"},
        {{"do", "m", "--limit", "1.5", NULL}, "whole number", "a fraction"},
        {{"do", "m", "--limit", "0", NULL}, "between 1 and 100", "too small"},
        {{"do", "m", "--limit", "99999999999999999999", NULL}, "whole number", "overflow"},
        {{"do", "m", "--rate", "nan", NULL}, "a number", "not a number"},
        {{"do", "m", "--rate", "inf", NULL}, "a number", "no end"},
        {{"do", "m", "--rate", "11", NULL}, "between 0.5 and 10", "too large"},
        {{"do", "m", "--wait", "5", NULL}, "duration", "no unit"},
        {{"do", "m", "--wait", "2h", NULL}, "between 0", "too long"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(parse((const char **)cases[i].words), PR_BAD, "%s", cases[i].why);
        cr_assert(strstr(error.text, cases[i].says), "%s: says \"%s\"", cases[i].why, error.text);
    }
}
