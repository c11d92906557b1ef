/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/exchange_json.h"

#include "base/alloc.h"
#include "gateway/json_writer.h"
#include "gateway/mask.h"
#include "gateway/profile.h"
#include "sign/base64.h"

#include <string.h>

#define URL_KEEP 2048
#define HEADERS_KEEP 4096 /* of the request's, and of the answer's */
#define BEYOND 2048       /* read past the cut, so that a secret that lies across it is seen */
#define SCRATCH_MAX ((size_t)64 * 1024)

typedef struct {
    pr_json_writer_t json;
    pr_mask_t mask;
    pr_buffer_t scratch; /* one text, masked */
} writer_t;

static void add_secrets(pr_mask_t *mask, const pr_exchange_t *exchange)
{
    const pr_channel_t *channel = exchange->channel;
    for (size_t i = 0; i < channel->profile->parameter_count; i++) {
        pr_parameter_kind_t kind = channel->profile->parameters[i].kind;
        if (kind == PR_KIND_TEXT || kind == PR_KIND_RSA_PUBLIC)
            continue;
        for (size_t k = 0; k < channel->parameters[i].count; k++)
            pr_mask_add(mask, pr_buffer_bytes(&channel->parameters[i].values[k].text));
    }
    if (exchange->token)
        pr_mask_add(mask, pr_bytes_text(exchange->token));
}

static void take(writer_t *self, pr_rc_t rc)
{
    if (self->json.rc == PR_OK)
        self->json.rc = rc;
}

/* ---- headers ---- */

static void header(writer_t *self, const char *name, pr_bytes_t value, size_t *room, bool *cut)
{
    pr_json_writer_t *json = &self->json;
    size_t before = json->out->len;
    pr_buffer_clear(&self->scratch);
    take(self, pr_mask_header(&self->mask, name, value, &self->scratch));
    pr_json_write_raw(json, json->out->data[before - 1] == '[' ? "[" : ",[");
    bool whole = pr_json_write_string(json, pr_bytes_text(name), *room) == strlen(name);
    pr_json_write_raw(json, ",");
    whole &=
        pr_json_write_string(json, pr_buffer_bytes(&self->scratch), *room) == self->scratch.len;
    pr_json_write_raw(json, "]");
    size_t used = json->out->len - before;
    if (whole && used <= *room) {
        *room -= used;
        return;
    }
    json->out->len = before; /* no room: without it */
    json->out->data[before] = '\0';
    *cut = true;
}

static void request_headers(writer_t *self, const pr_gateway_request_t *request)
{
    size_t room = HEADERS_KEEP;
    bool cut = false;
    pr_json_write_key(&self->json, "headers");
    pr_json_write_raw(&self->json, "[");
    for (size_t i = 0; i < request->header_count && self->json.rc == PR_OK; i++)
        header(self, request->headers[i].name, pr_buffer_bytes(&request->headers[i].value), &room,
               &cut);
    pr_json_write_raw(&self->json, "]");
    if (cut)
        pr_json_write_flag(&self->json, "headers_cut", true);
}

static void answer_headers(writer_t *self, const pr_gateway_answer_t *answer)
{
    size_t room = HEADERS_KEEP;
    bool cut = false;
    pr_json_write_key(&self->json, "headers");
    pr_json_write_raw(&self->json, "[");
    for (size_t i = 0; i < answer->header_count && self->json.rc == PR_OK; i++)
        header(self, answer->headers[i].name, pr_bytes_text(answer->headers[i].value), &room, &cut);
    pr_json_write_raw(&self->json, "]");
    if (cut)
        pr_json_write_flag(&self->json, "headers_cut", true);
}

/* ---- bodies ---- */

static size_t as_base64(writer_t *self, pr_bytes_t bytes, size_t keep)
{
    size_t len = bytes.len < keep / 4 * 3 ? bytes.len : keep / 4 * 3;
    char *text = pr_calloc(1, PR_BASE64_LEN(len) + 1);
    pr_base64_encode(pr_bytes(bytes.data, len), text);
    pr_json_write_raw(&self->json, "{\"base64\":\"");
    pr_json_write_raw(&self->json, text);
    pr_json_write_raw(&self->json, "\"}");
    pr_free(text);
    return len;
}

