/* SPDX-License-Identifier: Apache-2.0 */
#include "channel/channel_json.h"

#include "base/alloc.h"
#include "base/json_scan.h"

#include <string.h>

#define PARAMETERS_MAX 128
#define SEALED_MAX_BYTES ((size_t)1024 * 1024) /* of all parameters of a channel */

typedef struct {
    char names[PARAMETERS_MAX][64];
    pr_sealed_parameter_t items[PARAMETERS_MAX];
    size_t count;
    uint8_t *bytes; /* that items borrow from */
    size_t used;
} parameters_t;

static bool member(pr_json_t object, const char *name, pr_json_type_t type, pr_json_t *out)
{
    return pr_json_find(object, name, strlen(name), out) == PR_OK && out->type == type;
}

/* A string without escapes, as names and hex digits are: its inside. */
static pr_bytes_t inside(pr_json_t string)
{
    return pr_bytes(string.text.data + 1, string.text.len - 2);
}

static bool take_parameter(pr_json_t object, parameters_t *out)
{
    pr_json_t name, sealed;
    if (out->count == PARAMETERS_MAX || !member(object, "name", PR_JSON_STRING, &name) ||
        !member(object, "sealed", PR_JSON_STRING, &sealed))
        return false;
    pr_bytes_t text = inside(name), hex = inside(sealed);
    if (text.len >= sizeof out->names[0] || out->used + hex.len / 2 > SEALED_MAX_BYTES ||
        !pr_unhex((const char *)hex.data, hex.len, out->bytes + out->used))
        return false;
    memcpy(out->names[out->count], text.data, text.len);
    out->names[out->count][text.len] = '\0';
    out->items[out->count] = (pr_sealed_parameter_t){out->names[out->count],
                                                     pr_bytes(out->bytes + out->used, hex.len / 2)};
    out->used += hex.len / 2;
    out->count++;
    return true;
}

static bool read_parameters(const char *text, parameters_t *out)
{
    pr_json_t root, element;
    size_t cursor = 0;
    if (pr_json_check(pr_bytes_text(text), &root) != PR_OK || root.type != PR_JSON_ARRAY)
        return false;
    while (pr_json_next_element(root, &cursor, &element))
        if (!take_parameter(element, out))
            return false;
    return true;
}

static bool read_exponents(const char *text, pr_money_overrides_t *out)
{
    pr_json_t root, key, value;
    size_t cursor = 0;
    out->count = 0;
    if (pr_json_check(pr_bytes_text(text), &root) != PR_OK || root.type != PR_JSON_OBJECT)
        return false;
    while (pr_json_next_member(root, &cursor, &key, &value)) {
        pr_bytes_t currency = inside(key);
        if (out->count == PR_MONEY_OVERRIDES_MAX || currency.len != 3 ||
            value.type != PR_JSON_NUMBER || value.text.len != 1 || value.text.data[0] > '4')
            return false;
        memcpy(out->entries[out->count].currency, currency.data, 3);
        out->entries[out->count].currency[3] = '\0';
        out->entries[out->count].exponent = (uint8_t)(value.text.data[0] - '0');
        out->count++;
    }
    return true;
}

pr_rc_t pr_channel_store_get_json(pr_channel_store_t *self, const pr_channel_row_t *row,
                                  const char *parameters, const char *exponents,
                                  pr_opened_channel_t **out, pr_error_t *error)
{
    PR_CLEANUP_FREE parameters_t *sealed = PR_NEW(parameters_t);
    PR_CLEANUP_FREE uint8_t *bytes = pr_calloc(SEALED_MAX_BYTES, 1);
    pr_money_overrides_t overrides;
    sealed->bytes = bytes;
    if (!read_parameters(parameters, sealed) || !read_exponents(exponents, &overrides))
        return pr_error_set(error, PR_BAD, "channel", "", "the channel's row is malformed");
    pr_channel_row_t whole = *row;
    whole.parameters = sealed->items;
    whole.parameter_count = sealed->count;
    whole.overrides = &overrides;
    return pr_channel_store_get(self, &whole, out, error);
}
