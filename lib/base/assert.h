/* SPDX-License-Identifier: Apache-2.0
 *
 * pr_assert: for bugs only; on in every build; aborts with file, line and expression.
 * Never for input, peers or the network.
 */
#ifndef PR_BASE_ASSERT_H
#define PR_BASE_ASSERT_H

_Noreturn void pr_assert_failed(const char *expr, const char *file, int line);

#define pr_assert(expr) ((expr) ? (void)0 : pr_assert_failed(#expr, __FILE__, __LINE__))

#endif