/* Where a cut by bytes may have divided a character, the rest of it is left out. */
static pr_bytes_t whole_characters(pr_bytes_t bytes)
{
    size_t back = 0;
    while (back < 3 && back < bytes.len && (bytes.data[bytes.len - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back < bytes.len && bytes.data[bytes.len - 1 - back] >= 0xc0)
        bytes.len -= back + 1;
    return bytes;
}

static void body(writer_t *self, pr_bytes_t whole, size_t keep)
{
    pr_json_write_number(&self->json, "bytes", (int64_t)whole.len);
    if (whole.len == 0 || keep == 0)
        return;
    pr_bytes_t part = whole;
    if (part.len > keep + BEYOND)
        part = whole_characters(pr_bytes(whole.data, keep + BEYOND));
    pr_buffer_clear(&self->scratch);
    take(self, pr_mask_text(&self->mask, part, &self->scratch));
    pr_bytes_t said = pr_buffer_bytes(&self->scratch);
    pr_json_write_key(&self->json, "body");
    size_t written = pr_json_writes_exactly(said) ? pr_json_write_string(&self->json, said, keep)
                                                  : as_base64(self, said, keep);
    if (written < said.len || part.len < whole.len)
        pr_json_write_flag(&self->json, "cut", true);
}

/* ---- both ---- */

static void write_request(writer_t *self, const pr_exchange_t *exchange, size_t keep)
{
    pr_json_writer_t *json = &self->json;
    pr_json_write_key(json, "request");
    pr_json_write_raw(json, "{");
    json->some = false;
    pr_json_write_text(json, "method", exchange->request->method);
    pr_buffer_clear(&self->scratch);
    take(self, pr_mask_text(&self->mask, pr_bytes_text(exchange->url), &self->scratch));
    pr_json_write_key(json, "url");
    if (pr_json_write_string(json, pr_buffer_bytes(&self->scratch), URL_KEEP) < self->scratch.len)
        pr_json_write_flag(json, "url_cut", true);
    request_headers(self, exchange->request);
    body(self, pr_buffer_bytes(&exchange->request->body), keep);
    pr_json_write_raw(json, "}");
}

static void write_answer(writer_t *self, const pr_gateway_answer_t *answer, size_t keep)
{
    pr_json_writer_t *json = &self->json;
    pr_json_write_key(json, "response");
    pr_json_write_raw(json, "{");
    json->some = false;
    pr_json_write_number(json, "status", answer->http_status);
    answer_headers(self, answer);
    body(self, answer->body, keep);
    pr_json_write_raw(json, "}");
}

pr_rc_t pr_exchange_to_json(const pr_exchange_t *exchange, pr_buffer_t *out)
{
    size_t before = out->len;
    size_t keep = exchange->keep < PR_EXCHANGE_KEEP_MAX ? exchange->keep : PR_EXCHANGE_KEEP_MAX;
    writer_t self = {.json = {.out = out, .rc = PR_OK}};
    pr_buffer_init(&self.scratch, SCRATCH_MAX);
    pr_mask_init(&self.mask);
    add_secrets(&self.mask, exchange);
    pr_json_write_raw(&self.json, "{");
    write_request(&self, exchange, keep);
    if (exchange->answer->http_status > 0)
        write_answer(&self, exchange->answer, keep);
    pr_json_write_number(&self.json, "sent_at_us", exchange->sent_at_us);
    pr_json_write_number(&self.json, "duration_ms", exchange->duration_ms);
    pr_json_write_text(&self.json, "error", exchange->error);
    pr_json_write_number(&self.json, "masked", self.mask.masked);
    pr_json_write_raw(&self.json, "}");
    pr_buffer_free(&self.scratch);
    if (self.json.rc != PR_OK && out->data != NULL) {
        out->len = before;
        out->data[before] = '\0';
    }
    return self.json.rc;
}
