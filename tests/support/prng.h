/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers for property tests: splitmix64 from a fixed seed, so that a failure comes back on
 * every run. (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.)
 */
#ifndef PR_TESTS_PRNG_H
#define PR_TESTS_PRNG_H

#include <stdint.h>

static inline uint64_t prng_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Uniform enough for tests: 0..bound-1. */
static inline uint64_t prng_below(uint64_t *state, uint64_t bound)
{
    return prng_next(state) % bound;
}

#endif
