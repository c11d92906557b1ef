/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations (we call) and the webhook (they call).
 */
#include "base/alloc.h"
#include "gateway/schema_private.h"

#include <string.h>

static const pr_reader_t *reader_named(const pr_profile_t *profile, const char *name)
{
    for (size_t i = 0; i < profile->reader_count; i++)
        if (strcmp(profile->readers[i].name, name) == 0)
            return &profile->readers[i];
    return NULL;
}

/* ---- operations ---- */

static pr_rc_t read_method(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE"};
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    for (size_t i = 0; i < PR_COUNT(methods); i++) {
        if (strcmp(text, methods[i]) == 0) {
            *(const char **)out = methods[i];
            return PR_OK;
        }
    }
    return pr_schema_bad(self, node, "GET, POST, PUT or DELETE is wanted");
}

static pr_rc_t read_target(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    static const char link[] = "${request.target}"; /* of pr_statement_link_t: begins with / */
    if (node->kind == PR_YAML_SCALAR && node->text[0] != '/' && strcmp(node->text, link) != 0)
        return pr_schema_bad(self, node, "a path that begins with / is wanted");
    return pr_read_request_template(self, node, out);
}

static pr_rc_t read_body(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_operation_spec_t *operation = out;
    operation->has_body = true;
    return pr_read_request_template(self, node, &operation->body);
}

#define OPERATION(member) offsetof(pr_operation_spec_t, member)
static const pr_schema_field_t operation_fields[] = {
    {"method", read_method, OPERATION(method), NULL},
    {"path", read_target, OPERATION(path), NULL},
    {"headers", pr_read_header_templates, OPERATION(headers), pr_schema_none},
    {"body", read_body, 0, pr_schema_none},
    {"form", pr_read_request_templates, OPERATION(form), pr_schema_none},
    {"root", pr_read_path, OPERATION(root), ""},
    {"reader", pr_read_text, OPERATION(reader), NULL},
    {"unsigned", pr_read_bool, OPERATION(unsigned_), "false"},
};
const pr_schema_section_t pr_section_operation = {"operations.NAME", operation_fields,
                                                  PR_COUNT(operation_fields)};

static pr_rc_t check_operation(const pr_schema_t *self, const pr_yaml_node_t *node,
                               pr_operation_spec_t *operation)
{
    const pr_profile_t *profile = self->profile;
    operation->reads = reader_named(profile, operation->reader);
    if (!operation->reads)
        return pr_schema_bad(self, node, "no reader is named \"%.40s\"", operation->reader);
    if (operation->has_body && operation->form.count > 0)
        return pr_schema_bad(self, node, "body or form is wanted, not both");
    if (profile->signs && !operation->unsigned_ && profile->sign.form_field[0] &&
        operation->form.count == 0)
        return pr_schema_bad(self, node, "sign.form_field wants a form in every signed operation");
    if (profile->headers.count + operation->headers.count > PR_GATEWAY_HEADERS_MAX)
        return pr_schema_bad(self, node, "more than %d headers", PR_GATEWAY_HEADERS_MAX);
    return PR_OK;
}

static pr_rc_t read_operation(pr_schema_t *self, const pr_yaml_node_t *node)
{
    pr_profile_t *profile = self->profile;
    pr_operation_t name = pr_operation_find(node->key);
    if (name == PR_OPERATION_NONE)
        return pr_schema_bad(
            self, node,
            "token, charge, capture, query, find, refund, query_refund, close, "
            "statement, statement_again, statement_file, act and ask are operations");
    pr_operation_spec_t *operation = pr_pool_take(&profile->pool, 1, sizeof *operation);
    profile->operations[name] = operation;
    profile->facts.operations |= UINT64_C(1) << name;
    pr_rc_t rc = pr_schema_section(self, &pr_section_operation, node, operation);
    return rc == PR_OK ? check_operation(self, node, operation) : rc;
}

pr_rc_t pr_read_operations(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_t *profile = out;
    if (node->kind != PR_YAML_MAP)
        return pr_schema_bad(self, node, "operations by name are wanted below it");
    for (const pr_yaml_node_t *at = node->first; at; at = at->next)
        if (read_operation(self, at) != PR_OK)
            return PR_BAD;
    profile->facts.query_supported = profile->operations[PR_OPERATION_QUERY] != NULL;
    return PR_OK;
}

/* ---- webhook ---- */

#define WEBHOOK(member) offsetof(pr_webhook_spec_t, member)

static pr_rc_t read_format(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    if (strcmp(text, "json") != 0 && strcmp(text, "form") != 0)
        return pr_schema_bad(self, node, "json or form is wanted");
    *(bool *)out = text[0] == 'f';
    return PR_OK;
}

static const pr_schema_field_t decrypt_fields[] = {
    {"at", pr_read_path, WEBHOOK(decrypt.at), NULL},
    {"key", pr_read_parameter_name, WEBHOOK(decrypt.key), NULL},
    {"ciphertext", pr_read_path, WEBHOOK(decrypt.ciphertext), "ciphertext"},
    {"nonce", pr_read_path, WEBHOOK(decrypt.nonce), "nonce"},
    {"associated", pr_read_path, WEBHOOK(decrypt.associated), "associated_data"},
};
const pr_schema_section_t pr_section_decrypt = {"webhook.decrypt", decrypt_fields,
                                                PR_COUNT(decrypt_fields)};

