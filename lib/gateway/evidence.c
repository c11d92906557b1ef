/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/evidence.h"

#include "base/alloc.h"
#include "core/json_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VALUE_MAX_BYTES 65536

void pr_evidence_init(pr_evidence_t *self)
{
    memset(self, 0, sizeof *self);
    self->final = true;
    self->paid_at_us = self->occurred_at_us = self->retry_after_ms = self->token_expires_s = -1;
}

/* ---- values as text ---- */

/* Appends a scalar's text; false: absent, null, a list or an object, or it stands there twice. */
static bool take_scalar(pr_json_t root, const char *path, pr_buffer_t *out)
{
    pr_json_t value;
    if (root.type == PR_JSON_NONE || pr_json_path_get(root, path, &value) != PR_OK)
        return false;
    switch (value.type) {
    case PR_JSON_STRING:
        return pr_json_decode(value, out) == PR_OK &&
               !memchr(out->data ? out->data : (uint8_t *)"", '\0', out->len);
    case PR_JSON_NUMBER:
    case PR_JSON_TRUE:
    case PR_JSON_FALSE:
        return pr_buffer_append(out, value.text.data, value.text.len) == PR_OK;
    default:
        return false;
    }
}

/* The first path that has a value that is not empty. */
static bool take_first(const pr_paths_t *paths, const pr_template_context_t *context,
                       pr_buffer_t *out)
{
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i];
        pr_buffer_clear(out);
        if (path[0] == '=' && pr_buffer_append_text(out, path + 1) == PR_OK)
            return true;
        bool from_root = strncmp(path, "$.", 2) == 0;
        if (path[0] != '=' &&
            take_scalar(from_root ? context->root : context->item, from_root ? path + 2 : path,
                        out) &&
            out->len > 0)
            return true;
    }
    return false;
}

/* ---- conditions ---- */

static bool fits(const char *pattern, const char *value)
{
    size_t len = strlen(pattern);
    if (len > 0 && pattern[len - 1] == '*')
        return value[0] != '\0' && strncmp(pattern, value, len - 1) == 0;
    return strcmp(pattern, value) == 0;
}

/* There, whatever it is: a list or an object, too. */
static bool is_container(pr_json_t root, const char *path)
{
    pr_json_t value;
    return root.type != PR_JSON_NONE && pr_json_path_get(root, path, &value) == PR_OK &&
           (value.type == PR_JSON_OBJECT || value.type == PR_JSON_ARRAY);
}

static bool holds(const pr_condition_t *self, const pr_template_context_t *context,
                  uint32_t http_status, pr_buffer_t *value)
{
    pr_bytes_t header;
    pr_json_t root = self->on == PR_ON_ROOT ? context->root : context->item;
    pr_buffer_clear(value);
    if (self->on == PR_ON_HTTP) {
        if (pr_buffer_printf(value, "%" PRIu32, http_status) != PR_OK)
            return false;
    } else if (self->on == PR_ON_HEADER) {
        if (pr_header_find(context->headers, context->header_count, self->name, &header) &&
            pr_buffer_append(value, header.data, header.len) != PR_OK)
            return false;
    } else if (!take_scalar(root, self->name, value)) {
        pr_buffer_clear(value);
        if (is_container(root, self->name) && pr_buffer_append(value, "{", 1) != PR_OK)
            return false;
    }
    for (size_t i = 0; i < self->patterns.count; i++)
        if (fits(self->patterns.items[i], pr_buffer_text(value)))
            return true;
    return false;
}

bool pr_conditions_hold(const pr_conditions_t *self, const pr_template_context_t *context,
                        uint32_t http_status)
{
    pr_buffer_t value;
    bool all = true;
    pr_buffer_init(&value, VALUE_MAX_BYTES);
    for (size_t i = 0; all && i < self->count; i++)
        all = holds(&self->items[i], context, http_status, &value);
    pr_buffer_free(&value);
    return all;
}

/* ---- rules ---- */

