/* SPDX-License-Identifier: Apache-2.0
 *
 * Building requests: path, body or form, signature, headers, in this order.
 */
#include "base/alloc.h"
#include "gateway/profile.h"
#include "gateway/signature.h"

#include <openssl/crypto.h>

#include <string.h>
#include <strings.h>

#define TARGET_MAX_BYTES 2048
#define VALUE_MAX_BYTES 16384
#define FORM_MAX_BYTES ((size_t)256 * 1024)

void pr_payment_facts_init(pr_payment_facts_t *self)
{
    *self = (pr_payment_facts_t){
        .amount_minor = -1, .refund_minor = -1, .expires_at_us = -1, .built_at_us = -1};
}

void pr_gateway_request_init(pr_gateway_request_t *self)
{
    *self = (pr_gateway_request_t){0};
    pr_buffer_init(&self->target, TARGET_MAX_BYTES);
    pr_buffer_init(&self->body, PR_GATEWAY_BODY_MAX_BYTES);
    for (size_t i = 0; i < PR_GATEWAY_HEADERS_MAX; i++)
        pr_buffer_init(&self->headers[i].value, VALUE_MAX_BYTES);
}

static void wipe(pr_buffer_t *buffer)
{
    if (buffer->data)
        OPENSSL_cleanse(buffer->data, buffer->len);
    pr_buffer_free(buffer);
}

void pr_gateway_request_free(pr_gateway_request_t *self)
{
    wipe(&self->target);
    wipe(&self->body);
    for (size_t i = 0; i < PR_GATEWAY_HEADERS_MAX; i++)
        wipe(&self->headers[i].value);
    pr_gateway_request_init(self);
}

static pr_rc_t bad(pr_error_t *error, const char *what)
{
    return pr_error_set(error, PR_BAD, "gateway", "", "%s", what);
}

/* Bytes that would end a request line or a header early. */
static bool is_clean(const pr_buffer_t *text, bool no_space)
{
    for (size_t i = 0; i < text->len; i++) {
        uint8_t c = text->data[i];
        if (c < 0x20 || c == 0x7f || (no_space && (c == ' ' || c >= 0x80)))
            return false;
    }
    return true;
}

static const pr_operation_spec_t *choose(const pr_channel_t *channel, pr_operation_t *operation,
                                         const pr_payment_facts_t *facts)
{
    pr_operation_spec_t *const *operations = channel->profile->operations;
    if (*operation == PR_OPERATION_QUERY && !facts->reference && operations[PR_OPERATION_FIND])
        *operation = PR_OPERATION_FIND;
    return *operation > PR_OPERATION_NONE && *operation < PR_OPERATIONS ? operations[*operation]
                                                                        : NULL;
}

static pr_rc_t check_facts(const pr_channel_t *channel, pr_operation_t operation,
                           const pr_payment_facts_t *facts, pr_error_t *error)
{
    bool names_it = operation == PR_OPERATION_CAPTURE || operation == PR_OPERATION_QUERY ||
                    operation == PR_OPERATION_REFUND || operation == PR_OPERATION_CLOSE;
    if (names_it && !facts->request_no && !facts->reference)
        return bad(error, "the payment has no number, neither ours nor the gateway's");
    uint32_t max = channel->profile->facts.idempotency.max_length;
    if ((facts->request_no && strlen(facts->request_no) > max) ||
        (facts->refund_no && strlen(facts->refund_no) > max))
        return pr_error_set(error, PR_BAD, "gateway", "",
                            "request_no and refund_no have at most %u characters here", max);
    if (facts->refund_minor == 0)
        return bad(error, "a refund of nothing is refused"); /* elsewhere it refunded all */
    return PR_OK;
}

/* ---- parts ---- */

static pr_rc_t fill_form(const pr_named_templates_t *fields, const pr_template_context_t *context,
                         pr_form_t *form, pr_error_t *error)
{
    pr_buffer_t value;
    pr_rc_t rc = PR_OK;
    pr_buffer_init(&value, FORM_MAX_BYTES);
    for (size_t i = 0; rc == PR_OK && i < fields->count; i++) {
        pr_buffer_clear(&value);
        rc = pr_template_write(&fields->items[i].value, context, &value, error);
        if (rc == PR_OK && value.len > 0 && memchr(value.data, '\0', value.len))
            rc = bad(error, "a form field must not hold a NUL");
        if (rc == PR_OK &&
            pr_form_set(form, fields->items[i].name, pr_buffer_text(&value)) != PR_OK)
            rc = bad(error, "the form grows too large");
    }
    wipe(&value);
    return rc;
}

static pr_rc_t make_signature(const pr_channel_t *channel, pr_template_context_t *context,
                              pr_buffer_t *signature, pr_error_t *error)
{
    const pr_signing_t *sign = &channel->profile->sign;
    context->left_out = &sign->leave_out;
    pr_rc_t rc = pr_signature_make(channel, sign->algorithm, sign->key, &sign->text, sign->encoding,
                                   context, signature, error);
    context->signature = pr_buffer_text(signature);
    return rc;
}

static bool signs_in_form(const pr_channel_t *channel, const pr_operation_spec_t *spec)
{
    return channel->profile->signs && !spec->unsigned_ && channel->profile->sign.form_field[0];
}