static pr_rc_t read_decrypt(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_webhook_spec_t *webhook = out;
    webhook->decrypt.wanted = true;
    if (pr_schema_section(self, &pr_section_decrypt, node, webhook) != PR_OK)
        return PR_BAD;
    const pr_parameter_spec_t *key = pr_parameter_spec(self->profile, webhook->decrypt.key);
    return key && key->kind == PR_KIND_AES_KEY
               ? PR_OK
               : pr_schema_bad(self, node, "key: a parameter of kind aes_key is wanted");
}

static const pr_schema_field_t probe_fields[] = {
    {"value", pr_read_webhook_template, WEBHOOK(probe.value), NULL},
    {"contains", pr_read_text, WEBHOOK(probe.contains), NULL},
};
const pr_schema_section_t pr_section_probe = {"webhook.probe", probe_fields,
                                              PR_COUNT(probe_fields)};

static pr_rc_t read_probe(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_webhook_spec_t *webhook = out;
    webhook->probe.wanted = true;
    return pr_schema_section(self, &pr_section_probe, node, webhook);
}

#define EVENT(member) offsetof(pr_webhook_event_t, member)
static const pr_schema_field_t event_fields[] = {
    {"when", pr_read_conditions, EVENT(when), pr_schema_none},
    {"reader", pr_read_text, EVENT(reader), NULL},
};
const pr_schema_section_t pr_section_event = {"webhook.events", event_fields,
                                              PR_COUNT(event_fields)};

static pr_rc_t read_event(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_webhook_event_t *event = out;
    if (pr_schema_section(self, &pr_section_event, node, event) != PR_OK)
        return PR_BAD;
    event->reads = reader_named(self->profile, event->reader);
    return event->reads || strcmp(event->reader, "none") == 0
               ? PR_OK
               : pr_schema_bad(self, node, "no reader is named \"%.40s\"", event->reader);
}

static pr_rc_t read_events(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_webhook_spec_t *webhook = out;
    void *items;
    pr_rc_t rc = pr_schema_each(self, node, PR_YAML_LIST, read_event, sizeof(pr_webhook_event_t),
                                &items, &webhook->event_count);
    webhook->events = items;
    return rc;
}

static pr_rc_t read_dedupe(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_webhook_spec_t *webhook = out;
    size_t count = pr_yaml_count(node);
    if (node->kind != PR_YAML_LIST || count < 1 || count > PR_COUNT(webhook->dedupe))
        return pr_schema_bad(self, node, "a list of one or two templates is wanted");
    for (const pr_yaml_node_t *at = node->first; at; at = at->next)
        if (pr_read_webhook_template(self, at, &webhook->dedupe[webhook->dedupe_count++]) != PR_OK)
            return PR_BAD;
    return PR_OK;
}

#define REPLY(member) offsetof(pr_reply_spec_t, member)
static const pr_schema_field_t reply_fields[] = {
    {"http", pr_read_u32, REPLY(http_status), NULL},
    {"type", pr_read_text, REPLY(content_type), ""},
    {"body", pr_read_text, REPLY(body), ""},
};
const pr_schema_section_t pr_section_reply = {"webhook.accepted", reply_fields,
                                              PR_COUNT(reply_fields)};

static pr_rc_t read_reply(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_reply_spec_t *reply = out;
    pr_rc_t rc = pr_schema_section(self, &pr_section_reply, node, reply);
    if (rc == PR_OK && (reply->http_status < 200 || reply->http_status > 599))
        rc = pr_schema_bad(self, node, "http: 200 to 599 is wanted");
    return rc;
}

static const pr_schema_field_t webhook_fields[] = {
    {"methods", pr_read_list, WEBHOOK(methods), "POST"},
    {"format", read_format, WEBHOOK(form), NULL},
    {"charset_field", pr_read_text, WEBHOOK(charset_field), ""},
    {"items", pr_read_path, WEBHOOK(items), ""},
    {"item", pr_read_path, WEBHOOK(item), ""},
    {"decrypt", read_decrypt, 0, pr_schema_none},
    {"verify", pr_read_webhook_verify, 0, NULL},
    {"probe", read_probe, 0, pr_schema_none},
    {"event_id", pr_read_webhook_template, WEBHOOK(event_id), ""},
    {"event_type", pr_read_webhook_template, WEBHOOK(event_type), ""},
    {"events", read_events, 0, NULL},
    {"dedupe", read_dedupe, 0, NULL},
    {"accepted", read_reply, WEBHOOK(accepted), NULL},
    {"refused", read_reply, WEBHOOK(refused), NULL},
    {"later", read_reply, WEBHOOK(later), NULL},
    {"orphan", read_reply, WEBHOOK(orphan), NULL},
    {"retries", pr_read_text, WEBHOOK(retries), ""},
};
const pr_schema_section_t pr_section_webhook = {"webhook", webhook_fields,
                                                PR_COUNT(webhook_fields)};

pr_rc_t pr_read_webhook(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_webhook_spec_t *webhook = out;
    webhook->supported = true;
    if (pr_schema_section(self, &pr_section_webhook, node, webhook) != PR_OK)
        return PR_BAD;
    if (webhook->decrypt.wanted && (webhook->items[0] || webhook->form))
        return pr_schema_bad(self, node, "decrypt works on one JSON document, not on items");
    return PR_OK;
}
