/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions, rules and readers: how answers and events are understood.
 */
#include "base/alloc.h"
#include "core/json_path.h"
#include "gateway/schema_private.h"

#include <string.h>

/* ---- conditions ---- */

static pr_rc_t read_condition(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_condition_t *condition = out;
    const char *key = node->key;
    condition->on = PR_ON_ITEM;
    condition->name = key;
    if (strcmp(key, "http") == 0) {
        condition->on = PR_ON_HTTP;
    } else if (strncmp(key, "header.", 7) == 0) {
        condition->on = PR_ON_HEADER;
        condition->name = key + 7;
    } else if (strncmp(key, "$.", 2) == 0) {
        condition->on = PR_ON_ROOT;
        condition->name = key + 2;
    }
    if (!condition->name[0] ||
        (condition->on != PR_ON_HEADER && !pr_json_path_is_valid(condition->name)))
        return pr_schema_bad(self, node, "http, header.NAME or a path is wanted");
    return pr_read_list(self, node, &condition->patterns);
}

pr_rc_t pr_read_conditions(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_conditions_t *conditions = out;
    void *items;
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_MAP, read_condition, sizeof(pr_condition_t),
                                &items, &conditions->count);
    conditions->items = items;
    return rc;
}

/* ---- rules ---- */

static pr_rc_t read_operations_mask(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_list_t names;
    uint64_t *mask = out;
    pr_rc_t rc = pr_read_list(self, node, &names);
    for (size_t i = 0; rc == PR_OK && i < names.count; i++) {
        pr_operation_t operation = pr_operation_find(names.items[i]);
        if (operation == PR_OPERATION_NONE)
            rc = pr_schema_bad(self, node, "no operation is named \"%.40s\"", names.items[i]);
        *mask |= UINT64_C(1) << operation;
    }
    return rc;
}

static pr_rc_t read_status(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    *(pr_status_t *)out = pr_status_find(text);
    return *(pr_status_t *)out != PR_STATUS_NONE
               ? PR_OK
               : pr_schema_bad(self, node,
                               "PENDING, SUCCEEDED, FAILED, CANCELLED, REFUNDED, "
                               "PARTIALLY_REFUNDED, NOT_FOUND or UNKNOWN is wanted");
}

static pr_rc_t read_action(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    *(pr_action_t *)out = pr_action_find(text);
    return *(pr_action_t *)out != PR_ACTION_NONE || strcmp(text, "none") == 0
               ? PR_OK
               : pr_schema_bad(self, node,
                               "retry, query_first, back_off, longer_interval, fail_now, person, "
                               "stop_channel or none is wanted");
}

static pr_rc_t read_follow_up(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    *(pr_follow_up_t *)out = pr_follow_up_find(text);
    return *(pr_follow_up_t *)out != PR_FOLLOW_UP_NONE || strcmp(text, "none") == 0
               ? PR_OK
               : pr_schema_bad(self, node, "capture, query_refunds or none is wanted");
}

static pr_rc_t read_final(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    bool value;
    pr_rc_t rc = pr_read_bool(self, node, &value);
    *(int *)out = rc == PR_OK && value;
    return rc;
}

#define RULE(member) offsetof(pr_rule_line_t, member)
static const pr_schema_field_t rule_fields[] = {
    {"when", pr_read_conditions, RULE(when), NULL},
    {"operations", read_operations_mask, RULE(operations), pr_schema_none},
    {"status", read_status, RULE(status), pr_schema_none},
    {"status_if_paid", read_status, RULE(status_if_paid), pr_schema_none},
    {"action", read_action, RULE(action), "none"},
    {"follow_up", read_follow_up, RULE(follow_up), "none"},
    {"final", read_final, RULE(final), pr_schema_none},
    {"reason", pr_read_text, RULE(reason), ""},
};
const pr_schema_section_t pr_section_rule = {"a rule", rule_fields, PR_COUNT(rule_fields)};

