/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/channel_settings.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "cli/merchant_settings.h"

#include <string.h>

/* Those of payments: what the database decides with. Statements are between the reconciler and the profile. */
json_t *pr_channel_operations(const pr_profile_facts_t *facts)
{
    json_t *list = json_array();
    for (pr_operation_t i = PR_OPERATION_TOKEN; i <= PR_OPERATION_CLOSE; i++) {
        if (facts->operations & UINT64_C(1) << i) {
            json_array_append_new(list, json_string(pr_operation_name(i)));
        }
    }
    return list;
}

json_t *pr_channel_match(const pr_profile_facts_t *facts)
{
    json_t *list = json_array();
    for (pr_compare_t i = PR_COMPARE_ACCOUNT; i < PR_COMPARES; i++) {
        if (facts->match & 1U << i) {
            json_array_append_new(list, json_string(pr_compare_name(i)));
        }
    }
    return list;
}

static void put(json_t *settings, const char *key, json_t *value)
{
    json_object_set_new(settings, key, value);
}

void pr_channel_put_facts(json_t *settings, const pr_profile_facts_t *facts)
{
    char polls[PR_RETRY_TEXT_MAX];
    pr_retry_format(&facts->polls, polls);
    uint32_t burst = facts->limits.burst, concurrency = facts->limits.concurrency;
    put(settings, "profile", json_string(facts->name));
    put(settings, "match", pr_channel_match(facts));
    put(settings, "failure_final", json_boolean(facts->failure_final));
    put(settings, "unit", json_string(facts->unit == PR_MONEY_UNIT_MAJOR ? "major" : "minor"));
    put(settings, "not_found",
        json_string(facts->not_found.meaning == PR_NOT_FOUND_FINAL ? "final" : "yet"));
    put(settings, "not_found_grace_ms", json_integer(facts->not_found.grace_ms));
    put(settings, "settle_ms", json_integer(facts->settle_ms));
    put(settings, "rate_per_s", json_real(facts->limits.rate_per_s));
    put(settings, "burst", json_integer(burst > 0 ? burst : 1));
    put(settings, "concurrency", json_integer(concurrency > 0 ? concurrency : 1));
    put(settings, "polls", json_string(polls));
    put(settings, "max_polls", json_integer(facts->max_polls));
    put(settings, "operations", pr_channel_operations(facts));
    put(settings, "number_max", json_integer(facts->idempotency.max_length));
}

/* {"ISK": 2} of --exponent ISK=2. */
static int put_exponents(json_t *settings, const pr_arg_value_t *words)
{
    json_t *object = json_object();
    put(settings, "exponents", object);
    for (int i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        PR_CLEANUP_FREE char *currency = pr_strndup(word, strcspn(word, "="));
        const char *digits = word + strlen(currency);
        if (pr_money_exponent(currency, NULL) < 0) {
            return pr_console_usage("--exponent: \"%s\" is no currency of ISO 4217", currency);
        }
        if (digits[0] != '=' || digits[1] < '0' || digits[1] > '0' + PR_MONEY_EXPONENT_MAX ||
            digits[2] != '\0') {
            return pr_console_usage("--exponent: \"%s\" is not CUR=N with N from 0 to %d", word,
                                    PR_MONEY_EXPONENT_MAX);
        }
        put(object, currency, json_integer(digits[1] - '0'));
    }
    return PR_EXIT_OK;
}

typedef enum { KIND_TEXT, KIND_WHOLE, KIND_REAL } kind_t;

static const struct {
    const char *option, *key;
    kind_t kind;
} plain[] = {
    {"base-url", "base_url", KIND_TEXT},
    {"notify-url", "notify_url", KIND_TEXT},
    {"rate", "rate_per_s", KIND_REAL},
    {"burst", "burst", KIND_WHOLE},
    {"concurrency", "concurrency", KIND_WHOLE},
    {"polls", "polls", KIND_TEXT},
    {"max-polls", "max_polls", KIND_WHOLE},
    {"first-poll", "first_poll_ms", KIND_WHOLE},
    {"charge-retry", "charge_retry", KIND_TEXT},
    {"charge-tries", "charge_tries", KIND_WHOLE},
    {"settle", "settle_ms", KIND_WHOLE},
    {"not-found-grace", "not_found_grace_ms", KIND_WHOLE},
    {"expires", "expires_ms", KIND_WHOLE},
    {"order-policy", "order_policy", KIND_TEXT},
    {"late-money", "late_money", KIND_TEXT},
    {"risk", "risk", KIND_TEXT},
};

int pr_channel_put_options(json_t *settings, const pr_args_t *args)
{
    for (size_t i = 0; i < PR_COUNT(plain); i++) {
        const pr_arg_value_t *value = pr_args_get(args, plain[i].option);
        if (!value->given) {
            continue;
        }
        json_t *said = plain[i].kind == KIND_REAL    ? json_real(value->real)
                       : plain[i].kind == KIND_WHOLE ? json_integer(value->integer)
                                                     : json_string(value->text);
        if (said == NULL) {
            return pr_console_usage("--%s is not UTF-8", plain[i].option);
        }
        put(settings, plain[i].key, said);
    }
    int code = PR_EXIT_OK;
    if (pr_args_given(args, "exponent")) {
        code = put_exponents(settings, pr_args_get(args, "exponent"));
    }
    if (code == PR_EXIT_OK && pr_args_given(args, "tls-ca")) {
        code = pr_cli_put_ca(settings, pr_args_text(args, "tls-ca"));
    }
    return code;
}
