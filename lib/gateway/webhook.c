/* SPDX-License-Identifier: Apache-2.0
 *
 * Webhooks: verified over the raw bytes, then read. Where the signature covers the whole body, it is
 * checked before anything is parsed; where it covers fields (Adyen, forms), parsing comes first, in
 * bounds and without effect.
 */
#include "base/alloc.h"
#include "core/json_path.h"
#include "gateway/document.h"
#include "gateway/evidence.h"
#include "gateway/signature.h"
#include "sign/base64.h"
#include "sign/digest.h"
#include "sign/gcm.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const pr_channel_t *channel;
    const pr_webhook_spec_t *spec;
    const pr_webhook_t *webhook;
    pr_template_context_t context;
    pr_document_t document;
    pr_json_t items[PR_GATEWAY_ITEMS_MAX];
    size_t count;
    pr_buffer_t plain; /* decrypted */
    char key_url[512];
} reading_t;

void pr_webhook_result_init(pr_webhook_result_t *self)
{
    *self = (pr_webhook_result_t){.reason = ""};
}

void pr_webhook_result_free(pr_webhook_result_t *self)
{
    pr_free(self->items);
    pr_webhook_result_init(self);
}

static void begin(reading_t *self, const pr_channel_t *channel, const pr_webhook_t *webhook,
                  int64_t now_us)
{
    self->channel = channel;
    self->spec = &channel->profile->webhook;
    self->webhook = webhook;
    self->context = (pr_template_context_t){.channel = channel,
                                            .now_us = now_us,
                                            .method = webhook->method,
                                            .query = webhook->query,
                                            .body = webhook->body,
                                            .headers = webhook->headers,
                                            .header_count = webhook->header_count,
                                            .left_out = &self->spec->verify.leave_out};
    pr_document_init(&self->document);
    pr_buffer_init(&self->plain, PR_GATEWAY_BODY_MAX_BYTES);
}

static void end(reading_t *self)
{
    pr_document_free(&self->document);
    pr_buffer_free(&self->plain);
}

/* ---- the document and its items ---- */

static bool read_document(reading_t *self)
{
    const pr_profile_t *profile = self->channel->profile;
    bool from_query = strcmp(self->webhook->method, "GET") == 0;
    pr_bytes_t body = from_query ? self->webhook->query : self->webhook->body;
    pr_rc_t rc = self->spec->form ? pr_document_read_form(&self->document, body, profile->charset,
                                                          self->spec->charset_field)
                                  : pr_document_read_json(&self->document, body, profile->charset);
    if (rc != PR_OK)
        return false;
    self->context.root = self->document.root;
    self->context.form = self->spec->form ? &self->document.form : NULL;
    self->context.raw_charset = self->document.raw_charset;
    return true;
}

static bool add_item(reading_t *self, pr_json_t element)
{
    return self->count < PR_GATEWAY_ITEMS_MAX &&
           pr_json_path_get(element, self->spec->item, &self->items[self->count++]) == PR_OK;
}

static bool find_items(reading_t *self)
{
    pr_json_t list, element;
    size_t cursor = 0;
    if (!self->spec->items[0])
        return add_item(self, self->document.root);
    if (pr_json_path_get(self->document.root, self->spec->items, &list) != PR_OK ||
        list.type != PR_JSON_ARRAY)
        return false;
    while (pr_json_next_element(list, &cursor, &element))
        if (!add_item(self, element))
            return false;
    return self->count > 0;
}

/* ---- verification ---- */

static bool looks_inside(const pr_verifying_t *verify)
{
    for (size_t i = 0; i < verify->require.count; i++)
        if (verify->require.items[i].on != PR_ON_HEADER)
            return true;
    return verify->text.needs_document || verify->signature.needs_document ||
           verify->key_id.value.needs_document || verify->timestamp.value.needs_document ||
           verify->key_url.value.needs_document;
}

static pr_signature_t check_one(reading_t *self)
{
    return pr_signature_check(&self->spec->verify, &self->context, self->webhook->certificate,
                              self->key_url);
}

/* All items of a batch, or none of it is believed. */
static pr_signature_t check_items(reading_t *self)
{
    pr_signature_t result = PR_SIGNATURE_GOOD;
    for (size_t i = 0; result == PR_SIGNATURE_GOOD && i < self->count; i++) {
        self->context.item = self->items[i];
        result = check_one(self);
    }
    return result;
}

