/* SPDX-License-Identifier: Apache-2.0
 *
 * What every fuzz target needs: the entry point, a check that stops on a broken relation, and a
 * terminated copy of the input for functions that take text.
 */
#ifndef PR_TESTS_FUZZ_H
#define PR_TESTS_FUZZ_H

#include "base/alloc.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A relation that must hold for every input. */
#define FUZZ_CHECK(expr) ((expr) ? (void)0 : abort())

static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    return pr_strndup((const char *)data, size);
}

#endif
