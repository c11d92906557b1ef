/* SPDX-License-Identifier: Apache-2.0
 *
 * Readers of whole sections, between the schema_*.c files.
 */
#ifndef PR_GATEWAY_SCHEMA_PRIVATE_H
#define PR_GATEWAY_SCHEMA_PRIVATE_H

#include "gateway/schema.h"

pr_schema_read_fn pr_read_conditions;     /* (pr_conditions_t) */
pr_schema_read_fn pr_read_rules;          /* (pr_rules_t) */
pr_schema_read_fn pr_read_readers;        /* (pr_profile_t) */
pr_schema_read_fn pr_read_sign;           /* (pr_profile_t) */
pr_schema_read_fn pr_read_verify_answers; /* (pr_profile_t) */
pr_schema_read_fn pr_read_webhook_verify; /* (pr_webhook_spec_t) */
pr_schema_read_fn pr_read_webhook;        /* (pr_webhook_spec_t) */
pr_schema_read_fn pr_read_operations;     /* (pr_profile_t) */
pr_schema_read_fn pr_read_statements;     /* (pr_profile_t) */
pr_schema_read_fn pr_read_moment_format;  /* (pr_moment_format_t) */
pr_schema_read_fn pr_read_zone;           /* (int minutes) */

/* The declared parameter of that name; NULL: none. */
const pr_parameter_spec_t *pr_parameter_spec(const pr_profile_t *profile, const char *name);
/* The name of a declared parameter, or "" . (const char *) */
pr_schema_read_fn pr_read_parameter_name;

extern const pr_schema_section_t pr_section_rule, pr_section_reader, pr_section_fields,
    pr_section_sign, pr_section_verify_answers, pr_section_webhook_verify, pr_section_key_id,
    pr_section_timestamp, pr_section_key_url, pr_section_webhook, pr_section_decrypt,
    pr_section_probe, pr_section_event, pr_section_reply, pr_section_operation,
    pr_section_statement, pr_section_csv, pr_section_csv_columns, pr_section_csv_totals;

#endif