static bool is_probe(reading_t *self)
{
    pr_buffer_t text;
    if (!self->spec->probe.wanted)
        return false;
    pr_buffer_init(&text, PR_GATEWAY_BODY_MAX_BYTES);
    bool probe =
        pr_template_write(&self->spec->probe.value, &self->context, &text, NULL) == PR_OK &&
        strstr(pr_buffer_text(&text), self->spec->probe.contains) != NULL;
    pr_buffer_free(&text);
    return probe;
}

/* ---- decryption ---- */

static bool member_text(pr_json_t object, const char *path, pr_buffer_t *out)
{
    pr_json_t value;
    pr_buffer_clear(out);
    return pr_json_path_get(object, path, &value) == PR_OK && value.type == PR_JSON_STRING &&
           pr_json_decode(value, out) == PR_OK;
}

static bool open_sealed(reading_t *self, pr_json_t sealed, const uint8_t *nonce, pr_buffer_t *text)
{
    const pr_parameter_values_t *keys = pr_channel_values(self->channel, self->spec->decrypt.key);
    pr_buffer_t associated;
    pr_buffer_init(&associated, 256);
    pr_json_t ignored;
    bool has_associated =
        pr_json_path_get(sealed, self->spec->decrypt.associated, &ignored) == PR_OK;
    bool ok = (!has_associated || ignored.type == PR_JSON_NULL ||
               member_text(sealed, self->spec->decrypt.associated, &associated)) &&
              member_text(sealed, self->spec->decrypt.ciphertext, text);
    size_t room = text->len, len = 0;
    uint8_t *bytes = pr_calloc(room, 1);
    ok = ok && pr_base64_decode(pr_buffer_bytes(text), bytes, room, &len);
    bool opened = false;
    for (size_t i = 0; ok && keys && !opened && i < keys->count; i++)
        opened = pr_gcm_open(keys->values[i].key.data, nonce, pr_buffer_bytes(&associated),
                             pr_bytes(bytes, len), &self->plain);
    pr_free(bytes);
    pr_buffer_free(&associated);
    return opened;
}

/* Afterwards paths of the item are paths of what was inside. */
static bool decrypt(reading_t *self)
{
    pr_json_t sealed;
    pr_buffer_t text;
    if (pr_json_path_get(self->document.root, self->spec->decrypt.at, &sealed) != PR_OK)
        return false;
    pr_buffer_init(&text, PR_GATEWAY_BODY_MAX_BYTES);
    uint8_t nonce[PR_GCM_NONCE_BYTES];
    bool ok = member_text(sealed, self->spec->decrypt.nonce, &text) && text.len == sizeof nonce;
    if (ok) {
        memcpy(nonce, text.data, sizeof nonce);
        ok = open_sealed(self, sealed, nonce, &text) &&
             pr_json_check(pr_buffer_bytes(&self->plain), &self->items[0]) == PR_OK;
    }
    pr_buffer_free(&text);
    return ok;
}

/* ---- events ---- */

static void write_cut(const pr_template_t *template, const pr_template_context_t *context,
                      char *out, size_t size)
{
    pr_buffer_t text;
    pr_buffer_init(&text, 4096);
    if (pr_template_write(template, context, &text, NULL) == PR_OK && text.len < size)
        memcpy(out, pr_buffer_text(&text), text.len + 1);
    pr_buffer_free(&text);
}

/* An event without the fields that make its key is known by its bytes. */
static void fall_back_to_bytes(const reading_t *self, size_t index, char out[256])
{
    uint8_t digest[PR_SHA256_BYTES];
    char hex[2 * PR_SHA256_BYTES + 1] = "";
    const pr_bytes_t parts[] = {self->webhook->body, self->webhook->query};
    if (pr_hmac_sha256(pr_bytes_text("dedupe"), parts, PR_COUNT(parts), digest))
        pr_hex(pr_bytes(digest, sizeof digest), hex);
    snprintf(out, 256, "bytes:%s:%zu", hex, index);
}

static const pr_reader_t *reader_of(const reading_t *self)
{
    for (size_t i = 0; i < self->spec->event_count; i++)
        if (pr_conditions_hold(&self->spec->events[i].when, &self->context, 0))
            return self->spec->events[i].reads;
    return NULL;
}

