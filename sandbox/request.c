/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/request.h"

#include <string.h>
#include <strings.h>

typedef enum {
    FIELD_SPAN = 0,
    FIELD_LENGTH,
    FIELD_ENCODING,
    FIELD_CONNECTION,
    FIELD_EXPECT,
} field_kind_t;

typedef struct {
    const char *name;
    uint32_t name_len;
    field_kind_t kind;
    size_t offset; /* FIELD_SPAN: where in pr_request_t */
} field_t;

#define NAMED(text, kind, offset) \
    { \
        text, sizeof(text) - 1, kind, offset \
    }
#define SPAN(text, member) NAMED(text, FIELD_SPAN, offsetof(pr_request_t, member))

static const field_t fields[] = {
    NAMED("content-length", FIELD_LENGTH, 0),
    NAMED("transfer-encoding", FIELD_ENCODING, 0),
    NAMED("connection", FIELD_CONNECTION, 0),
    NAMED("expect", FIELD_EXPECT, 0),
    SPAN("content-type", content_type),
    SPAN("user-agent", user_agent),
    SPAN("x-notify-id", notify_id),
    SPAN("x-timestamp", timestamp),
    SPAN("x-signature", signature),
    SPAN("x-signature-next", signature_next),
    SPAN("webhook-id", webhook_id),
    SPAN("webhook-timestamp", webhook_timestamp),
    SPAN("webhook-signature", webhook_signature),
};

static bool bad(pr_request_t *self, uint16_t status)
{
    self->status = status;
    return false;
}

static bool is(const uint8_t *text, uint32_t len, const char *word)
{
    return strlen(word) == len && strncasecmp((const char *)text, word, len) == 0;
}

static bool take_length(pr_request_t *self, const uint8_t *text, uint32_t len)
{
    uint64_t value = 0;
    if (len == 0 || len > 10) {
        return bad(self, len > 10 ? 413 : 400);
    }
    for (uint32_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return bad(self, 400);
        }
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (value > UINT32_MAX) {
        return bad(self, 413);
    }
    if (self->has_length && value != self->content_len) {
        return bad(self, 400); /* two lengths: where the next request begins is unknown */
    }
    self->has_length = true;
    self->content_len = (uint32_t)value;
    return true;
}

static bool take_field(pr_request_t *self, const uint8_t *head, pr_span_t name, pr_span_t value)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const field_t *field = &fields[i];
        if (field->name_len != name.len ||
            strncasecmp((const char *)head + name.at, field->name, name.len) != 0) {
            continue;
        }
        const uint8_t *text = head + value.at;
        switch (field->kind) {
        case FIELD_SPAN:
            memcpy((char *)self + field->offset, &value, sizeof(value));
            return true;
        case FIELD_LENGTH:
            return take_length(self, text, value.len);
        case FIELD_ENCODING:
            return bad(self, 501);
        case FIELD_CONNECTION:
            self->close = self->close || is(text, value.len, "close");
            return true;
        case FIELD_EXPECT:
            self->expect = is(text, value.len, "100-continue");
            return self->expect ? true : bad(self, 417);
        }
    }
    return true; /* a field that nobody here asks about */
}

static bool take_request_line(pr_request_t *self, const uint8_t *head, uint32_t len)
{
    const uint8_t *space = memchr(head, ' ', len);
    if (!space || space == head) {
        return bad(self, 400);
    }
    self->method = (pr_span_t){0, (uint32_t)(space - head)};
    uint32_t at = self->method.len + 1;
    const uint8_t *end = memchr(head + at, ' ', len - at);
    if (!end || end == head + at) {
        return bad(self, 400);
    }
    self->target = (pr_span_t){at, (uint32_t)(end - head) - at};
    at += self->target.len + 1;
    if (is(head + at, len - at, "HTTP/1.1")) {
        return true;
    }
    self->close = true;
    return is(head + at, len - at, "HTTP/1.0") ? true : bad(self, 505);
}

/* One line of the head without its CRLF. */
static bool take_line(pr_request_t *self, const uint8_t *head, uint32_t at, uint32_t len)
{
    const uint8_t *line = head + at;
    const uint8_t *colon = memchr(line, ':', len);
    if (!colon || colon == line || *line == ' ' || *line == '\t') {
        return bad(self, 400);
    }
    pr_span_t name = {at, (uint32_t)(colon - line)};
    if (colon[-1] == ' ' || colon[-1] == '\t') {
        return bad(self, 400);
    }
    pr_span_t value = {at + name.len + 1, len - name.len - 1};
    while (value.len > 0 && (head[value.at] == ' ' || head[value.at] == '\t')) {
        value.at++;
        value.len--;
    }
    while (value.len > 0 &&
           (head[value.at + value.len - 1] == ' ' || head[value.at + value.len - 1] == '\t')) {
        value.len--;
    }
    return take_field(self, head, name, value);
}

static bool take_head(pr_request_t *self, const uint8_t *head, uint32_t head_len)
{
    if (memchr(head, '\0', head_len)) {
        return bad(self, 400);
    }
    uint32_t at = 0;
    while (at + 2 < head_len) { /* the last two bytes are the empty line */
        const uint8_t *end = memchr(head + at, '\n', head_len - at);
        if (!end || end == head + at || end[-1] != '\r') {
            return bad(self, 400); /* a bare LF is how requests are smuggled */
        }
        uint32_t len = (uint32_t)(end - 1 - (head + at));
        bool good = at == 0 ? take_request_line(self, head, len) : take_line(self, head, at, len);
        if (!good) {
            return false;
        }
        at += len + 2;
    }
    self->head_len = head_len;
    return true;
}

pr_request_state_t pr_request_parse(pr_request_t *self, const uint8_t *data, size_t len,
                                    uint32_t max_body)
{
    if (self->head_len == 0) {
        size_t from = self->scanned > 3 ? self->scanned - 3U : 0;
        size_t look = len < PR_REQUEST_HEAD_MAX ? len : PR_REQUEST_HEAD_MAX;
        const uint8_t *end = look > from ? memmem(data + from, look - from, "\r\n\r\n", 4) : NULL;
        if (!end) {
            self->scanned = (uint32_t)look;
            if (look == PR_REQUEST_HEAD_MAX) {
                self->status = 431;
                return PR_REQUEST_BAD;
            }
            return PR_REQUEST_MORE;
        }
        if (!take_head(self, data, (uint32_t)(end - data) + 4)) {
            return PR_REQUEST_BAD;
        }
        if (self->content_len > max_body) {
            self->status = 413;
            return PR_REQUEST_BAD;
        }
    }
    return len >= pr_request_len(self) ? PR_REQUEST_READY : PR_REQUEST_MORE;
}
