/* SPDX-License-Identifier: Apache-2.0
 *
 * FNV-1a: a quick hash of bytes (Fowler, Noll, Vo; draft-eastlake-fnv). For keys of our own tables
 * and names of our own files: whoever chooses the bytes can choose a collision, so what others
 * choose goes through pr_map_t, which hashes the key again with a secret seed, and is compared.
 *
 *     uint64_t key = pr_fnv_text(PR_FNV_START, "event");
 *     key = pr_fnv_bytes(key, data, len);              // goes on where the text ended
 */
#ifndef PR_BASE_FNV_H
#define PR_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define PR_FNV_START UINT64_C(0xcbf29ce484222325)

/* hash: PR_FNV_START, or what the bytes before came to. bytes may be NULL when len is 0. */
uint64_t pr_fnv_bytes(uint64_t hash, const void *bytes, size_t len);
/* The same of a text, without its terminator. */
uint64_t pr_fnv_text(uint64_t hash, const char *text);
/* 32 bits of it, both halves in them: for short names. */
uint32_t pr_fnv_fold(uint64_t hash);

#endif
