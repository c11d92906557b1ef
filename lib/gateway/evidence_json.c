/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/evidence_json.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <string.h>

/* Writes to a buffer and remembers the first refusal, so that members need no checks each. */
typedef struct {
    pr_buffer_t *out;
    pr_rc_t rc;
    bool some; /* a member stands there: the next needs a comma */
} writer_t;

static const char *const transports[PR_TRANSPORTS] = {"none",
                                                      "ok",
                                                      "dns",
                                                      "connect",
                                                      "connect_timeout",
                                                      "tls",
                                                      "tls_timeout",
                                                      "first_byte_timeout",
                                                      "total_timeout",
                                                      "reset",
                                                      "protocol",
                                                      "too_large",
                                                      "proxy",
                                                      "forbidden_address",
                                                      "bad_config"};

const char *pr_transport_name(pr_transport_t transport)
{
    return (size_t)transport < PR_COUNT(transports) ? transports[transport] : "?";
}

static void put(writer_t *self, const void *bytes, size_t len)
{
    if (self->rc == PR_OK)
        self->rc = pr_buffer_append(self->out, bytes, len);
}

static void put_text(writer_t *self, const char *text)
{
    put(self, text, strlen(text));
}

static void key(writer_t *self, const char *name)
{
    put_text(self, self->some ? ",\"" : "\"");
    put_text(self, name);
    put_text(self, "\":");
    self->some = true;
}

/* Length of the character at the start of text: 0 when these bytes are none (Unicode 15, table
 * 3-7). text ends with a NUL, which continues nothing. */
static size_t character(const uint8_t *text)
{
    uint8_t lead = text[0];
    size_t len = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead > 0xf4 || len == 0)
        return 0;
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < len; i++) {
        if (text[i] < (i == 1 ? low : 0x80) || text[i] > (i == 1 ? high : 0xbf))
            return 0;
    }
    return len;
}

static void put_escaped(writer_t *self, uint8_t c)
{
    static const char hex[] = "0123456789abcdef";
    char text[7] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    put_text(self, text);
}

static void string(writer_t *self, const char *value)
{
    put_text(self, "\"");
    for (const uint8_t *at = (const uint8_t *)value; *at != '\0';) {
        size_t len = character(at);
        if (len == 0)
            put_text(self, "\xef\xbf\xbd");
        else if (*at == '"' || *at == '\\' || *at < 0x20 || *at == 0x7f)
            put_escaped(self, *at);
        else
            put(self, at, len);
        at += len > 0 ? len : 1;
    }
    put_text(self, "\"");
}

static void text(writer_t *self, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    key(self, name);
    string(self, value);
}

static void number(writer_t *self, const char *name, int64_t value)
{
    key(self, name);
    if (self->rc == PR_OK)
        self->rc = pr_buffer_printf(self->out, "%" PRId64, value);
}

static void known(writer_t *self, const char *name, int64_t value)
{
    if (value >= 0)
        number(self, name, value);
}

static void flag(writer_t *self, const char *name, bool value)
{
    key(self, name);
    put_text(self, value ? "true" : "false");
}

static void amount(writer_t *self, const char *name, const pr_amount_t *value)
{
    if (value->state == PR_AMOUNT_KNOWN)
        number(self, name, value->minor);
    else if (value->state == PR_AMOUNT_FLAWED)
        text(self, name, "flawed");
}

static void write_meaning(writer_t *self, const pr_evidence_t *evidence)
{
    const char *status = pr_status_name(evidence->status);
    text(self, "object", pr_object_name(evidence->object));
    text(self, "status", status[0] ? status : "NONE");
    text(self, "action", pr_action_name(evidence->action));
    text(self, "follow_up", pr_follow_up_name(evidence->follow_up));
    flag(self, "final", evidence->final);
    flag(self, "asked", evidence->asked);
    flag(self, "ambiguous", evidence->ambiguous);
    flag(self, "flawed_text", evidence->flawed_text);
    text(self, "native", evidence->native);
    text(self, "reason", evidence->reason);
    text(self, "flaw", evidence->flaw);
}

static void write_facts(writer_t *self, const pr_evidence_t *evidence)
{
    text(self, "account", evidence->account);
    text(self, "request_no", evidence->request_no);
    text(self, "reference", evidence->reference);
    text(self, "refund_no", evidence->refund_no);
    text(self, "refund_reference", evidence->refund_reference);
    text(self, "currency", evidence->currency);
    amount(self, "amount", &evidence->amount);
    amount(self, "captured_total", &evidence->captured_total);
    amount(self, "refunded_total", &evidence->refunded_total);
    amount(self, "refund_amount", &evidence->refund_amount);
    text(self, "failure_code", evidence->failure_code);
    text(self, "failure_message", evidence->failure_message);
    known(self, "paid_at_us", evidence->paid_at_us);
    known(self, "occurred_at_us", evidence->occurred_at_us);
    text(self, "next_action_kind", evidence->next_action_kind);
    text(self, "next_action", evidence->next_action);
    known(self, "retry_after_ms", evidence->retry_after_ms);
}

static void write_call(writer_t *self, const pr_evidence_call_t *call)
{
    text(self, "transport", pr_transport_name(call->transport));
    if (call->http_status > 0)
        number(self, "http_status", call->http_status);
    text(self, "error", call->error);
    number(self, "duration_ms", call->duration_ms);
    number(self, "started_at_us", call->started_at_us);
    text(self, "request_sha256", call->request_sha256);
}

pr_rc_t pr_evidence_to_json(const pr_evidence_t *evidence, const pr_evidence_call_t *call,
                            pr_buffer_t *out)
{
    writer_t self = {.out = out, .rc = PR_OK};
    size_t before = out->len;
    put_text(&self, "{");
    write_meaning(&self, evidence);
    write_facts(&self, evidence);
    if (call != NULL)
        write_call(&self, call);
    put_text(&self, "}");
    if (self.rc != PR_OK && out->data != NULL) {
        out->len = before;
        out->data[before] = '\0';
    }
    return self.rc;
}
