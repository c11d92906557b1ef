/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections that say how things are signed.
 */
#include "base/alloc.h"
#include "gateway/schema_private.h"

#include <string.h>

static pr_rc_t read_algorithm(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    static const char *const names[] = {"", "hmac-sha256", "hmac-sha512", "rsa-sha256", "md5"};
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    for (size_t i = 1; i < PR_COUNT(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *(pr_algorithm_t *)out = (pr_algorithm_t)i;
            return PR_OK;
        }
    }
    return pr_schema_bad(self, node, "hmac-sha256, hmac-sha512, rsa-sha256 or md5 is wanted");
}

static pr_rc_t read_encoding(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    static const char *const names[] = {"", "base64", "hex", "upper-hex"};
    const char *text = "";
    if (pr_read_text(self, node, &text) != PR_OK)
        return PR_BAD;
    for (size_t i = 1; i < PR_COUNT(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *(pr_encoding_t *)out = (pr_encoding_t)i;
            return PR_OK;
        }
    }
    return pr_schema_bad(self, node, "base64, hex or upper-hex is wanted");
}

/* The key must be of a kind that the algorithm can use. */
static pr_rc_t check_key(const pr_schema_t *self, const pr_yaml_node_t *node,
                         pr_algorithm_t algorithm, const char *key, bool signs)
{
    const pr_parameter_spec_t *spec = pr_parameter_spec(self->profile, key);
    pr_parameter_kind_t kind = spec ? spec->kind : 0;
    switch (algorithm) {
    case PR_ALGORITHM_MD5: /* stands in the text */
        return PR_OK;
    case PR_ALGORITHM_RSA_SHA256:
        if (signs ? kind == PR_KIND_RSA_PRIVATE : kind == PR_KIND_RSA_PUBLIC)
            return PR_OK;
        return pr_schema_bad(self, node, "key: a parameter of kind %s is wanted",
                             signs ? "rsa_private" : "rsa_public");
    case PR_ALGORITHM_HMAC_SHA256:
    case PR_ALGORITHM_HMAC_SHA512:
        if (kind == PR_KIND_SECRET || kind == PR_KIND_HEX_KEY || kind == PR_KIND_BASE64_KEY)
            return PR_OK;
        break;
    case PR_ALGORITHM_NONE:
        break;
    }
    return pr_schema_bad(self, node,
                         "key: a parameter of kind secret, hex_key or base64_key is wanted");
}

/* ---- sign ---- */

#define SIGN(member) offsetof(pr_profile_t, sign.member)
static const pr_schema_field_t sign_fields[] = {
    {"algorithm", read_algorithm, SIGN(algorithm), NULL},
    {"key", pr_read_parameter_name, SIGN(key), ""},
    {"text", pr_read_signed_template, SIGN(text), NULL},
    {"encoding", read_encoding, SIGN(encoding), NULL},
    {"form_field", pr_read_text, SIGN(form_field), ""},
    {"leave_out", pr_read_list, SIGN(leave_out), pr_schema_none},
};
const pr_schema_section_t pr_section_sign = {"sign", sign_fields, PR_COUNT(sign_fields)};

pr_rc_t pr_read_sign(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_t *profile = out;
    profile->signs = true;
    if (pr_schema_section(self, &pr_section_sign, node, profile) != PR_OK)
        return PR_BAD;
    return check_key(self, node, profile->sign.algorithm, profile->sign.key, true);
}

/* ---- verify ---- */

#define VERIFY(member) offsetof(pr_verifying_t, member)

