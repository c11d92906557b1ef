/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider channel: its subcommands, and check-profile, which reads a gateway profile and says what
 * it is, or what is wrong. The others: cli/channel_change.c.
 */
#include "cli/channel.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "cli/args.h"
#include "cli/channel_change.h"
#include "cli/channel_settings.h"
#include "cli/command.h"
#include "gateway/gateway.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)256 * 1024)

/* The whole file, the caller's; NULL after a word on stderr. */
static char *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "postrider: %s: %s\n", path, strerrordesc_np(errno));
        return NULL;
    }
    char *text = pr_calloc(FILE_MAX_BYTES + 1, 1);
    *len = fread(text, 1, FILE_MAX_BYTES + 1, file); /* one more: too large is told apart */
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) {
        fprintf(stderr, "postrider: %s: cannot be read\n", path);
        pr_free(text);
        return NULL;
    }
    return text;
}

static json_t *parameters_of(const pr_profile_t *profile)
{
    json_t *list = json_array();
    pr_profile_parameter_t one;
    for (size_t i = 0; pr_profile_parameter(profile, i, &one); i++) {
        json_array_append_new(list, json_pack("{s:s,s:s,s:b,s:b,s:s}", "name", one.name, "kind",
                                              one.kind, "required", one.required, "secret",
                                              one.secret, "help", one.help));
    }
    return list;
}

static json_t *describe(const pr_profile_t *profile)
{
    const pr_profile_facts_t *facts = pr_profile_facts(profile);
    char polls[PR_RETRY_TEXT_MAX];
    pr_retry_format(&facts->polls, polls);
    return json_pack(
        "{s:s,s:s,s:s,s:o,s:o,s:o,s:b,s:s,s:i,s:f,s:i,s:I,s:s}", "profile", facts->name, "summary",
        facts->summary, "base_url", facts->base_url, "parameters", parameters_of(profile),
        "operations", pr_channel_operations(facts), "match", pr_channel_match(facts),
        "failure_final", facts->failure_final, "polls", polls, "max_polls", (int)facts->max_polls,
        "rate_per_s", facts->limits.rate_per_s, "concurrency", (int)facts->limits.concurrency,
        "settle_ms", (json_int_t)facts->settle_ms, "webhook_retries", facts->webhook_retries);
}

static void print_list(const char *title, const json_t *list)
{
    size_t i;
    json_t *one;
    printf("%-12s", title);
    json_array_foreach(list, i, one)
    {
        printf("%s%s", i > 0 ? ", " : "", json_string_value(one));
    }
    puts(json_array_size(list) > 0 ? "" : "none");
}

static void print_text(const pr_profile_t *profile, const json_t *seen)
{
    const pr_profile_facts_t *facts = pr_profile_facts(profile);
    char settle[PR_DURATION_TEXT_MAX];
    pr_profile_parameter_t one;
    pr_duration_format(facts->settle_ms, settle);
    printf("%-12s%s\n", facts->name, facts->summary);
    print_list("operations", json_object_get(seen, "operations"));
    print_list("match", json_object_get(seen, "match"));
    printf("%-12s%s, %u at most; %.0f/s, %u at once; not found counts after %s\n", "polls",
           json_string_value(json_object_get(seen, "polls")), facts->max_polls,
           facts->limits.rate_per_s, facts->limits.concurrency, settle);
    for (size_t i = 0; pr_profile_parameter(profile, i, &one); i++) {
        printf("%-12s%-16s %-12s %s%s\n", i == 0 ? "parameters" : "", one.name, one.kind,
               one.required ? "" : "(optional) ", one.help);
    }
}

static int check_profile(const pr_args_t *args)
{
    size_t len = 0;
    pr_profile_t *profile = NULL;
    pr_error_t error = {0};
    const char *path = args->positional[0];
    PR_CLEANUP_FREE char *text = read_file(path, &len);
    if (text == NULL) {
        return PR_EXIT_FAILED;
    }
    if (pr_profile_parse(path, pr_bytes(text, len), &profile, &error) != PR_OK) {
        fprintf(stderr, "postrider: %s\n", error.text);
        return PR_EXIT_FAILED;
    }
    json_t *seen = describe(profile);
    if (pr_args_given(args, "json")) {
        json_dumpf(seen, stdout, JSON_COMPACT);
        putchar('\n');
    } else {
        print_text(profile, seen);
    }
    json_decref(seen);
    pr_profile_destroy(&profile);
    return PR_EXIT_OK;
}

int pr_channel_main(int argc, char **argv)
{
    static const pr_arg_spec_t check_spec = {
        "channel check-profile FILE",
        "Reads a gateway profile (docs/profiles.md) and says what it is, or what is wrong where.",
        NULL, 1, 1};
    static const pr_subcommand_t table[] = {
        {"add", &pr_channel_add_spec, pr_channel_add},
        {"list", &pr_channel_list_spec, pr_channel_list},
        {"show", &pr_channel_show_spec, pr_channel_show},
        {"set", &pr_channel_set_spec, pr_channel_set},
        {"pause", &pr_channel_pause_spec, pr_channel_pause},
        {"resume", &pr_channel_resume_spec, pr_channel_resume},
        {"check-profile", &check_spec, check_profile},
        {NULL, NULL, NULL},
    };
    return pr_args_group("channel", table, argc, argv);
}
