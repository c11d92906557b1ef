/* SPDX-License-Identifier: Apache-2.0
 *
 * What the settings http.* make of lib/http, for every actor that sends requests.
 */
#ifndef PR_OUTGOING_OUTGOING_H
#define PR_OUTGOING_OUTGOING_H

#include "actor/options.h"
#include "http/http.h"

/* Limits without a guard: a caller changes what is different for it. */
pr_http_limits_t pr_outgoing_limits(const pr_config_t *config, int max_in_flight);

/* pr_http_limits_t.guard for addresses that others name; arg: a pr_allow_list_t. Says why it refuses. */
bool pr_outgoing_may_connect(void *arg, const struct sockaddr *address, socklen_t len);

#endif
