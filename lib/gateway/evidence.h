/* SPDX-License-Identifier: Apache-2.0
 *
 * From a document to evidence: conditions, rules, status map, fields.
 */
#ifndef PR_GATEWAY_EVIDENCE_H
#define PR_GATEWAY_EVIDENCE_H

#include "gateway/profile.h"

/* All hold? http_status: 0 where there is none. */
bool pr_conditions_hold(const pr_conditions_t *self, const pr_template_context_t *context,
                        uint32_t http_status);
/* The first rule that holds, of those for this operation; NULL: none. */
const pr_rule_line_t *pr_rules_find(const pr_rules_t *self, pr_operation_t operation,
                                    const pr_template_context_t *context, uint32_t http_status);
void pr_evidence_apply_rule(pr_evidence_t *evidence, const pr_profile_t *profile,
                            const pr_rule_line_t *rule, bool paid_before);

/* Fields by the reader; then, where no rule has said it, rules and map for the status. */
void pr_evidence_read(const pr_reader_t *reader, const pr_template_context_t *context,
                      uint32_t http_status, bool paid_before, bool status_too, pr_evidence_t *out);

#endif
