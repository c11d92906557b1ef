/* SPDX-License-Identifier: Apache-2.0
 *
 * Envelopes: packing and checked unpacking of proto/postrider/v1/bus.proto.
 *
 * Unpacking trusts nothing: the frame is bounded before protobuf-c sees it, a limiting allocator bounds what it
 * may cost (16 * frame + 64 KiB), and afterwards every string is checked (UTF-8, no NUL, length) and every repeated field,
 * id and enum against the bounds stated in the proto file. Whatever fails is PR_BAD with the field's name.
 */
#ifndef PR_WIRE_ENVELOPE_H
#define PR_WIRE_ENVELOPE_H

#include "base/buffer.h"
#include "base/error.h"
#include "postrider/v1/bus.pb-c.h"

#define PR_WIRE_VERSION 1u
#define PR_WIRE_FRAME_MAX (1u << 20)

/* What one job may hold, in bytes; the doors (cli/merchant_settings.c, sql/migrations) let nothing larger in, which
 * tests/contract/doors tries: a broker drops the whole frame for one field that is too long. */
#define PR_WIRE_ORDER_NO_MAX 256u
#define PR_WIRE_EVENT_MAX 256u
#define PR_WIRE_URL_MAX 2048u
#define PR_WIRE_BODY_MAX (64u * 1024)
#define PR_WIRE_SECRET_MAX 4096u
#define PR_WIRE_SUCCESS_RULE_MAX 1024u
#define PR_WIRE_HEADERS_MAX 32u
#define PR_WIRE_HEADER_NAME_MAX 256u
#define PR_WIRE_HEADER_VALUE_MAX 4096u
#define PR_WIRE_TLS_CA_MAX (64u * 1024)
#define PR_WIRE_EGRESS_MAX 2048u
#define PR_WIRE_CHANNEL_ID_MAX 56u
#define PR_WIRE_PARAMETERS_MAX 24u
#define PR_WIRE_PARAMETER_MAX 4126u /* what a channel may have as a parameter, sealed */
#define PR_WIRE_EXPONENTS_MAX 32u
#define PR_WIRE_CHANNEL_CA_MAX (16u * 1024)
#define PR_WIRE_NUMBER_MAX 128u /* numbers of payments and refunds, ours and a gateway's */
#define PR_WIRE_REQUEST_MAX (32u * 1024)
#define PR_WIRE_EVIDENCE_MAX (24u * 1024)
#define PR_WIRE_EXCHANGE_MAX (36u * 1024)
#define PR_WIRE_EVIDENCE_BATCH 16     /* outcomes a message when they carry evidence */
#define PR_WIRE_JOB_MAX (480u * 1024) /* all of it packed: test_limits.c adds up */

/* Writes into *out (cleared first) an envelope around the body that is set in *envelope: fill the oneof case and body only;
 * version, message_id (random bits given), sent_at_us and sender are filled in here.
 * sender: at most 64 bytes. Asserts on a body larger than PR_WIRE_FRAME_MAX: senders bound what they send. */
void pr_envelope_pack(Postrider__V1__Envelope *envelope, const char *sender, int64_t sent_at_us,
                      const uint64_t random[2], pr_buffer_t *out);

/* Gives *out, to be freed with pr_envelope_destroy. */
PR_CHECK pr_rc_t pr_envelope_unpack(pr_bytes_t frame, Postrider__V1__Envelope **out,
                                    pr_error_t *error);
void pr_envelope_destroy(Postrider__V1__Envelope **self);

/* "job_batch", "hint" ...: the name of the body that is set; "none". Topics and `tap --kind` use it. */
const char *pr_envelope_kind(const Postrider__V1__Envelope *envelope);
/* One JSON object (jansson-made, one line, ends with newline): what `tap --json` prints. bodies of jobs are shown as
 * length and sha256, secrets never. */
PR_CHECK pr_rc_t pr_envelope_to_json(const Postrider__V1__Envelope *envelope, pr_buffer_t *out);

#endif
