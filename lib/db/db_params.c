/* SPDX-License-Identifier: Apache-2.0
 *
 * Binary parameters. Numbers are big-endian. An array is: dimensions, has-nulls flag, element type,
 * then (unless it is empty) length and lower bound, then each element behind its length, -1 for
 * NULL (src/backend/utils/adt/arrayfuncs.c, array_recv).
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "db/db_private.h"

#include <string.h>

pr_params_t *pr_params_new(void)
{
    pr_params_t *self = PR_NEW(pr_params_t);
    pr_buffer_init(&self->bytes, PR_PARAMS_BYTES_MAX);
    return self;
}

void pr_params_destroy(pr_params_t **self)
{
    if (*self == NULL)
        return;
    pr_buffer_free(&(*self)->bytes);
    pr_free(*self);
    *self = NULL;
}

void pr_params_clear(pr_params_t *self)
{
    pr_buffer_clear(&self->bytes);
    self->count = 0;
}

/* ---- bytes ---- */

static void put(pr_params_t *self, const void *bytes, size_t len)
{
    pr_rc_t rc = pr_buffer_append(&self->bytes, bytes, len);
    pr_assert(rc == PR_OK);
}

static void put_u16(pr_params_t *self, uint16_t value)
{
    const uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};
    put(self, bytes, sizeof bytes);
}

static void put_u32(pr_params_t *self, uint32_t value)
{
    put_u16(self, (uint16_t)(value >> 16));
    put_u16(self, (uint16_t)value);
}

static void put_u64(pr_params_t *self, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (56 - 8 * i));
    put(self, bytes, sizeof bytes);
}

/* ---- one parameter: begin, put its bytes, end ---- */

static pr_param_t *begin(pr_params_t *self, Oid type)
{
    pr_assert(self->count < PR_PARAMS_MAX);
    pr_param_t *item = &self->items[self->count++];
    *item = (pr_param_t){.type = type, .len = -1, .at = self->bytes.len};
    return item;
}

static void end(pr_params_t *self, pr_param_t *item)
{
    item->len = (int)(self->bytes.len - item->at);
    /* every value starts on its own byte, so that an empty one has an address too */
    put(self, "", 1);
}

static void add_bytes(pr_params_t *self, Oid type, const void *bytes, size_t len)
{
    pr_param_t *item = begin(self, type);
    put(self, bytes, len);
    end(self, item);
}

void pr_params_add_null(pr_params_t *self)
{
    begin(self, 0);
}

void pr_params_add_i16(pr_params_t *self, int16_t value)
{
    pr_param_t *item = begin(self, PR_OID_I16);
    put_u16(self, (uint16_t)value);
    end(self, item);
}

void pr_params_add_i32(pr_params_t *self, int32_t value)
{
    pr_param_t *item = begin(self, PR_OID_I32);
    put_u32(self, (uint32_t)value);
    end(self, item);
}

void pr_params_add_i64(pr_params_t *self, int64_t value)
{
    pr_param_t *item = begin(self, PR_OID_I64);
    put_u64(self, (uint64_t)value);
    end(self, item);
}

void pr_params_add_f64(pr_params_t *self, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    pr_param_t *item = begin(self, PR_OID_F64);
    put_u64(self, bits);
    end(self, item);
}

void pr_params_add_bool(pr_params_t *self, bool value)
{
    const uint8_t byte = value ? 1 : 0;
    add_bytes(self, PR_OID_BOOL, &byte, 1);
}

void pr_params_add_text(pr_params_t *self, const char *value)
{
    if (value == NULL)
        begin(self, PR_OID_TEXT);
    else
        add_bytes(self, PR_OID_TEXT, value, strlen(value));
}

void pr_params_add_bytes(pr_params_t *self, pr_bytes_t value)
{
    add_bytes(self, PR_OID_BYTEA, value.data, value.len);
}

void pr_params_add_uuid(pr_params_t *self, const uint8_t uuid[16])
{
    add_bytes(self, PR_OID_UUID, uuid, 16);
}

/* ---- arrays ---- */

static pr_param_t *begin_array(pr_params_t *self, Oid type, Oid element, int count, bool nulls)
{
    pr_assert(count >= 0);
    pr_param_t *item = begin(self, type);
    put_u32(self, count > 0 ? 1 : 0);
    put_u32(self, nulls ? 1 : 0);
    put_u32(self, element);
    if (count > 0) {
        put_u32(self, (uint32_t)count);
        put_u32(self, 1);
    }
    return item;
}

