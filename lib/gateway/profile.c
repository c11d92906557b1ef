/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/profile.h"

#include "base/alloc.h"
#include "gateway/schema.h"

static const char *const kind_names[] = {"",           "text",    "secret",      "hex_key",
                                         "base64_key", "aes_key", "rsa_private", "rsa_public"};

pr_rc_t pr_profile_parse(const char *file, pr_bytes_t text, pr_profile_t **out, pr_error_t *error)
{
    pr_yaml_node_t *root = NULL;
    pr_profile_t *profile = PR_NEW(pr_profile_t);
    pr_schema_t schema = {.file = file, .profile = profile, .error = error};
    pr_rc_t rc = pr_yaml_parse(file, text, &profile->pool, &root, error);
    if (rc == PR_OK)
        rc = pr_schema_document(&schema, root);
    if (rc == PR_OK)
        profile->facts.webhook_retries = profile->webhook.supported ? profile->webhook.retries : "";
    else
        pr_profile_destroy(&profile);
    *out = profile;
    return rc;
}

void pr_profile_destroy(pr_profile_t **self)
{
    if (*self)
        pr_pool_free(&(*self)->pool);
    pr_free(*self);
    *self = NULL;
}

const pr_profile_facts_t *pr_profile_facts(const pr_profile_t *self)
{
    return &self->facts;
}

bool pr_profile_parameter(const pr_profile_t *self, size_t index, pr_profile_parameter_t *out)
{
    if (index >= self->parameter_count)
        return false;
    const pr_parameter_spec_t *spec = &self->parameters[index];
    *out = (pr_profile_parameter_t){.name = spec->name,
                                    .kind = kind_names[spec->kind],
                                    .help = spec->help,
                                    .required = !spec->optional,
                                    .secret = spec->kind != PR_KIND_TEXT &&
                                              spec->kind != PR_KIND_RSA_PUBLIC};
    return true;
}