/* The same section twice: templates of answers and of webhooks may use other names. */
#define VERIFY_SECTIONS(side, label, template) \
    static const pr_schema_field_t side##_key_id_fields[] = { \
        {"value", template, VERIFY(key_id.value), NULL}, \
        {"parameter", pr_read_parameter_name, VERIFY(key_id.parameter), NULL}, \
    }; \
    static const pr_schema_section_t side##_key_id = {label ".key_id", side##_key_id_fields, 2}; \
    static pr_rc_t side##_read_key_id(pr_schema_t *self, const pr_yaml_node_t *node, void *out) \
    { \
        ((pr_verifying_t *)out)->key_id.wanted = true; \
        return pr_schema_section(self, &side##_key_id, node, out); \
    } \
    static const pr_schema_field_t side##_timestamp_fields[] = { \
        {"value", template, VERIFY(timestamp.value), NULL}, \
        {"format", pr_read_moment_format, VERIFY(timestamp.format), "unix"}, \
        {"tolerance", pr_read_duration, VERIFY(timestamp.tolerance_ms), "5m"}, \
    }; \
    static const pr_schema_section_t side##_timestamp = {label ".timestamp", \
                                                         side##_timestamp_fields, 3}; \
    static pr_rc_t side##_read_timestamp(pr_schema_t *self, const pr_yaml_node_t *node, void *out) \
    { \
        ((pr_verifying_t *)out)->timestamp.wanted = true; \
        return pr_schema_section(self, &side##_timestamp, node, out); \
    } \
    static const pr_schema_field_t side##_key_url_fields[] = { \
        {"value", template, VERIFY(key_url.value), NULL}, \
        {"hosts", pr_read_list, VERIFY(key_url.hosts), NULL}, \
    }; \
    static const pr_schema_section_t side##_key_url = {label ".key_url", side##_key_url_fields, \
                                                       2}; \
    static pr_rc_t side##_read_key_url(pr_schema_t *self, const pr_yaml_node_t *node, void *out) \
    { \
        ((pr_verifying_t *)out)->key_url.wanted = true; \
        return pr_schema_section(self, &side##_key_url, node, out); \
    } \
    static const pr_schema_field_t side##_verify_fields[] = { \
        {"algorithm", read_algorithm, VERIFY(algorithm), NULL}, \
        {"key", pr_read_parameter_name, VERIFY(key), ""}, \
        {"text", template, VERIFY(text), NULL}, \
        {"signature", template, VERIFY(signature), NULL}, \
        {"encoding", read_encoding, VERIFY(encoding), NULL}, \
        {"key_id", side##_read_key_id, 0, pr_schema_none}, \
        {"timestamp", side##_read_timestamp, 0, pr_schema_none}, \
        {"key_url", side##_read_key_url, 0, pr_schema_none}, \
        {"require", pr_read_conditions, VERIFY(require), pr_schema_none}, \
        {"leave_out", pr_read_list, VERIFY(leave_out), pr_schema_none}, \
    };

VERIFY_SECTIONS(answers, "verify_answers", pr_read_answer_template)
VERIFY_SECTIONS(webhook, "webhook.verify", pr_read_webhook_template)

const pr_schema_section_t pr_section_verify_answers = {"verify_answers", answers_verify_fields,
                                                       PR_COUNT(answers_verify_fields)};
const pr_schema_section_t pr_section_webhook_verify = {"webhook.verify", webhook_verify_fields,
                                                       PR_COUNT(webhook_verify_fields)};
const pr_schema_section_t pr_section_key_id = {"key_id", webhook_key_id_fields, 2};
const pr_schema_section_t pr_section_timestamp = {"timestamp", webhook_timestamp_fields, 3};
const pr_schema_section_t pr_section_key_url = {"key_url", webhook_key_url_fields, 2};

static pr_rc_t read_verify(pr_schema_t *self, const pr_schema_section_t *section,
                           const pr_yaml_node_t *node, pr_verifying_t *out)
{
    if (pr_schema_section(self, section, node, out) != PR_OK)
        return PR_BAD;
    return check_key(self, node, out->algorithm, out->key, false);
}

pr_rc_t pr_read_verify_answers(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_profile_t *profile = out;
    profile->verifies_answers = true;
    return read_verify(self, &pr_section_verify_answers, node, &profile->verify_answers);
}

pr_rc_t pr_read_webhook_verify(pr_schema_t *self, const pr_yaml_node_t *node, void *out)
{
    pr_webhook_spec_t *webhook = out;
    webhook->verifies = true;
    return read_verify(self, &pr_section_webhook_verify, node, &webhook->verify);
}
