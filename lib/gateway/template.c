/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/template.h"

#include "base/alloc.h"
#include "core/json_path.h"
#include "gateway/template_private.h"

#include <string.h>

#define ASKING (PR_PLACE_REQUEST | PR_PLACE_SIGNED | PR_PLACE_HEADER)
#define SIGNING (PR_PLACE_SIGNED | PR_PLACE_HEADER)
#define READING (PR_PLACE_ANSWER | PR_PLACE_WEBHOOK)
#define SEGMENTS_MAX 64

/* Names that end in a dot are followed by a name of their own. */
static const struct {
    const char *name;
    unsigned places;
    pr_source_t source;
    size_t offset;
} names[] = {
    {"request_no", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, request_no)},
    {"reference", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, reference)},
    {"reference_only", ASKING, PR_SOURCE_REFERENCE_ONLY, 0},
    {"refund_no", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, refund_no)},
    {"refund_reference", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, refund_reference)},
    {"order_no", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, order_no)},
    {"currency", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, currency)},
    {"description", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, description)},
    {"reason", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, reason)},
    {"notify_url", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, notify_url)},
    {"return_url", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, return_url)},
    {"token", ASKING, PR_SOURCE_FACT, offsetof(pr_payment_facts_t, token)},
    {"amount", ASKING, PR_SOURCE_AMOUNT, 0},
    {"refund_amount", ASKING, PR_SOURCE_REFUND_AMOUNT, 0},
    {"expires_at", ASKING, PR_SOURCE_EXPIRES_AT, 0},
    {"request.", ASKING, PR_SOURCE_REQUEST_PATH, 0},
    {"param.", ASKING | READING, PR_SOURCE_PARAM, 0},
    {"now", ASKING, PR_SOURCE_NOW, 0},
    {"now.unix", ASKING, PR_SOURCE_NOW_UNIX, 0},
    {"nonce", ASKING, PR_SOURCE_NONCE, 0},
    {"method", SIGNING | PR_PLACE_WEBHOOK, PR_SOURCE_METHOD, 0},
    {"target", SIGNING, PR_SOURCE_TARGET, 0},
    {"signature", PR_PLACE_HEADER, PR_SOURCE_SIGNATURE, 0},
    {"body", SIGNING | READING, PR_SOURCE_BODY, 0},
    {"body.", READING, PR_SOURCE_BODY_PATH, 0},
    {"item.", PR_PLACE_WEBHOOK, PR_SOURCE_ITEM_PATH, 0},
    {"header.", READING, PR_SOURCE_HEADER, 0},
    {"query.", PR_PLACE_WEBHOOK, PR_SOURCE_QUERY, 0},
    {"form.sorted", SIGNING | PR_PLACE_WEBHOOK, PR_SOURCE_FORM_SORTED, 0},
};

static const struct {
    const char *name;
    bool wants_arg;
    pr_filter_t kind;
} filters[] = {
    {"json", false, PR_FILTER_JSON},    {"raw", false, PR_FILTER_RAW},
    {"url", false, PR_FILTER_URL},      {"basic", true, PR_FILTER_BASIC},
    {"part", true, PR_FILTER_PART},     {"crc32", false, PR_FILTER_CRC32},
    {"lower", false, PR_FILTER_LOWER},  {"upper", false, PR_FILTER_UPPER},
    {"member", true, PR_FILTER_MEMBER}, {"under", true, PR_FILTER_UNDER},
};

typedef struct {
    pr_place_t place;
    pr_pool_t *pool;
    pr_error_t *error;
    bool needs_document;
} parser_t;

static pr_rc_t bad(const parser_t *self, const char *what, const char *text)
{
    return pr_error_set(self->error, PR_BAD, "profile", "", "%s \"%.100s\"", what, text);
}

static bool is_path(pr_source_t source)
{
    return source == PR_SOURCE_BODY_PATH || source == PR_SOURCE_ITEM_PATH ||
           source == PR_SOURCE_REQUEST_PATH;
}

static bool is_word(const char *text)
{
    return *text && text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789_-")] == '\0';
}

