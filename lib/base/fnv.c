/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fnv.h"

#include <string.h>

#define PRIME UINT64_C(0x100000001b3)

uint64_t pr_fnv_bytes(uint64_t hash, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ at[i]) * PRIME;
    }
    return hash;
}

uint64_t pr_fnv_text(uint64_t hash, const char *text)
{
    return pr_fnv_bytes(hash, text, strlen(text));
}

uint32_t pr_fnv_fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}