/* Body and, in form schemes, the signature inside the body. */
static pr_rc_t write_body(const pr_channel_t *channel, const pr_operation_spec_t *spec,
                          pr_template_context_t *context, pr_form_t *form, pr_buffer_t *signature,
                          pr_gateway_request_t *out, pr_error_t *error)
{
    pr_rc_t rc =
        spec->has_body ? pr_template_write(&spec->body, context, &out->body, error) : PR_OK;
    if (rc == PR_OK)
        rc = fill_form(&spec->form, context, form, error);
    context->form = form;
    const char *field = channel->profile->sign.form_field;
    bool in_form = signs_in_form(channel, spec);
    if (rc == PR_OK && in_form)
        rc = make_signature(channel, context, signature, error);
    if (rc == PR_OK && in_form && pr_form_set(form, field, context->signature) != PR_OK)
        rc = bad(error, "the form grows too large");
    if (rc == PR_OK && form->count > 0 && pr_form_urlencode(form, &out->body) != PR_OK)
        rc = bad(error, "the form grows too large");
    context->body = pr_buffer_bytes(&out->body);
    return rc;
}

static pr_rc_t add_header(pr_gateway_request_t *out, const char *name,
                          const pr_template_t *template, const pr_template_context_t *context,
                          pr_error_t *error)
{
    pr_buffer_t *value = &out->headers[out->header_count].value;
    pr_rc_t rc = pr_template_write(template, context, value, error);
    if (rc == PR_OK && !is_clean(value, false))
        rc = bad(error, "a header must not hold control characters");
    if (rc == PR_OK && value->len > 0) /* optional ones that have no value stay away */
        out->headers[out->header_count++].name = name;
    return rc;
}

static bool has_header(const pr_gateway_request_t *self, const char *name)
{
    for (size_t i = 0; i < self->header_count; i++)
        if (strcasecmp(self->headers[i].name, name) == 0)
            return true;
    return false;
}

static pr_rc_t write_headers(const pr_channel_t *channel, const pr_operation_spec_t *spec,
                             const pr_template_context_t *context, pr_gateway_request_t *out,
                             pr_error_t *error)
{
    const pr_named_templates_t *common = &channel->profile->headers, *own = &spec->headers;
    pr_rc_t rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < own->count; i++)
        rc = add_header(out, own->items[i].name, &own->items[i].value, context, error);
    for (size_t i = 0; rc == PR_OK && i < common->count; i++)
        if (!has_header(out, common->items[i].name)) /* the operation's own is stronger */
            rc = add_header(out, common->items[i].name, &common->items[i].value, context, error);
    if (rc != PR_OK || out->body.len == 0 || has_header(out, "Content-Type"))
        return rc;
    if (out->header_count == PR_GATEWAY_HEADERS_MAX)
        return bad(error, "too many headers");
    out->headers[out->header_count].name = "Content-Type";
    return pr_buffer_append_text(&out->headers[out->header_count++].value,
                                 spec->has_body ? "application/json; charset=utf-8"
                                                : "application/x-www-form-urlencoded");
}

/* ---- the whole ---- */

static pr_rc_t build(const pr_channel_t *channel, const pr_operation_spec_t *spec,
                     pr_template_context_t *context, pr_gateway_request_t *out, pr_error_t *error)
{
    pr_form_t form;
    pr_buffer_t signature;
    pr_form_init(&form, FORM_MAX_BYTES);
    pr_buffer_init(&signature, VALUE_MAX_BYTES);
    int64_t now_us = context->now_us;
    if (context->facts->built_at_us >= 0)
        context->now_us = context->facts->built_at_us;
    out->method = context->method = spec->method;
    pr_rc_t rc = pr_template_write(&spec->path, context, &out->target, error);
    if (rc == PR_OK && !is_clean(&out->target, true))
        rc = bad(error, "the path holds bytes that must be encoded: |url");
    context->target = pr_buffer_bytes(&out->target);
    if (rc == PR_OK)
        rc = write_body(channel, spec, context, &form, &signature, out, error);
    context->now_us = now_us; /* headers are of now: a gateway refuses what is old */
    if (rc == PR_OK && channel->profile->signs && !spec->unsigned_ && !signs_in_form(channel, spec))
        rc = make_signature(channel, context, &signature, error);
    if (rc == PR_OK)
        rc = write_headers(channel, spec, context, out, error);
    if (form.bytes.data)
        OPENSSL_cleanse(form.bytes.data, form.bytes.len);
    pr_form_free(&form);
    wipe(&signature);
    context->form = NULL;
    context->signature = NULL;
    return rc;
}

pr_rc_t pr_gateway_build(const pr_channel_t *channel, pr_operation_t operation,
                         const pr_payment_facts_t *facts, int64_t now_us, const char *nonce,
                         pr_gateway_request_t *out, pr_error_t *error)
{
    pr_gateway_request_free(out);
    const pr_operation_spec_t *spec = choose(channel, &operation, facts);
    if (!spec)
        return pr_error_set(error, PR_BAD, "gateway", "", "profile %s has no operation %s",
                            channel->profile->facts.name, pr_operation_name(operation));
    pr_template_context_t context = {
        .channel = channel, .facts = facts, .now_us = now_us, .nonce = nonce};
    if (check_facts(channel, operation, facts, error) != PR_OK)
        return PR_BAD;
    if (facts->request.len > 0 && (facts->request.len > PR_GATEWAY_BODY_MAX_BYTES ||
                                   pr_json_check(facts->request, &context.request) != PR_OK ||
                                   context.request.type != PR_JSON_OBJECT))
        return bad(error, "request is not a JSON object");
    out->operation = operation;
    if (build(channel, spec, &context, out, error) == PR_OK)
        return PR_OK;
    pr_gateway_request_free(out);
    return PR_BAD;
}
