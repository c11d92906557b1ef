/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tap_filter.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kind;
    const char *items;
} batches[] = {
    {"job_batch", "jobs"},    {"outcome_batch", "outcomes"}, {"outcome_ack", "tokens"},
    {"worker_hello", "held"}, {"worker_held", "held"},       {"breaker_snapshot", "breakers"},
};

const char *pr_tap_items(const char *kind)
{
    for (size_t i = 0; i < PR_COUNT(batches); i++) {
        if (strcmp(batches[i].kind, kind) == 0) {
            return batches[i].items;
        }
    }
    return NULL;
}

/* In an OutcomeAck the item is the token itself. */
static pr_tap_token_t token_of(const json_t *item)
{
    const json_t *token = json_object_get(item, "token");
    token = token ? token : item;
    const char *salt = json_string_value(json_object_get(token, "salt"));
    return (pr_tap_token_t){salt ? strtoull(salt, NULL, 16) : 0,
                            json_integer_value(json_object_get(token, "seq"))};
}

static bool is_token(const json_t *item)
{
    return json_object_get(item, "token") || json_object_get(item, "salt");
}

static void remember(pr_tap_filter_t *self, const json_t *item)
{
    self->tokens[self->tokens_count++ % PR_TAP_TOKENS_MAX] = token_of(item);
}

static bool remembered(const pr_tap_filter_t *self, const json_t *item)
{
    pr_tap_token_t token = token_of(item);
    size_t count = self->tokens_count < PR_TAP_TOKENS_MAX ? self->tokens_count : PR_TAP_TOKENS_MAX;
    for (size_t i = 0; i < count; i++) {
        if (self->tokens[i].salt == token.salt && self->tokens[i].seq == token.seq) {
            return true;
        }
    }
    return false;
}

static bool says(const json_t *item, const char *field, const char *wanted)
{
    if (!wanted) {
        return true;
    }
    const char *value = json_string_value(json_object_get(item, field));
    return value && strcmp(value, wanted) == 0;
}

static bool matches(pr_tap_filter_t *self, const json_t *item)
{
    bool named = json_object_get(item, "merchant_id") || json_object_get(item, "order_no");
    if (!named) {
        return is_token(item) && remembered(self, item);
    }
    bool wanted = says(item, "merchant_id", self->merchant) && says(item, "order_no", self->order);
    if (wanted && is_token(item)) {
        remember(self, item);
    }
    return wanted;
}

/* Takes out what does not match; false when nothing is left. */
static bool cut_down(pr_tap_filter_t *self, json_t *items)
{
    size_t i = 0;
    while (i < json_array_size(items)) {
        if (matches(self, json_array_get(items, i))) {
            i++;
        } else {
            json_array_remove(items, i);
        }
    }
    return json_array_size(items) > 0;
}

bool pr_tap_filter(pr_tap_filter_t *self, json_t *envelope)
{
    const char *kind = json_string_value(json_object_get(envelope, "kind"));
    json_t *body = json_object_get(envelope, kind);
    const char *items = pr_tap_items(kind);
    bool shown = true;
    if (self->merchant || self->order) {
        shown = items ? cut_down(self, json_object_get(body, items)) : matches(self, body);
    }
    /* Last: jobs that match must be remembered even when only outcomes are shown. */
    return shown && (!self->kind || strcmp(self->kind, kind) == 0);
}
