/* SPDX-License-Identifier: Apache-2.0
 *
 * A channel's settings on their way in: what its profile says, and the options of `channel add` and
 * `channel set` over that, as the JSON object that postrider.channel_add takes.
 */
#ifndef PR_CLI_CHANNEL_SETTINGS_H
#define PR_CLI_CHANNEL_SETTINGS_H

#include "cli/console.h"
#include "gateway/gateway.h"

#define PR_CHANNEL_DURATION_MAX_MS 7776000000.0 /* 90 days */

/* clang-format off */
/* The rows of an option table. */
#define PR_CHANNEL_OPTIONS \
    {"base-url", PR_ARG_TEXT, "URL", "https://HOST[:PORT] of the gateway; else the profile's", 0, 0}, \
    {"param", PR_ARG_REPEATED, "NAME=VALUE", "a parameter of the profile; others can read a command line: for secrets", 0, 0}, \
    {"param-file", PR_ARG_REPEATED, "NAME=FILE", "better this one; \"-\" = standard input. A name twice: the first signs, both verify", 0, 0}, \
    {"notify-url", PR_ARG_TEXT, "URL", "where the gateway sends its webhooks, as charges tell it", 0, 0}, \
    {"rate", PR_ARG_REAL, "R", "calls per second at most; 0 = no limit", 0, 1000000}, \
    {"burst", PR_ARG_INT, "N", "calls at once after a rest", 1, 100000}, \
    {"concurrency", PR_ARG_INT, "N", "calls under way at most", 1, 1000}, \
    {"exponent", PR_ARG_REPEATED, "CUR=N", "digits after the point where the gateway differs from ISO 4217 (all are replaced)", 0, 0}, \
    {"polls", PR_ARG_TEXT, "SPEC", "when to ask: list:1m,5m | exponential-jitter:1s..6h*10 ...", 0, 0}, \
    {"max-polls", PR_ARG_INT, "N", "how often at most", 1, 1000}, \
    {"first-poll", PR_ARG_DURATION, "D", "how long after birth", 0, PR_CHANNEL_DURATION_MAX_MS}, \
    {"charge-retry", PR_ARG_TEXT, "SPEC", "when a charge that surely did nothing is sent again", 0, 0}, \
    {"charge-tries", PR_ARG_INT, "N", "how often at most", 1, 100}, \
    {"settle", PR_ARG_DURATION, "D", "\"not found\" counts as not charged after so long", 0, PR_CHANNEL_DURATION_MAX_MS}, \
    {"not-found-grace", PR_ARG_DURATION, "D", "and is \"not yet\" for so long", 0, PR_CHANNEL_DURATION_MAX_MS}, \
    {"expires", PR_ARG_DURATION, "D", "of a payment that says nothing else", 1, PR_CHANNEL_DURATION_MAX_MS}, \
    {"order-policy", PR_ARG_CHOICE, "single|many", "how many payments of one order may be open", 0, 0}, \
    {"late-money", PR_ARG_CHOICE, "refund|person", "money after the order was closed", 0, 0}, \
    {"risk", PR_ARG_CHOICE, "fail|person", "a refusal for risk", 0, 0}, \
    {"tls-ca", PR_ARG_TEXT, "FILE", "PEM of a private CA to trust, at most 16 KiB; \"\" = the system's", 0, 0}
/* clang-format on */

/* What SQL decides with: match, limits, schedule ... */
void pr_channel_put_facts(json_t *settings, const pr_profile_facts_t *facts);
/* What was given. Prints what is wrong; returns an exit code. */
PR_CHECK int pr_channel_put_options(json_t *settings, const pr_args_t *args);
/* Lists as `check-profile` and the database have them. The caller's reference. */
json_t *pr_channel_operations(const pr_profile_facts_t *facts);
json_t *pr_channel_match(const pr_profile_facts_t *facts);

#endif