const pr_rule_line_t *pr_rules_find(const pr_rules_t *self, pr_operation_t operation,
                                    const pr_template_context_t *context, uint32_t http_status)
{
    for (size_t i = 0; i < self->count; i++) {
        const pr_rule_line_t *rule = &self->items[i];
        if ((rule->operations == 0 || rule->operations & UINT64_C(1) << operation) &&
            pr_conditions_hold(&rule->when, context, http_status))
            return rule;
    }
    return NULL;
}

void pr_evidence_apply_rule(pr_evidence_t *evidence, const pr_profile_t *profile,
                            const pr_rule_line_t *rule, bool paid_before)
{
    evidence->action = rule->action;
    evidence->follow_up = rule->follow_up;
    evidence->ambiguous = rule->status_if_paid != PR_STATUS_NONE;
    evidence->status = evidence->ambiguous && paid_before ? rule->status_if_paid : rule->status;
    if (evidence->status == PR_STATUS_NONE)
        evidence->status = PR_STATUS_UNKNOWN;
    evidence->final = rule->final < 0 ? profile->facts.failure_final : rule->final;
    snprintf(evidence->reason, sizeof evidence->reason, "%s", rule->reason);
}

/* ---- fields ---- */

typedef struct {
    const pr_template_context_t *context;
    pr_evidence_t *out;
    pr_buffer_t value;
} reader_t;

static void flaw(reader_t *self, const char *what)
{
    if (!self->out->flaw)
        self->out->flaw = what;
}

/* A text that tells one payment from another: cut short it would be another's. */
static void read_identity(reader_t *self, const pr_paths_t *paths, char *out, size_t size,
                          const char *flaw_name)
{
    if (!take_first(paths, self->context, &self->value))
        return;
    if (self->value.len >= size)
        flaw(self, flaw_name);
    else
        memcpy(out, pr_buffer_text(&self->value), self->value.len + 1);
}

/* A text for people: cut to fit, at a character. */
static void read_note(reader_t *self, const pr_paths_t *paths, char *out, size_t size)
{
    if (!take_first(paths, self->context, &self->value))
        return;
    size_t len = self->value.len < size ? self->value.len : size - 1;
    while (len > 0 && len < self->value.len && (self->value.data[len] & 0xc0) == 0x80)
        len--;
    memcpy(out, self->value.data, len);
    out[len] = '\0';
}

static void read_currency(reader_t *self, const pr_paths_t *paths)
{
    char *out = self->out->currency;
    if (!take_first(paths, self->context, &self->value))
        return;
    bool ok = self->value.len == 3;
    for (size_t i = 0; ok && i < 3; i++) {
        uint8_t c = self->value.data[i];
        out[i] = (char)(c >= 'a' && c <= 'z' ? c - 0x20 : c); /* Stripe writes small letters */
    }
    if (!ok || !pr_money_is_currency(out)) {
        memset(out, 0, sizeof self->out->currency);
        flaw(self, "currency");
    }
}

static void read_amount(reader_t *self, const pr_paths_t *paths, pr_amount_t *out,
                        const char *flaw_name)
{
    const pr_channel_t *channel = self->context->channel;
    if (!take_first(paths, self->context, &self->value))
        return;
    pr_money_result_t result =
        pr_money_parse(pr_buffer_bytes(&self->value), channel->profile->facts.unit,
                       self->out->currency, &channel->overrides, &out->minor);
    out->state = result == PR_MONEY_OK ? PR_AMOUNT_KNOWN : PR_AMOUNT_FLAWED;
    if (result == PR_MONEY_UNKNOWN_CURRENCY)
        flaw(self, "unknown_currency");
    else if (result != PR_MONEY_OK)
        flaw(self, flaw_name);
}

static void read_moment(reader_t *self, const pr_paths_t *paths, int64_t *out)
{
    const pr_profile_t *profile = self->context->channel->profile;
    if (take_first(paths, self->context, &self->value) &&
        !pr_moment_parse(pr_buffer_bytes(&self->value), profile->time.format,
                         profile->time.zone_min, out))
        *out = -1; /* money does not hang on it: the time of receipt is known, too */
}

