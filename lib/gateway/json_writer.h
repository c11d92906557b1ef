/* SPDX-License-Identifier: Apache-2.0
 *
 * One flat JSON object or more, member by member: inside of lib/gateway only. Whatever the texts are,
 * what is written is valid UTF-8 for Postgres' jsonb: bytes that are no UTF-8 have become U+FFFD. The
 * first refusal of the buffer is remembered, so that members need no checks each.
 */
#ifndef PR_GATEWAY_JSON_WRITER_H
#define PR_GATEWAY_JSON_WRITER_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    pr_buffer_t *out;
    pr_rc_t rc;
    bool some; /* a member stands there: the next needs a comma */
} pr_json_writer_t;

void pr_json_write_raw(pr_json_writer_t *self, const char *raw);
void pr_json_write_key(pr_json_writer_t *self, const char *name);
void pr_json_write_text(pr_json_writer_t *self, const char *name,
                        const char *value); /* unless empty */
void pr_json_write_number(pr_json_writer_t *self, const char *name, int64_t value);
void pr_json_write_known(pr_json_writer_t *self, const char *name,
                         int64_t value); /* unless negative */
void pr_json_write_flag(pr_json_writer_t *self, const char *name, bool value);

/* A value: text with its quotes, cut before the character with which what stands between them would
 * be longer than most bytes. Gives how many bytes of text are in it. */
size_t pr_json_write_string(pr_json_writer_t *self, pr_bytes_t text, size_t most);

/* Whether all of it is UTF-8 without NUL, so that pr_json_write_string changes none of it. */
bool pr_json_writes_exactly(pr_bytes_t bytes);

#endif
