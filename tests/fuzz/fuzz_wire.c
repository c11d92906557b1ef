/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a frame. What is taken must pack, must be taken again, must then pack to the very
 * same bytes, and must be showable as JSON that holds no raw secret.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "wire/envelope.h"
#include "wire/limits.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void pack(const Postrider__V1__Envelope *envelope, pr_buffer_t *out)
{
    size_t size = postrider__v1__envelope__get_packed_size(envelope);
    PR_CLEANUP_FREE uint8_t *bytes = pr_calloc(size, 1);
    pr_assert(postrider__v1__envelope__pack(envelope, bytes) == size);
    pr_buffer_clear(out);
    pr_assert(pr_buffer_append(out, bytes, size) == PR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PR_CLEANUP(pr_envelope) Postrider__V1__Envelope *first = NULL;
    pr_error_t error;
    pr_rc_t rc = pr_envelope_unpack(pr_bytes(data, size), &first, &error);
    pr_assert(rc == PR_OK || rc == PR_BAD);
    if (rc != PR_OK) {
        pr_assert(first == NULL);
        return 0;
    }
    /* Packed again it may be longer: a run of one number costs a length byte more when packed. */
    pr_buffer_t one, two, json;
    pr_buffer_init(&one, 2 * PR_WIRE_FRAME_MAX);
    pr_buffer_init(&two, 2 * PR_WIRE_FRAME_MAX);
    pr_buffer_init(&json, 64u << 20);
    pack(first, &one);

    PR_CLEANUP(pr_envelope) Postrider__V1__Envelope *second = NULL;
    pr_assert(pr_envelope_unpack(pr_buffer_bytes(&one), &second, &error) == PR_OK);
    pack(second, &two);
    pr_assert(pr_bytes_equal(pr_buffer_bytes(&one), pr_buffer_bytes(&two)));
    pr_assert(strcmp(pr_envelope_kind(first), pr_envelope_kind(second)) == 0);

    pr_assert(pr_envelope_to_json(first, &json) == PR_OK);
    pr_assert(json.len > 2 && json.data[json.len - 1] == '\n');
    pr_assert(memchr(json.data, '\n', json.len) == &json.data[json.len - 1]);
    pr_assert(pr_utf8_valid(pr_buffer_bytes(&json)));

    pr_buffer_free(&one);
    pr_buffer_free(&two);
    pr_buffer_free(&json);
    return 0;
}
