/* SPDX-License-Identifier: Apache-2.0
 *
 * From a list's JSON ({"items": [{...}]}) to CSV (RFC 4180) that a spreadsheet shows as it is. Pure.
 *
 * What a spreadsheet would take for something else gets an apostrophe before it, which says "text":
 * a formula (= + - @, their full-width forms, tab, carriage return at the beginning), digits that it
 * would round or shorten (more than 15, or a zero in front). Numbers of JSON stay numbers. Objects
 * and lists become their JSON. A byte order mark says that it is UTF-8. Columns are the members of
 * the first item, in its order; what other items have beside them is left out.
 */
#ifndef PR_CONSOLE_CSV_H
#define PR_CONSOLE_CSV_H

#include "base/buffer.h"

#include <jansson.h>

typedef struct {
    size_t count;
    char *names[64];
} pr_csv_columns_t;

void pr_csv_columns_free(pr_csv_columns_t *self);

/* Appends the items; with the first of them the header. PR_BAD: out is full. */
PR_CHECK pr_rc_t pr_csv_write(json_t *items, pr_csv_columns_t *columns, pr_buffer_t *out);

/* One cell of text, quoted where it must be. */
PR_CHECK pr_rc_t pr_csv_write_text(pr_buffer_t *out, const char *text);

#endif