static pr_rc_t read_rule(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_rule_line_t *rule = out;
    rule->final = -1;
    pr_rc_t rc = pr_schema_section(self, &pr_section_rule, node, rule);
    if (rc == PR_OK && rule->when.count == 0)
        rc = pr_schema_bad(self, node, "when: at least one condition is wanted");
    if (rc == PR_OK && strlen(rule->reason) >= sizeof((pr_evidence_t *)0)->reason)
        rc = pr_schema_bad(self, node, "reason: 63 characters at most");
    return rc;
}

pr_rc_t pr_read_rules(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_rules_t *rules = out;
    void *items;
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_LIST, read_rule, sizeof(pr_rule_line_t), &items,
                                &rules->count);
    rules->items = items;
    return rc;
}

/* ---- readers ---- */

static pr_rc_t read_object(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    *(pr_object_t *)out = pr_object_find(text);
    return *(pr_object_t *)out != PR_OBJECT_NONE || strcmp(text, "none") == 0
               ? PR_OK
               : pr_schema_bad(self, node, "payment, refund, dispute or none is wanted");
}

static pr_rc_t read_status_line(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_status_line_t *line = out;
    line->native = node->key;
    return read_status(self, node, &line->status);
}

static pr_rc_t read_map(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_reader_t *reader = out;
    void *items;
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_MAP, read_status_line, sizeof(pr_status_line_t),
                                &items, &reader->map_count);
    reader->map = items;
    return rc;
}

static pr_rc_t read_next_action(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_next_action_t *action = out;
    action->kind = node->key;
    if (strlen(action->kind) >= sizeof((pr_evidence_t *)0)->next_action_kind)
        return pr_schema_bad(self, node, "23 characters at most");
    return pr_read_paths(self, node, &action->at);
}

static pr_rc_t read_next_actions(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_reader_t *reader = out;
    void *items;
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_MAP, read_next_action, sizeof(pr_next_action_t),
                                &items, &reader->next_action_count);
    reader->next_actions = items;
    return rc;
}

#define FIELD(word) \
    { \
#word, pr_read_paths, offsetof(pr_reader_t, fields.word), pr_schema_none \
    }
static const pr_schema_field_t field_fields[] = {
    FIELD(account),          FIELD(request_no),    FIELD(reference),    FIELD(refund_no),
    FIELD(refund_reference), FIELD(currency),      FIELD(amount),       FIELD(captured_total),
    FIELD(refunded_total),   FIELD(refund_amount), FIELD(failure_code), FIELD(failure_message),
    FIELD(paid_at),          FIELD(occurred_at),   FIELD(digest),       FIELD(token),
    FIELD(token_expires),
};
const pr_schema_section_t pr_section_fields = {"fields", field_fields, PR_COUNT(field_fields)};

static pr_rc_t read_fields(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    return pr_schema_section(self, &pr_section_fields, node, out);
}

#define READER(member) offsetof(pr_reader_t, member)
static const pr_schema_field_t reader_fields[] = {
    {"object", read_object, READER(object), NULL},
    {"status", pr_read_paths, READER(status), pr_schema_none},
    {"map", read_map, 0, pr_schema_none},
    {"rules", pr_read_rules, READER(rules), pr_schema_none},
    {"fields", read_fields, 0, pr_schema_none},
    {"next_action", read_next_actions, 0, pr_schema_none},
};
const pr_schema_section_t pr_section_reader = {"readers.NAME", reader_fields,
                                               PR_COUNT(reader_fields)};

static pr_rc_t read_reader(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_reader_t *reader = out;
    reader->name = node->key;
    return pr_schema_section(self, &pr_section_reader, node, reader);
}

pr_rc_t pr_read_readers(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_t *profile = out;
    void *items;
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_MAP, read_reader, sizeof(pr_reader_t), &items,
                                &profile->reader_count);
    profile->readers = items;
    return rc;
}