/* name lives in the pool. */
static pr_rc_t resolve(parser_t *self, const char *name, pr_reference_t *out)
{
    for (size_t i = 0; i < PR_COUNT(names); i++) {
        size_t len = strlen(names[i].name);
        bool prefix = names[i].name[len - 1] == '.';
        if (prefix ? strncmp(name, names[i].name, len) != 0 : strcmp(name, names[i].name) != 0)
            continue;
        if (!(names[i].places & self->place))
            return bad(self, "this placeholder has no value here:", name);
        *out = (pr_reference_t){names[i].source, names[i].offset, name, name + len};
        if (is_path(out->source) ? !pr_json_path_is_valid(out->arg) || !*out->arg
                                 : prefix && !is_word(out->arg))
            return bad(self, "malformed name behind the dot of", name);
        self->needs_document |= out->source == PR_SOURCE_BODY_PATH ||
                                out->source == PR_SOURCE_ITEM_PATH ||
                                out->source == PR_SOURCE_FORM_SORTED;
        return PR_OK;
    }
    return bad(self, "unknown placeholder", name);
}

static pr_rc_t read_filter(parser_t *self, char *text, pr_segment_t *segment)
{
    char *arg = strchr(text, '=');
    if (arg)
        *arg++ = '\0';
    if (strcmp(text, "or") == 0)
        return arg && !segment->otherwise.name ? resolve(self, arg, &segment->otherwise)
                                               : bad(self, "one |or=NAME is allowed, not", text);
    for (size_t i = 0; i < PR_COUNT(filters); i++) {
        if (strcmp(text, filters[i].name) != 0)
            continue;
        if (filters[i].wants_arg != (arg != NULL) || (arg && !is_word(arg)))
            return bad(self, "an argument too many, missing or malformed at filter", text);
        if (segment->filter_count == PR_TEMPLATE_FILTERS_MAX)
            return bad(self, "too many filters at", text);
        segment->filters[segment->filter_count].kind = filters[i].kind;
        segment->filters[segment->filter_count++].arg = arg;
        return PR_OK;
    }
    return bad(self, "unknown filter", text);
}

/* inside: between the braces, in the pool, ours to cut. */
static pr_rc_t read_placeholder(parser_t *self, char *inside, pr_segment_t *segment)
{
    char *rest = inside, *name = strsep(&rest, "|");
    size_t len = strlen(name);
    if (len > 0 && name[len - 1] == '?') {
        segment->optional = true;
        name[len - 1] = '\0';
    }
    pr_rc_t rc = resolve(self, name, &segment->from);
    while (rc == PR_OK && rest)
        rc = read_filter(self, strsep(&rest, "|"), segment);
    return rc;
}

static pr_rc_t read_segments(parser_t *self, const char *text, pr_template_t *out)
{
    while (*text) {
        if (out->count == SEGMENTS_MAX)
            return bad(self, "too many placeholders from", text);
        pr_segment_t *segment = &out->segments[out->count++];
        if (strncmp(text, "${", 2) != 0) {
            const char *end = strstr(text, "${");
            size_t len = end ? (size_t)(end - text) : strlen(text);
            segment->from.arg = pr_pool_text(self->pool, text, len);
            text += len;
            continue;
        }
        const char *end = strchr(text, '}');
        if (!end)
            return bad(self, "a } is missing behind", text);
        char *inside = pr_pool_text(self->pool, text + 2, (size_t)(end - text) - 2);
        if (read_placeholder(self, inside, segment) != PR_OK)
            return PR_BAD;
        text = end + 1;
    }
    return PR_OK;
}

pr_rc_t pr_template_parse(const char *text, pr_place_t place, pr_pool_t *pool, pr_template_t *out,
                          pr_error_t *error)
{
    parser_t self = {.place = place, .pool = pool, .error = error};
    size_t room = 1;
    for (const char *at = text; (at = strstr(at, "${")); at += 2)
        room += 2;
    room = room < SEGMENTS_MAX ? room : SEGMENTS_MAX;
    *out = (pr_template_t){.segments = pr_pool_take(pool, room, sizeof(pr_segment_t))};
    pr_rc_t rc = read_segments(&self, text, out);
    out->needs_document = self.needs_document;
    return rc;
}

static bool name_parameters(const pr_reference_t *reference, pr_template_parameter_fn *each,
                            void *context)
{
    return !reference->name || reference->source != PR_SOURCE_PARAM ||
           each(context, reference->arg);
}

bool pr_template_parameters(const pr_template_t *self, pr_template_parameter_fn *each,
                            void *context)
{
    for (size_t i = 0; i < self->count; i++) {
        const pr_segment_t *segment = &self->segments[i];
        if (!name_parameters(&segment->from, each, context) ||
            !name_parameters(&segment->otherwise, each, context))
            return false;
        for (size_t f = 0; f < segment->filter_count; f++)
            if (segment->filters[f].kind == PR_FILTER_BASIC &&
                !each(context, segment->filters[f].arg))
                return false;
    }
    return true;
}