static void read_item(reading_t *self, size_t index, pr_webhook_item_t *out)
{
    self->context.item = self->items[index];
    pr_evidence_init(&out->evidence);
    write_cut(&self->spec->event_id, &self->context, out->event_id, sizeof out->event_id);
    write_cut(&self->spec->event_type, &self->context, out->event_type, sizeof out->event_type);
    for (size_t i = 0; i < self->spec->dedupe_count; i++)
        write_cut(&self->spec->dedupe[i], &self->context, out->dedupe[i], sizeof out->dedupe[i]);
    if (!out->dedupe[0][0])
        fall_back_to_bytes(self, index, out->dedupe[0]);
    const pr_reader_t *reader = reader_of(self);
    if (reader)
        pr_evidence_read(reader, &self->context, 0, self->webhook->paid_before, true,
                         &out->evidence);
    out->evidence.flawed_text = self->document.flawed_text;
}

/* ---- the whole ---- */

static const char *verify(reading_t *self, pr_signature_t *signature)
{
    bool inside = looks_inside(&self->spec->verify);
    *signature = inside ? PR_SIGNATURE_GOOD : check_one(self);
    if (*signature != PR_SIGNATURE_GOOD)
        return pr_signature_reason(*signature);
    if (!read_document(self) || !find_items(self))
        return "malformed_body";
    if (inside)
        *signature = check_items(self);
    if (*signature != PR_SIGNATURE_GOOD)
        return pr_signature_reason(*signature);
    return self->spec->decrypt.wanted && !decrypt(self) ? "not_decrypted" : "";
}

static const char *precheck(const reading_t *self)
{
    const pr_webhook_t *webhook = self->webhook;
    if (!self->spec->supported)
        return "no_webhooks";
    if (webhook->body.len > PR_GATEWAY_BODY_MAX_BYTES || webhook->query.len > 16384)
        return "too_large";
    for (size_t i = 0; i < self->spec->methods.count; i++)
        if (strcmp(webhook->method, self->spec->methods.items[i]) == 0)
            return "";
    return "method_not_allowed";
}

static void read_all(reading_t *self, pr_webhook_result_t *out)
{
    pr_signature_t signature = PR_SIGNATURE_GOOD;
    out->verdict = PR_WEBHOOK_REFUSED;
    out->reason = precheck(self);
    if (out->reason[0])
        return;
    if (is_probe(self)) {
        out->verdict = PR_WEBHOOK_PROBE;
        out->reason = "signature_probe";
        return;
    }
    out->reason = verify(self, &signature);
    if (signature == PR_SIGNATURE_WANTS_KEY) {
        out->verdict = PR_WEBHOOK_WANTS_KEY;
        memcpy(out->key_url, self->key_url, sizeof out->key_url);
    }
    if (out->reason[0])
        return;
    out->verdict = PR_WEBHOOK_VERIFIED;
    out->count = self->count;
    out->items = pr_calloc(self->count, sizeof out->items[0]);
    for (size_t i = 0; i < self->count; i++)
        read_item(self, i, &out->items[i]);
}

void pr_webhook_read(const pr_channel_t *channel, const pr_webhook_t *webhook, int64_t now_us,
                     pr_webhook_result_t *out)
{
    reading_t *self = PR_NEW(reading_t);
    pr_webhook_result_free(out);
    begin(self, channel, webhook, now_us);
    read_all(self, out);
    end(self);
    pr_free(self);
}

pr_reply_t pr_webhook_reply(const pr_channel_t *channel, pr_reply_kind_t kind)
{
    const pr_webhook_spec_t *spec = &channel->profile->webhook;
    const pr_reply_spec_t *replies[] = {&spec->accepted, &spec->refused, &spec->later,
                                        &spec->orphan};
    if (!spec->supported)
        return (pr_reply_t){404, "", ""};
    const pr_reply_spec_t *reply = replies[kind];
    return (pr_reply_t){reply->http_status, reply->content_type, reply->body};
}

pr_rc_t pr_webhook_sign(const pr_channel_t *channel, const pr_webhook_t *webhook, pr_buffer_t *out,
                        pr_error_t *error)
{
    reading_t *self = PR_NEW(reading_t);
    begin(self, channel, webhook, 0);
    const pr_verifying_t *verify = &self->spec->verify;
    pr_rc_t rc = PR_BAD;
    if (!self->spec->supported ||
        (looks_inside(verify) && (!read_document(self) || !find_items(self))))
        rc = pr_error_set(error, PR_BAD, "gateway", "", "there is nothing to sign");
    else {
        self->context.item = self->items[0];
        rc = pr_signature_make(channel, verify->algorithm, verify->key, &verify->text,
                               verify->encoding, &self->context, out, error);
    }
    end(self);
    pr_free(self);
    return rc;
}
