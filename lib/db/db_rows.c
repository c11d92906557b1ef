/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/assert.h"
#include "db/db_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* timestamptz counts microseconds from 2000-01-01; this is that day from 1970. */
#define EPOCH_2000_US (INT64_C(946684800) * 1000000)

int pr_rows_count(const pr_rows_t *rows)
{
    return PQntuples(rows->result);
}

int pr_rows_affected(const pr_rows_t *rows)
{
    const char *text = PQcmdTuples(rows->result);
    if (text[0] == '\0')
        return 0;
    errno = 0;
    char *rest;
    long value = strtol(text, &rest, 10);
    pr_assert(errno == 0 && *rest == '\0' && value >= 0 && value <= INT32_MAX);
    return (int)value;
}

static void check_place(const pr_rows_t *rows, int row, int column)
{
    pr_assert(row >= 0 && row < PQntuples(rows->result));
    pr_assert(column >= 0 && column < PQnfields(rows->result));
}

bool pr_rows_null(const pr_rows_t *rows, int row, int column)
{
    check_place(rows, row, column);
    return PQgetisnull(rows->result, row, column) != 0;
}

/* The value as a big-endian number of `width` bytes; NULL gives 0. */
static uint64_t number(const pr_rows_t *rows, int row, int column, int width)
{
    if (pr_rows_null(rows, row, column))
        return 0;
    pr_assert(PQgetlength(rows->result, row, column) == width);
    const uint8_t *bytes = (const uint8_t *)PQgetvalue(rows->result, row, column);
    uint64_t value = 0;
    for (int i = 0; i < width; i++)
        value = value << 8 | bytes[i];
    return value;
}

int16_t pr_rows_i16(const pr_rows_t *rows, int row, int column)
{
    return (int16_t)number(rows, row, column, 2);
}

int32_t pr_rows_i32(const pr_rows_t *rows, int row, int column)
{
    return (int32_t)number(rows, row, column, 4);
}

int64_t pr_rows_i64(const pr_rows_t *rows, int row, int column)
{
    return (int64_t)number(rows, row, column, 8);
}

double pr_rows_f64(const pr_rows_t *rows, int row, int column)
{
    uint64_t bits = number(rows, row, column, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool pr_rows_bool(const pr_rows_t *rows, int row, int column)
{
    return number(rows, row, column, 1) != 0;
}

/* Other types are no text in binary format (jsonb starts with a version byte): cast them in SQL. */
static bool is_text(Oid type)
{
    return type == PR_OID_TEXT || pr_params_fits(PR_OID_TEXT, type);
}

const char *pr_rows_text(const pr_rows_t *rows, int row, int column)
{
    if (pr_rows_null(rows, row, column))
        return "";
    pr_assert(is_text(PQftype(rows->result, column)));
    return PQgetvalue(rows->result, row, column); /* libpq ends every value with a NUL byte */
}

pr_bytes_t pr_rows_bytes(const pr_rows_t *rows, int row, int column)
{
    if (pr_rows_null(rows, row, column))
        return (pr_bytes_t){NULL, 0};
    return pr_bytes(PQgetvalue(rows->result, row, column),
                    (size_t)PQgetlength(rows->result, row, column));
}

int64_t pr_rows_time_us(const pr_rows_t *rows, int row, int column)
{
    if (pr_rows_null(rows, row, column))
        return 0;
    pr_assert(PQftype(rows->result, column) == PR_OID_TIMESTAMPTZ);
    int64_t value = pr_rows_i64(rows, row, column);
    if (value == INT64_MAX || value == INT64_MIN) /* 'infinity', '-infinity' */
        return value;
    return value + EPOCH_2000_US;
}

bool pr_rows_uuid(const pr_rows_t *rows, int row, int column, uint8_t out[16])
{
    memset(out, 0, 16);
    if (pr_rows_null(rows, row, column))
        return false;
    pr_assert(PQgetlength(rows->result, row, column) == 16);
    memcpy(out, PQgetvalue(rows->result, row, column), 16);
    return true;
}

static uint32_t read_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

int pr_rows_i64_array(const pr_rows_t *rows, int row, int column, int64_t *out, int max)
{
    pr_bytes_t raw = pr_rows_bytes(rows, row, column);
    if (raw.len == 0)
        return 0;
    pr_assert(PQftype(rows->result, column) == PR_OID_I64_ARRAY && raw.len >= 12);
    if (read_u32(raw.data) == 0)
        return 0;
    int count = (int)read_u32(raw.data + 12);
    pr_assert(read_u32(raw.data) == 1 && count <= max);
    const uint8_t *at = raw.data + 20;
    for (int i = 0; i < count; i++) {
        pr_assert(read_u32(at) == 8); /* no NULL elements */
        out[i] = (int64_t)((uint64_t)read_u32(at + 4) << 32 | read_u32(at + 8));
        at += 12;
    }
    return count;
}

void pr_rows_destroy(pr_rows_t **self)
{
    if (*self == NULL)
        return;
    PQclear((*self)->result);
    pr_free(*self);
    *self = NULL;
}