static void read_seconds(reader_t *self, const pr_paths_t *paths, int64_t *out)
{
    int64_t us;
    if (take_first(paths, self->context, &self->value) &&
        pr_moment_parse(pr_buffer_bytes(&self->value), PR_MOMENT_UNIX, 0, &us))
        *out = us / 1000000;
}

static void read_next_action(reader_t *self, const pr_reader_t *reader)
{
    pr_evidence_t *out = self->out;
    for (size_t i = 0; i < reader->next_action_count; i++) {
        const pr_next_action_t *action = &reader->next_actions[i];
        if (!take_first(&action->at, self->context, &self->value) ||
            self->value.len >= sizeof out->next_action)
            continue;
        snprintf(out->next_action_kind, sizeof out->next_action_kind, "%s", action->kind);
        memcpy(out->next_action, pr_buffer_text(&self->value), self->value.len + 1);
        return;
    }
}

#define IDENTITY(word) \
    read_identity(&self, &reader->fields.word, out->word, sizeof out->word, #word)
#define AMOUNT(word) read_amount(&self, &reader->fields.word, &out->word, #word)

static void read_fields(const pr_reader_t *reader, const pr_template_context_t *context,
                        pr_evidence_t *out)
{
    reader_t self = {.context = context, .out = out};
    pr_buffer_init(&self.value, VALUE_MAX_BYTES);
    IDENTITY(account);
    IDENTITY(request_no);
    IDENTITY(reference);
    IDENTITY(refund_no);
    IDENTITY(refund_reference);
    read_currency(&self, &reader->fields.currency); /* amounts are read by it */
    AMOUNT(amount);
    AMOUNT(captured_total);
    AMOUNT(refunded_total);
    AMOUNT(refund_amount);
    read_note(&self, &reader->fields.failure_code, out->failure_code, sizeof out->failure_code);
    read_note(&self, &reader->fields.failure_message, out->failure_message,
              sizeof out->failure_message);
    read_moment(&self, &reader->fields.paid_at, &out->paid_at_us);
    read_moment(&self, &reader->fields.occurred_at, &out->occurred_at_us);
    IDENTITY(digest);
    IDENTITY(token);
    read_seconds(&self, &reader->fields.token_expires, &out->token_expires_s);
    read_next_action(&self, reader);
    read_note(&self, &reader->status, out->native, sizeof out->native);
    pr_buffer_free(&self.value);
}

/* ---- status ---- */

static void read_status(const pr_reader_t *reader, const pr_template_context_t *context,
                        uint32_t http_status, bool paid_before, pr_evidence_t *out)
{
    const pr_profile_t *profile = context->channel->profile;
    const pr_rule_line_t *rule =
        pr_rules_find(&reader->rules, PR_OPERATION_NONE, context, http_status);
    if (rule) {
        pr_evidence_apply_rule(out, profile, rule, paid_before);
        return;
    }
    out->final = profile->facts.failure_final;
    for (size_t i = 0; i < reader->map_count; i++) {
        if (strcmp(reader->map[i].native, out->native) == 0) {
            out->status = reader->map[i].status;
            return;
        }
    }
    if (reader->status.count == 0 && reader->map_count == 0 && reader->rules.count == 0)
        return; /* a reader of other things: an access token */
    out->status = PR_STATUS_UNKNOWN;
    out->action = PR_ACTION_LONGER_INTERVAL;
    snprintf(out->reason, sizeof out->reason, "%s",
             out->native[0] ? "unmapped_status" : "no_status");
}

void pr_evidence_read(const pr_reader_t *reader, const pr_template_context_t *context,
                      uint32_t http_status, bool paid_before, bool status_too, pr_evidence_t *out)
{
    out->object = reader->object;
    read_fields(reader, context, out);
    if (status_too)
        read_status(reader, context, http_status, paid_before, out);
}
