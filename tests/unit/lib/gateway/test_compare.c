/* SPDX-License-Identifier: Apache-2.0
 *
 * The cases of tests/support/evidence_cases.txt, which tests/sql/evidence_compare.py asks SQL.
 */
#include "gateway/profile.h"
#include "tests/support/gateway.h"

TestSuite(compare, .timeout = 60);

#define WORDS_MAX 16

/* "k=v k=v k": one after the other; a word without '=' is "true". False at the end. */
static bool next_pair(char **at, const char **name, const char **value)
{
    char *word;
    do
        word = strsep(at, " ");
    while (word && !*word);
    if (!word)
        return false;
    *name = strsep(&word, "=");
    *value = word ? word : "true";
    return true;
}

static void unknown(const char *what, const char *name)
{
    cr_assert(false, "evidence_cases.txt: no %s \"%s\"", what, name);
}

static pr_payment_facts_t facts_of(char *text)
{
    pr_payment_facts_t facts;
    const char *name, *value;
    pr_payment_facts_init(&facts);
    while (next_pair(&text, &name, &value)) {
        if (strcmp(name, "request_no") == 0)
            facts.request_no = value;
        else if (strcmp(name, "reference") == 0)
            facts.reference = value;
        else if (strcmp(name, "refund_no") == 0)
            facts.refund_no = value;
        else if (strcmp(name, "refund_reference") == 0)
            facts.refund_reference = value;
        else if (strcmp(name, "currency") == 0)
            facts.currency = value;
        else if (strcmp(name, "amount") == 0)
            facts.amount_minor = strtoll(value, NULL, 10);
        else if (strcmp(name, "refund") == 0)
            facts.refund_minor = strtoll(value, NULL, 10);
        else
            unknown("fact", name);
    }
    return facts;
}

static pr_amount_t amount_of(const char *value)
{
    if (strcmp(value, "flawed") == 0)
        return (pr_amount_t){.state = PR_AMOUNT_FLAWED};
    return (pr_amount_t){.state = PR_AMOUNT_KNOWN, .minor = strtoll(value, NULL, 10)};
}

static char *text_field(pr_evidence_t *e, const char *name, size_t *size)
{
    static const struct {
        const char *name;
        size_t offset, size;
    } fields[] = {
#define FIELD(field) {#field, offsetof(pr_evidence_t, field), sizeof((pr_evidence_t *)0)->field}
        FIELD(account),   FIELD(request_no),       FIELD(reference),
        FIELD(refund_no), FIELD(refund_reference), FIELD(currency),
#undef FIELD
    };
    for (size_t i = 0; i < PR_COUNT(fields); i++)
        if (strcmp(fields[i].name, name) == 0) {
            *size = fields[i].size;
            return (char *)e + fields[i].offset;
        }
    return NULL;
}

static void read_evidence(char *text, pr_evidence_t *e)
{
    const char *name, *value;
    pr_evidence_init(e);
    e->object = PR_OBJECT_PAYMENT;
    e->status = PR_STATUS_NONE;
    while (next_pair(&text, &name, &value)) {
        size_t size;
        char *field = text_field(e, name, &size);
        if (field)
            snprintf(field, size, "%s", value);
        else if (strcmp(name, "object") == 0)
            e->object = pr_object_find(value);
        else if (strcmp(name, "status") == 0)
            e->status = pr_status_find(value);
        else if (strcmp(name, "asked") == 0)
            e->asked = true;
        else if (strcmp(name, "flaw") == 0)
            e->flaw = value;
        else if (strcmp(name, "amount") == 0)
            e->amount = amount_of(value);
        else if (strcmp(name, "refund_amount") == 0)
            e->refund_amount = amount_of(value);
        else if (strcmp(name, "captured_total") == 0)
            e->captured_total = amount_of(value);
        else if (strcmp(name, "refunded_total") == 0)
            e->refunded_total = amount_of(value);
        else
            unknown("evidence", name);
    }
}

static uint32_t match_of(const char *text)
{
    if (strcmp(text, "all") == 0)
        return 1U << PR_COMPARE_ACCOUNT | 1U << PR_COMPARE_NUMBER | 1U << PR_COMPARE_AMOUNT |
               1U << PR_COMPARE_CURRENCY;
    return strcmp(text, "-") == 0 ? 0 : 1U << pr_compare_find(text);
}

static char *trimmed(char *text)
{
    while (*text == ' ')
        text++;
    size_t len = strlen(text);
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\n'))
        text[--len] = '\0';
    return text;
}

static void check_case(pr_profile_t *profile, const pr_channel_t *channel, char *line)
{
    char *cell[5];
    for (size_t i = 0; i < PR_COUNT(cell); i++) {
        cell[i] = strsep(&line, "|");
        cr_assert_not_null(cell[i]);
        cell[i] = trimmed(cell[i]);
    }
    profile->facts.match = match_of(cell[1]);
    pr_payment_facts_t facts = facts_of(cell[2]);
    pr_evidence_t evidence;
    read_evidence(cell[3], &evidence);
    cr_expect_str_eq(pr_compare_name(pr_evidence_compare(channel, &facts, &evidence)), cell[4],
                     "%s", cell[0]);
}

Test(compare, cases)
{
    pr_profile_t *profile = gateway_profile("sandbox");
    const char *pairs[] = {"account", "acc", "secret", "s3cret", NULL};
    pr_channel_t *channel = gateway_channel(profile, pairs);
    size_t len, cases = 0;
    PR_CLEANUP_FREE char *text = gateway_read("tests/support/evidence_cases.txt", &len);
    char *at = text, *line;
    while ((line = strsep(&at, "\n"))) {
        if (!*line || *line == '#')
            continue;
        check_case(profile, channel, line);
        cases++;
    }
    cr_expect_gt(cases, 50);
    pr_channel_destroy(&channel);
    pr_profile_destroy(&profile);
}
