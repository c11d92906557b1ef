/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "base/assert.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

static int64_t read_us(clockid_t clock)
{
    struct timespec now;
    int rc = clock_gettime(clock, &now);
    pr_assert(rc == 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t pr_clock_mono_ms(void)
{
    return read_us(CLOCK_BOOTTIME) / 1000;
}

int64_t pr_clock_mono_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

int64_t pr_clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

int64_t pr_clock_wall_s(void)
{
    return read_us(CLOCK_REALTIME) / 1000000;
}

void pr_random_bytes(void *out, size_t len)
{
    uint8_t *at = out;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        pr_assert(got > 0);
        at += got;
        len -= (size_t)got;
    }
}

uint64_t pr_random_u64(void)
{
    uint64_t bits;
    pr_random_bytes(&bits, sizeof bits);
    return bits;
}
