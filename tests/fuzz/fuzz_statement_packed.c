/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as what a statement is packed in: as they are (a gzip or zip, mostly broken), or in a gzip
 * of one or two members that is whole, cut, or has one bit turned.
 */
#include "tests/fuzz/statement_relations.h"

#include <zlib.h>

#define PACKED_MAX (1u << 17)

static const pr_statement_spec_t spec = {.format = PR_STATEMENT_STRIPE_BALANCE};

/* One member behind what is there. */
static size_t pack(pr_bytes_t plain, uint8_t *out, size_t len)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)plain.data,
                  .avail_in = (uInt)plain.len,
                  .next_out = out + len,
                  .avail_out = (uInt)(PACKED_MAX - len)};
    FUZZ_CHECK(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    FUZZ_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    len += z.total_out;
    deflateEnd(&z);
    return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t packed[PACKED_MAX];
    if (size < 2 || size > PACKED_MAX / 4)
        return 0;
    const pr_bytes_t plain = pr_bytes(data + 2, size - 2);
    if (data[1] % 4 == 0) {
        fuzz_statement(&spec, plain, 1 + data[0]);
        return 0;
    }
    size_t half = plain.len / 2;
    size_t len = pack(pr_bytes(plain.data, half), packed, 0);
    len = pack(pr_bytes(plain.data + half, plain.len - half), packed, len);
    if (data[1] % 4 == 2)
        len -= (size_t)data[1] / 4 % len;
    if (data[1] % 4 == 3)
        packed[data[1] / 4 * 7 % len] ^= 1U << data[0] % 8;
    fuzz_statement(&spec, pr_bytes(packed, len), 1 + data[0]);
    return 0;
}
