/* SPDX-License-Identifier: Apache-2.0
 *
 * The only place that reads clocks and randomness. The loop reads them once a turn and passes
 * them on; lib/core and lib/sign never call these.
 */
#ifndef PR_BASE_CLOCK_H
#define PR_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t pr_clock_mono_ms(void); /* CLOCK_BOOTTIME, ms: leases, deadlines, intervals */
int64_t pr_clock_mono_us(void);
int64_t pr_clock_wall_us(void); /* CLOCK_REALTIME, us since 1970: headers and logs only */
int64_t pr_clock_wall_s(void);

/* Uniform random bytes/bits from the kernel (getrandom); abort if it cannot answer. */
void pr_random_bytes(void *out, size_t len);
uint64_t pr_random_u64(void);

#endif
