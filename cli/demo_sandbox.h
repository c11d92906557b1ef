/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of the sandbox's control API, waited for.
 */
#ifndef PR_CLI_DEMO_SANDBOX_H
#define PR_CLI_DEMO_SANDBOX_H

#include "base/error.h"

/* sandbox: "127.0.0.1:8090". PR_FATAL: it did not answer 200. */
PR_CHECK pr_rc_t pr_demo_sandbox_temper(const char *sandbox, const char *merchant,
                                        const char *temper, pr_error_t *error);

#endif
