/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements: what a gateway's are like, when they are ready, how a day's is asked for.
 */
#include "base/alloc.h"
#include "core/url.h"
#include "gateway/schema_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY_US INT64_C(86400000000)

/* ---- words ---- */

static pr_rc_t read_format(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    pr_statement_format_t format = pr_statement_format_find(text);
    *(pr_statement_format_t *)out = format;
    return format != PR_STATEMENT_FORMAT_NONE
               ? PR_OK
               : pr_schema_bad(self, node,
                               "wechat-trade, wechat-funds, alipay-trade, alipay-account, "
                               "stripe-balance, camt053 or csv is wanted");
}

/* "10:00" */
static pr_rc_t read_time_of_day(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    bool digits = strlen(text) == 5 && text[2] == ':';
    for (size_t i = 0; digits && i < 5; i++)
        digits = i == 2 || (text[i] >= '0' && text[i] <= '9');
    int hours = digits ? (text[0] - '0') * 10 + (text[1] - '0') : 24;
    int minutes = digits ? (text[3] - '0') * 10 + (text[4] - '0') : 60;
    if (hours > 23 || minutes > 59)
        return pr_schema_bad(self, node, "a time of day is wanted: \"10:00\"");
    *(int64_t *)out = ((int64_t)hours * 60 + minutes) * 60000;
    return PR_OK;
}

static pr_rc_t read_character(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    if (strcmp(text, "tab") == 0)
        text = "\t";
    if (text[0] & 0x80 || (text[0] && text[1]) || text[0] == '"' || text[0] == ' ')
        return pr_schema_bad(self, node, "one character, or tab, is wanted");
    *(char *)out = text[0];
    return PR_OK;
}

static pr_rc_t read_unit(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    bool minor = strcmp(text, "minor") == 0;
    if (!minor && strcmp(text, "major") != 0)
        return pr_schema_bad(self, node, "minor or major is wanted");
    *(pr_money_unit_t *)out = minor ? PR_MONEY_UNIT_MINOR : PR_MONEY_UNIT_MAJOR;
    return PR_OK;
}

static pr_rc_t read_time_format(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_moment_format_t format;
    pr_rc_t rc = pr_read_moment_format(self, node, &format);
    *(int *)out = (int)format;
    return rc;
}

static pr_rc_t read_currency(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char **text = out;
    if (pr_read_text(self, node, text) != PR_OK)
        return PR_BAD;
    return !(*text)[0] || (pr_money_is_currency(*text) && pr_money_exponent(*text, NULL) >= 0)
               ? PR_OK
               : pr_schema_bad(self, node, "a currency of ISO 4217 is wanted: CNY");
}

/* ---- csv ---- */

static pr_rc_t read_column(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_statement_column_t *column = out;
    pr_list_t names;
    if (pr_read_list(self, node, &names) != PR_OK)
        return PR_BAD;
    if (names.count == 0 || names.count > PR_STATEMENT_COLUMN_NAMES_MAX)
        return pr_schema_bad(self, node, "one to %d names of a column are wanted",
                             PR_STATEMENT_COLUMN_NAMES_MAX);
    for (size_t i = 0; i < names.count; i++)
        column->names[i] = names.items[i];
    column->count = names.count;
    return PR_OK;
}

/* A map of native words; `find` gives 0 for a word that is none of ours. */
static pr_rc_t read_words(pr_schema_t *self, const pr_yaml_node_t *node, int (*find)(const char *),
                          const char *wanted, pr_statement_words_t *out)
{
    if (node->kind != PR_YAML_MAP || pr_yaml_count(node) > PR_STATEMENT_WORDS_MAX)
        return pr_schema_bad(self, node, "at most %d words are wanted below it",
                             PR_STATEMENT_WORDS_MAX);
    for (const pr_yaml_node_t *at = node->first; at; at = at->next) {
        const char *text = "";
        if (pr_read_text(self, at, &text) != PR_OK)
            return PR_BAD;
        int meaning = find(text);
        if (meaning < 0)
            return pr_schema_bad(self, at, "%s is wanted", wanted);
        out->words[out->count++] = (pr_statement_word_t){at->key, meaning};
    }
    return PR_OK;
}

static int find_kind(const char *text)
{
    int kind = (int)pr_statement_kind_find(text);
    return kind ? kind : strcmp(text, "skip") == 0 ? 0 : -1;
}

static int find_state(const char *text)
{
    int state = (int)pr_statement_state_find(text);
    return state ? state : -1;
}

static pr_rc_t read_kinds(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_words(self, node, find_kind, "payment, refund, fee, other or skip", out);
}

