/* SPDX-License-Identifier: Apache-2.0
 *
 * The top of a profile, and what holds between its sections.
 */
#include "base/alloc.h"
#include "core/url.h"
#include "gateway/schema_private.h"

#include <string.h>

/* ---- words ---- */

typedef struct {
    const char *name;
    int value;
} word_t;

static pr_rc_t read_word(const pr_schema_t *self, const pr_yaml_node_t *node, const word_t *words,
                         size_t count, const char *wanted, int *out)
{
    for (size_t i = 0; node->kind == PR_YAML_SCALAR && i < count; i++) {
        if (strcmp(node->text, words[i].name) == 0) {
            *out = words[i].value;
            return PR_OK;
        }
    }
    return pr_schema_bad(self, node, "%s is wanted", wanted);
}

static pr_rc_t read_unit(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    static const word_t words[] = {{"minor", PR_MONEY_UNIT_MINOR}, {"major", PR_MONEY_UNIT_MAJOR}};
    int value = 0;
    pr_rc_t rc = read_word(self, node, words, PR_COUNT(words), "minor or major", &value);
    *(pr_money_unit_t *)out = (pr_money_unit_t)value;
    return rc;
}

static pr_rc_t read_meaning(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    static const word_t words[] = {{"yet", PR_NOT_FOUND_YET}, {"final", PR_NOT_FOUND_FINAL}};
    int value = 0;
    pr_rc_t rc = read_word(self, node, words, PR_COUNT(words), "yet or final", &value);
    *(pr_not_found_t *)out = (pr_not_found_t)value;
    return rc;
}

static pr_rc_t read_idempotency_kind(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    static const word_t words[] = {{"none", PR_IDEMPOTENCY_NONE},
                                   {"header", PR_IDEMPOTENCY_HEADER},
                                   {"field", PR_IDEMPOTENCY_FIELD}};
    int value = 0;
    pr_rc_t rc = read_word(self, node, words, PR_COUNT(words), "none, header or field", &value);
    *(pr_idempotency_t *)out = (pr_idempotency_t)value;
    return rc;
}

pr_rc_t pr_read_moment_format(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    pr_moment_format_t format = pr_moment_format_parse(text);
    *(pr_moment_format_t *)out = format;
    return format != PR_MOMENT_NONE
               ? PR_OK
               : pr_schema_bad(self, node, "rfc3339, local, unix or unix_ms is wanted");
}

pr_rc_t pr_read_zone(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    return pr_moment_zone_parse(text, out) ? PR_OK
                                           : pr_schema_bad(self, node, "UTC or +08:00 is wanted");
}

static pr_rc_t read_schedule(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    pr_error_t error = {0};
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    return pr_retry_parse(text, out, &error) == PR_OK ? PR_OK
                                                      : pr_schema_bad(self, node, "%s", error.text);
}

static pr_rc_t read_base_url(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_url_t url;
    pr_error_t error = {0};
    pr_rc_t rc = pr_read_text(self, node, out);
    if (rc == PR_OK && (*(const char **)out)[0] && pr_url_parse(*(const char **)out, &url, &error))
        rc = pr_schema_bad(self, node, "%s", error.text);
    return rc;
}

static pr_rc_t read_match(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_list_t names;
    uint32_t *mask = out;
    pr_rc_t rc = pr_read_list(self, node, &names);
    for (size_t i = 0; rc == PR_OK && i < names.count; i++) {
        pr_compare_t compare = pr_compare_find(names.items[i]);
        if (compare == PR_COMPARE_SAME || compare == PR_COMPARE_FLAWED)
            rc = pr_schema_bad(self, node,
                               "account, number, amount and currency can be matched, not "
                               "\"%.40s\"",
                               names.items[i]);
        *mask |= 1U << compare;
    }
    return rc;
}

/* ---- parameters ---- */

static pr_rc_t read_kind(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    static const word_t words[] = {{"text", PR_KIND_TEXT},
                                   {"secret", PR_KIND_SECRET},
                                   {"hex_key", PR_KIND_HEX_KEY},
                                   {"base64_key", PR_KIND_BASE64_KEY},
                                   {"aes_key", PR_KIND_AES_KEY},
                                   {"rsa_private", PR_KIND_RSA_PRIVATE},
                                   {"rsa_public", PR_KIND_RSA_PUBLIC}};
    int value = 0;
    pr_rc_t rc =
        read_word(self, node, words, PR_COUNT(words),
                  "text, secret, hex_key, base64_key, aes_key, rsa_private or rsa_public", &value);
    *(pr_parameter_kind_t *)out = (pr_parameter_kind_t)value;
    return rc;
}

