/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/envelope.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "wire/arena.h"
#include "wire/limits.h"

#include <string.h>

enum {
    SENDER_MAX = 64,
    COST_FACTOR = 16,       /* heap bytes that one frame byte may cost */
    COST_FLOOR = 64 * 1024, /* and for small frames */
    FIRST_BLOCK = 2 * 1024, /* enough for one job, so that most unpacks take one block */
};

/* Room for len bytes and the NUL that pr_buffer_t promises. */
static void reserve(pr_buffer_t *out, size_t len)
{
    if (!out->data || out->room < len) {
        out->data = pr_realloc(out->data, len + 1, 1);
        out->room = len;
    }
}

void pr_envelope_pack(Postrider__V1__Envelope *envelope, const char *sender, int64_t sent_at_us,
                      const uint64_t random[2], pr_buffer_t *out)
{
    uint8_t id[16];
    memcpy(id, random, sizeof id);
    char name[SENDER_MAX + 1];
    size_t len = strnlen(sender, SENDER_MAX);
    memcpy(name, sender, len);
    name[len] = '\0';

    envelope->version = PR_WIRE_VERSION;
    envelope->message_id = (ProtobufCBinaryData){sizeof id, id};
    envelope->sent_at_us = sent_at_us;
    envelope->sender = name;

    size_t size = postrider__v1__envelope__get_packed_size(envelope);
    pr_assert(size <= PR_WIRE_FRAME_MAX && size <= out->max_bytes);
    pr_buffer_clear(out);
    reserve(out, size);
    out->len = postrider__v1__envelope__pack(envelope, out->data);
    out->data[out->len] = '\0';
    pr_assert(out->len == size);

    envelope->message_id = (ProtobufCBinaryData){0, NULL}; /* both pointed into this frame */
    envelope->sender = (char *)protobuf_c_empty_string;
}

pr_rc_t pr_envelope_unpack(pr_bytes_t frame, Postrider__V1__Envelope **out, pr_error_t *error)
{
    *out = NULL;
    if (frame.len == 0 || frame.len > PR_WIRE_FRAME_MAX) {
        return pr_error_set(error, PR_BAD, "wire", "", "frame of %zu bytes: 1 to %u are allowed",
                            frame.len, PR_WIRE_FRAME_MAX);
    }
    pr_rc_t rc = pr_wire_check(frame, error);
    if (rc != PR_OK) {
        return rc;
    }
    PR_CLEANUP(pr_arena)
    pr_arena_t *arena =
        pr_arena_new(frame.len * 2 + FIRST_BLOCK, frame.len * COST_FACTOR + COST_FLOOR);
    Postrider__V1__Envelope *envelope =
        postrider__v1__envelope__unpack(pr_arena_allocator(arena), frame.len, frame.data);
    if (!envelope) {
        return pr_error_set(error, PR_BAD, "wire", "",
                            "frame of %zu bytes: broken, or costs more than its budget", frame.len);
    }
    if (envelope->version != PR_WIRE_VERSION) {
        return pr_error_set(error, PR_BAD, "wire", "", "Envelope.version: %u, we speak %u",
                            envelope->version, PR_WIRE_VERSION);
    }
    pr_assert(pr_arena_of_first(envelope) == arena);
    (void)PR_STEAL(arena); /* lives in front of the envelope until pr_envelope_destroy */
    *out = envelope;
    return PR_OK;
}

void pr_envelope_destroy(Postrider__V1__Envelope **self)
{
    if (*self) {
        pr_arena_t *arena = pr_arena_of_first(*self);
        pr_arena_destroy(&arena);
        *self = NULL;
    }
}

const char *pr_envelope_kind(const Postrider__V1__Envelope *envelope)
{
    if (envelope->body_case == POSTRIDER__V1__ENVELOPE__BODY__NOT_SET) {
        return "none";
    }
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(
        &postrider__v1__envelope__descriptor, (unsigned)envelope->body_case);
    return field ? field->name : "none";
}