static pr_rc_t read_states(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return read_words(self, node, find_state, "SUCCEEDED, PENDING, FAILED, CANCELLED or UNKNOWN",
                      out);
}

#define TOTALS(member) offsetof(pr_statement_csv_t, totals.member)
static const pr_schema_field_t totals_fields[] = {
    {"marker", pr_read_text, TOTALS(marker), NULL},
    {"count", pr_read_u32, TOTALS(count), "0"},
    {"amount", pr_read_u32, TOTALS(amount), "0"},
};
const pr_schema_section_t pr_section_csv_totals = {"csv.totals", totals_fields,
                                                   PR_COUNT(totals_fields)};

static pr_rc_t read_totals(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return pr_schema_section(self, &pr_section_csv_totals, node, out);
}

#define COLUMN(word) \
    { \
#word, read_column, offsetof(pr_statement_csv_t, word), pr_schema_none \
    }
static const pr_schema_field_t column_fields[] = {
    COLUMN(kind),
    COLUMN(state),
    COLUMN(reference),
    COLUMN(request_no),
    COLUMN(refund_reference),
    COLUMN(refund_no),
    COLUMN(currency),
    COLUMN(amount),
    COLUMN(credit),
    COLUMN(debit),
    COLUMN(fee),
    COLUMN(occurred_at),
};
const pr_schema_section_t pr_section_csv_columns = {"csv.columns", column_fields,
                                                    PR_COUNT(column_fields)};

static pr_rc_t read_columns(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return pr_schema_section(self, &pr_section_csv_columns, node, out);
}

#define CSV(member) offsetof(pr_statement_csv_t, member)
static const pr_schema_field_t csv_fields[] = {
    {"delimiter", read_character, CSV(delimiter), ","},
    {"comment", read_character, CSV(comment), ""},
    {"decimal", read_character, CSV(decimal), "."},
    {"no_header", pr_read_bool, CSV(no_header), "false"},
    {"skip_lines", pr_read_u32, CSV(skip_lines), "0"},
    {"unit", read_unit, CSV(unit), "major"},
    {"time", read_time_format, CSV(time_format), "local"},
    {"columns", read_columns, 0, NULL},
    {"kinds", read_kinds, CSV(kinds), pr_schema_none},
    {"states", read_states, CSV(states), pr_schema_none},
    {"totals", read_totals, 0, pr_schema_none},
};
const pr_schema_section_t pr_section_csv = {"statements.NAME.csv", csv_fields,
                                            PR_COUNT(csv_fields)};

static pr_rc_t read_csv(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_statement_t *statement = out;
    return pr_schema_section(self, &pr_section_csv, node, &statement->spec.csv);
}

/* ---- statements ---- */

static pr_rc_t read_value(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    static const char *const ours[] = {"statement", "date", "from_unix", "to_unix", "target"};
    pr_profile_value_t *value = out;
    value->name = node->key;
    for (size_t i = 0; i < PR_COUNT(ours); i++)
        if (strcmp(node->key, ours[i]) == 0)
            return pr_schema_bad(self, node, "this name is given by itself");
    return pr_read_text(self, node, &value->value);
}

static pr_rc_t read_values(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_statement_t *statement = out;
    void *items;
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_MAP, read_value, sizeof(pr_profile_value_t),
                                &items, &statement->value_count);
    statement->values = items;
    return rc;
}

static pr_rc_t read_hosts(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_statement_t *statement = out;
    pr_list_t hosts;
    pr_rc_t rc = pr_read_list(self, node, &hosts);
    if (rc == PR_OK) {
        statement->hosts = hosts.items;
        statement->host_count = hosts.count;
    }
    return rc;
}

#define STATEMENT(member) offsetof(pr_profile_statement_t, member)
static const pr_schema_field_t statement_fields[] = {
    {"format", read_format, STATEMENT(spec.format), NULL},
    {"charset", pr_read_charset, STATEMENT(spec.charset), pr_schema_none},
    {"currency", read_currency, STATEMENT(spec.currency), ""},
    {"zone", pr_read_zone, STATEMENT(zone_min), "UTC"},
    {"daily", pr_read_bool, STATEMENT(daily), "true"},
    {"ready", read_time_of_day, STATEMENT(ready_ms), "10:00"},
    {"days_kept", pr_read_u32, STATEMENT(days_kept), "0"},
    {"values", read_values, 0, pr_schema_none},
    {"hosts", read_hosts, 0, pr_schema_none},
    {"csv", read_csv, 0, pr_schema_none},
};
const pr_schema_section_t pr_section_statement = {"statements.NAME", statement_fields,
                                                  PR_COUNT(statement_fields)};