static const pr_schema_field_t parameter_fields[] = {
    {"kind", read_kind, offsetof(pr_parameter_spec_t, kind), NULL},
    {"optional", pr_read_bool, offsetof(pr_parameter_spec_t, optional), "false"},
    {"help", pr_read_text, offsetof(pr_parameter_spec_t, help), NULL},
};
static const pr_schema_section_t parameter_section = {"parameters.NAME", parameter_fields,
                                                      PR_COUNT(parameter_fields)};

static pr_rc_t read_parameter(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_parameter_spec_t *spec = out;
    spec->name = node->key;
    if (strlen(spec->name) > 40 ||
        spec->name[strspn(spec->name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return pr_schema_bad(self, node, "a parameter is named in a-z 0-9 _, 40 at most");
    return pr_schema_section(self, &parameter_section, node, spec);
}

static pr_rc_t read_parameters(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_t *profile = out;
    void *items;
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_MAP, read_parameter,
                                sizeof(pr_parameter_spec_t), &items, &profile->parameter_count);
    profile->parameters = items;
    return rc;
}

const pr_parameter_spec_t *pr_parameter_spec(const pr_profile_t *profile, const char *name)
{
    for (size_t i = 0; i < profile->parameter_count; i++)
        if (strcmp(profile->parameters[i].name, name) == 0)
            return &profile->parameters[i];
    return NULL;
}

pr_rc_t pr_read_parameter_name(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    *(const char **)out = text;
    return !text[0] || pr_parameter_spec(self->profile, text)
               ? PR_OK
               : pr_schema_bad(self, node, "parameters does not declare \"%.40s\"", text);
}

/* ---- small sections ---- */

static pr_rc_t read_exponents(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_money_overrides_t *overrides = out;
    if (node->kind != PR_YAML_MAP)
        return pr_schema_bad(self, node, "CURRENCY: DIGITS is wanted");
    for (const pr_yaml_node_t *at = node->first; at; at = at->next) {
        uint32_t exponent;
        if (pr_read_u32(self, at, &exponent) != PR_OK)
            return PR_BAD;
        if (!pr_money_is_currency(at->key) || exponent > PR_MONEY_EXPONENT_MAX ||
            overrides->count == PR_MONEY_OVERRIDES_MAX)
            return pr_schema_bad(self, at, "three capitals and 0 to 4 are wanted, 32 at most");
        memcpy(overrides->entries[overrides->count].currency, at->key, 4);
        overrides->entries[overrides->count++].exponent = (uint8_t)exponent;
    }
    return PR_OK;
}

#define AT(member) offsetof(pr_profile_t, member)

#define SMALL_SECTION(word) \
    static const pr_schema_section_t word##_section = {#word, word##_fields, \
                                                       PR_COUNT(word##_fields)}; \
    static pr_rc_t read_##word(pr_schema_t *self, const pr_yaml_node_t *node, void *out) \
    { \
        return pr_schema_section(self, &word##_section, node, out); \
    }

static const pr_schema_field_t amount_fields[] = {
    {"unit", read_unit, AT(facts.unit), NULL},
    {"exponents", read_exponents, AT(exponents), pr_schema_none},
};
SMALL_SECTION(amount)

static const pr_schema_field_t time_fields[] = {
    {"format", pr_read_moment_format, AT(time.format), NULL},
    {"zone", pr_read_zone, AT(time.zone_min), "UTC"},
};
SMALL_SECTION(time)

static const pr_schema_field_t not_found_fields[] = {
    {"meaning", read_meaning, AT(facts.not_found.meaning), NULL},
    {"grace", pr_read_duration, AT(facts.not_found.grace_ms), "0"},
};
SMALL_SECTION(not_found)

static const pr_schema_field_t limits_fields[] = {
    {"rate", pr_read_real, AT(facts.limits.rate_per_s), "0"},
    {"burst", pr_read_u32, AT(facts.limits.burst), "1"},
    {"concurrency", pr_read_u32, AT(facts.limits.concurrency), "8"},
};
SMALL_SECTION(limits)

static const pr_schema_field_t polls_fields[] = {
    {"schedule", read_schedule, AT(facts.polls), PR_RETRY_POLL_TEXT},
    {"max", pr_read_u32, AT(facts.max_polls), "30"},
};
SMALL_SECTION(polls)

static const pr_schema_field_t idempotency_fields[] = {
    {"kind", read_idempotency_kind, AT(facts.idempotency.kind), NULL},
    {"name", pr_read_text, AT(facts.idempotency.name), ""},
    {"max_length", pr_read_u32, AT(facts.idempotency.max_length), "64"},
    {"retention", pr_read_duration, AT(facts.idempotency.retention_ms), "0"},
};
SMALL_SECTION(idempotency)

static const pr_schema_field_t document_fields[] = {
    {"profile", pr_read_text, AT(facts.name), NULL},
    {"summary", pr_read_text, AT(facts.summary), NULL},
    {"base_url", read_base_url, AT(facts.base_url), ""},
    {"parameters", read_parameters, 0, NULL}, /* before all templates */
    {"account", pr_read_parameter_name, AT(account), ""},
    {"amount", read_amount, 0, NULL},
    {"time", read_time, 0, NULL},
    {"charset", pr_read_charset, AT(charset), "utf-8"},
    {"match", read_match, AT(facts.match), NULL},
    {"failure_final", pr_read_bool, AT(facts.failure_final), NULL},
    {"not_found", read_not_found, 0, NULL},
    {"settle", pr_read_duration, AT(facts.settle_ms), NULL},
    {"limits", read_limits, 0, pr_schema_none},
    {"polls", read_polls, 0, pr_schema_none},
    {"idempotency", read_idempotency, 0, NULL},
    {"headers", pr_read_header_templates, AT(headers), pr_schema_none},
    {"sign", pr_read_sign, 0, pr_schema_none},
    {"verify_answers", pr_read_verify_answers, 0, pr_schema_none},
    {"readers", pr_read_readers, 0, NULL},
    {"operations", pr_read_operations, 0, pr_schema_none},
    {"failures", pr_read_rules, AT(failures), pr_schema_none},
    {"webhook", pr_read_webhook, AT(webhook), pr_schema_none},
    {"statements", pr_read_statements, 0, pr_schema_none}, /* after operations */
};
static const pr_schema_section_t document_section = {"a profile", document_fields,
                                                     PR_COUNT(document_fields)};

const pr_schema_section_t *const pr_schema_sections[] = {
    &document_section,
    &parameter_section,
    &amount_section,
    &time_section,
    &not_found_section,
    &limits_section,
    &polls_section,
    &idempotency_section,
    &pr_section_sign,
    &pr_section_rule,
    &pr_section_verify_answers,
    &pr_section_reader,
    &pr_section_fields,
    &pr_section_webhook_verify,
    &pr_section_key_id,
    &pr_section_timestamp,
    &pr_section_key_url,
    &pr_section_webhook,
    &pr_section_decrypt,
    &pr_section_probe,
    &pr_section_event,
    &pr_section_reply,
    &pr_section_operation,
    &pr_section_statement,
    &pr_section_csv,
    &pr_section_csv_columns,
    &pr_section_csv_totals,
    NULL,
};

/* ---- between sections ---- */

static pr_rc_t check_polls(const pr_schema_t *self, const pr_yaml_node_t *root)
{
    pr_profile_facts_t *facts = &self->profile->facts;
    if (facts->max_polls == 0)
        return pr_schema_bad(self, root, "polls.max is at least 1");
    if (facts->idempotency.kind != PR_IDEMPOTENCY_NONE &&
        (!facts->idempotency.name[0] || facts->idempotency.max_length == 0))
        return pr_schema_bad(self, root, "idempotency wants a name and a max_length");
    return PR_OK;
}

static pr_rc_t check_account(const pr_schema_t *self, const pr_yaml_node_t *root)
{
    const pr_profile_t *profile = self->profile;
    const pr_parameter_spec_t *spec = pr_parameter_spec(profile, profile->account);
    if (profile->facts.match & 1U << PR_COMPARE_ACCOUNT && !profile->account[0])
        return pr_schema_bad(self, root, "match names the account: account must name a parameter");
    if (spec && spec->kind != PR_KIND_TEXT)
        return pr_schema_bad(self, root, "account: the parameter's kind must be text");
    return PR_OK;
}

pr_rc_t pr_schema_document(pr_schema_t *self, const pr_yaml_node_t *root)
{
    pr_profile_t *profile = self->profile;
    pr_yaml_node_t empty = {.kind = PR_YAML_MAP, .line = root->line};
    pr_rc_t rc = read_limits(self, &empty, profile); /* defaults of sections that may be missing */
    if (rc == PR_OK)
        rc = read_polls(self, &empty, profile);
    if (rc == PR_OK)
        rc = pr_schema_section(self, &document_section, root, profile);
    if (rc == PR_OK)
        rc = check_polls(self, root);
    return rc == PR_OK ? check_account(self, root) : rc;
}
