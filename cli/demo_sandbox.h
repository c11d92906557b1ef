/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of the sandbox's control API, waited for.
 */
#ifndef PR_CLI_DEMO_SANDBOX_H
#define PR_CLI_DEMO_SANDBOX_H

#include "base/buffer.h"
#include "base/error.h"

/* sandbox: "127.0.0.1:8090". PR_FATAL: it did not answer 200. */
PR_CHECK pr_rc_t pr_demo_sandbox_temper(const char *sandbox, const char *merchant,
                                        const char *temper, pr_error_t *error);
/* Of the gateways' side: path "ledger?account=a1"; body NULL is GET. *out is initialized, and the
 * caller's to free in any case. */
PR_CHECK pr_rc_t pr_demo_sandbox_gateway(const char *sandbox, const char *path, const char *body,
                                         pr_buffer_t *out, pr_error_t *error);

#endif
