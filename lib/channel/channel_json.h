/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels as SQL gives them: parameters and exponents as JSON text. For processes that read them
 * themselves (ingress, reconciler), not from a Job.
 */
#ifndef PR_CHANNEL_CHANNEL_JSON_H
#define PR_CHANNEL_CHANNEL_JSON_H

#include "channel/channel_store.h"

/* As pr_channel_store_get. row: id, version, profile; parameters: [{"name", "position", "sealed":
 * hex}], by name and position; exponents: {"JPY": 0}. PR_BAD also: they are not that. */
PR_CHECK pr_rc_t pr_channel_store_get_json(pr_channel_store_t *self, const pr_channel_row_t *row,
                                           const char *parameters, const char *exponents,
                                           pr_opened_channel_t **out, pr_error_t *error);

#endif