static bool any_null(const bool *nulls, int count)
{
    for (int i = 0; nulls != NULL && i < count; i++) {
        if (nulls[i])
            return true;
    }
    return false;
}

static void put_null(pr_params_t *self)
{
    put_u32(self, UINT32_MAX);
}

static void put_element(pr_params_t *self, const void *bytes, size_t len)
{
    pr_assert(len <= PR_PARAMS_BYTES_MAX);
    put_u32(self, (uint32_t)len);
    put(self, bytes, len);
}

void pr_params_add_i16_array(pr_params_t *self, const int16_t *values, int count)
{
    pr_param_t *item = begin_array(self, PR_OID_I16_ARRAY, PR_OID_I16, count, false);
    for (int i = 0; i < count; i++) {
        put_u32(self, 2);
        put_u16(self, (uint16_t)values[i]);
    }
    end(self, item);
}

void pr_params_add_i32_array(pr_params_t *self, const int32_t *values, int count)
{
    pr_param_t *item = begin_array(self, PR_OID_I32_ARRAY, PR_OID_I32, count, false);
    for (int i = 0; i < count; i++) {
        put_u32(self, 4);
        put_u32(self, (uint32_t)values[i]);
    }
    end(self, item);
}

void pr_params_add_i64_array(pr_params_t *self, const int64_t *values, const bool *nulls, int count)
{
    pr_param_t *item =
        begin_array(self, PR_OID_I64_ARRAY, PR_OID_I64, count, any_null(nulls, count));
    for (int i = 0; i < count; i++) {
        if (nulls != NULL && nulls[i]) {
            put_null(self);
            continue;
        }
        put_u32(self, 8);
        put_u64(self, (uint64_t)values[i]);
    }
    end(self, item);
}

void pr_params_add_text_array(pr_params_t *self, const char *const *values, int count)
{
    bool nulls = false;
    for (int i = 0; i < count; i++)
        nulls = nulls || values[i] == NULL;
    pr_param_t *item = begin_array(self, PR_OID_TEXT_ARRAY, PR_OID_TEXT, count, nulls);
    for (int i = 0; i < count; i++) {
        if (values[i] == NULL)
            put_null(self);
        else
            put_element(self, values[i], strlen(values[i]));
    }
    end(self, item);
}

void pr_params_add_bytes_array(pr_params_t *self, const pr_bytes_t *values, const bool *nulls,
                               int count)
{
    pr_param_t *item =
        begin_array(self, PR_OID_BYTEA_ARRAY, PR_OID_BYTEA, count, any_null(nulls, count));
    for (int i = 0; i < count; i++) {
        if (nulls != NULL && nulls[i])
            put_null(self);
        else
            put_element(self, values[i].data, values[i].len);
    }
    end(self, item);
}

void pr_params_add_uuid_array(pr_params_t *self, const uint8_t (*values)[16], int count)
{
    pr_param_t *item = begin_array(self, PR_OID_UUID_ARRAY, PR_OID_UUID, count, false);
    for (int i = 0; i < count; i++)
        put_element(self, values[i], 16);
    end(self, item);
}

/* ---- for libpq ---- */

void pr_params_bind(const pr_params_t *params, pr_bound_t *out)
{
    for (int i = 0; params != NULL && i < params->count; i++) {
        const pr_param_t *item = &params->items[i];
        out->types[i] = item->type;
        out->values[i] = item->len < 0 ? NULL : (const char *)params->bytes.data + item->at;
        out->lengths[i] = item->len < 0 ? 0 : item->len;
        out->formats[i] = 1;
    }
}

bool pr_params_fits(Oid given, Oid wanted)
{
    if (given == wanted || given == 0)
        return true;
    switch (given) {
    case PR_OID_TEXT: /* these have the same bytes as text */
        return wanted == PR_OID_VARCHAR || wanted == PR_OID_BPCHAR || wanted == PR_OID_NAME ||
               wanted == PR_OID_JSON || wanted == PR_OID_UNKNOWN;
    case PR_OID_I64:
        return wanted == PR_OID_XID8;
    default:
        return false;
    }
}
