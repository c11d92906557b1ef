/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes with one write(2) and no allocation: the heap may be what is broken.
 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void pr_assert_failed(const char *expr, const char *file, int line)
{
    char text[512];
    int len = snprintf(text, sizeof text, "level=error event=assert.failed at=%s:%d expr=\"%s\"\n",
                       file, line, expr);
    if (len > 0) {
        size_t size = (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
        if (write(STDERR_FILENO, text, size) < 0) {
            /* Nobody to tell: the core dump says it too. */
        }
    }
    abort();
}