/* What the parser would refuse later, with a place in the file. */
static pr_rc_t check_spec(const pr_schema_t *self, const pr_yaml_node_t *node,
                          const pr_statement_spec_t *spec)
{
    pr_error_t error = {0};
    return pr_statement_check(spec, &error) == PR_OK ? PR_OK
                                                     : pr_schema_bad(self, node, "%s", error.text);
}

static pr_rc_t read_statement(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_statement_t *statement = out;
    pr_profile_t *profile = self->profile;
    statement->name = node->key;
    if (pr_schema_section(self, &pr_section_statement, node, statement) != PR_OK)
        return PR_BAD;
    statement->spec.zone_min = statement->zone_min;
    statement->spec.exponents = &profile->exponents;
    statement->download = profile->operations[PR_OPERATION_STATEMENT_FILE] != NULL;
    if (!statement->download)
        statement->daily = false;
    return check_spec(self, node, &statement->spec);
}

pr_rc_t pr_read_statements(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_t *profile = out;
    void *items;
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_MAP, read_statement,
                                sizeof(pr_profile_statement_t), &items, &profile->statement_count);
    profile->statements = items;
    return rc;
}

/* ---- for callers ---- */

const pr_profile_statement_t *pr_profile_statement(const pr_profile_t *self, size_t index)
{
    return index < self->statement_count ? &self->statements[index] : NULL;
}

static pr_rc_t write_member(pr_buffer_t *out, const char *name, const char *value)
{
    const char *const texts[] = {name, value};
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; i < PR_COUNT(texts); i++) {
        rc = rc == PR_OK ? pr_buffer_append_text(out, i == 0 ? ",\"" : ":\"") : rc;
        for (const char *at = texts[i]; rc == PR_OK && *at; at++) {
            bool plain = *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20;
            rc = plain ? pr_buffer_append(out, at, 1)
                       : pr_buffer_printf(out, "\\u%04x", (unsigned)(unsigned char)*at);
        }
        rc = rc == PR_OK ? pr_buffer_append_text(out, "\"") : rc;
    }
    return rc;
}

pr_rc_t pr_profile_statement_request(const pr_profile_statement_t *self, const char *date,
                                     const char *target, pr_buffer_t *out)
{
    char midnight[PR_MOMENT_TEXT_MAX];
    int64_t from_us;
    int len = snprintf(midnight, sizeof midnight, "%s 00:00:00", date);
    if (len != 19 ||
        !pr_moment_parse(pr_bytes_text(midnight), PR_MOMENT_LOCAL, self->zone_min, &from_us))
        return PR_BAD;
    pr_rc_t rc =
        pr_buffer_printf(out, "{\"date\":\"%s\",\"from_unix\":%" PRId64 ",\"to_unix\":%" PRId64,
                         date, from_us / 1000000, (from_us + DAY_US) / 1000000);
    rc = rc == PR_OK ? write_member(out, "statement", self->name) : rc;
    for (size_t i = 0; rc == PR_OK && i < self->value_count; i++)
        rc = write_member(out, self->values[i].name, self->values[i].value);
    if (rc == PR_OK && target[0])
        rc = write_member(out, "target", target);
    return rc == PR_OK ? pr_buffer_append_text(out, "}") : rc;
}

static bool is_named(const pr_profile_statement_t *self, const char *host)
{
    for (size_t i = 0; i < self->host_count; i++)
        if (strcmp(self->hosts[i], host) == 0)
            return true;
    return false;
}

pr_rc_t pr_profile_statement_link(const pr_profile_statement_t *self, const char *base_url,
                                  const char *url, pr_statement_link_t *out, pr_error_t *error)
{
    pr_url_t base, link;
    if (pr_url_parse(base_url, &base, error) != PR_OK || pr_url_parse(url, &link, error) != PR_OK)
        return PR_BAD;
    bool same = strcmp(base.host, link.host) == 0;
    if (!same && !is_named(self, link.host))
        return pr_error_set(error, PR_BAD, "gateway", "", "a link to %s, which hosts does not name",
                            link.host);
    /* the same host: the port that is ours to use, whatever stands in the link */
    snprintf(out->target, sizeof out->target, "%s", link.target);
    if (same)
        snprintf(out->origin, sizeof out->origin, "%s", base.origin);
    else if (base.https && !link.https)
        snprintf(out->origin, sizeof out->origin, "https://%s:443", link.host);
    else
        snprintf(out->origin, sizeof out->origin, "%s", link.origin);
    return PR_OK;
}
