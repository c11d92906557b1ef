/* SPDX-License-Identifier: Apache-2.0 */
#include "sign/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void pr_base64_encode(pr_bytes_t bytes, char *out)
{
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        if (left > 1)
            group |= (uint32_t)bytes.data[i + 1] << 8;
        if (left > 2)
            group |= bytes.data[i + 2];
        *out++ = alphabet[group >> 18];
        *out++ = alphabet[group >> 12 & 63];
        *out++ = left > 1 ? alphabet[group >> 6 & 63] : '=';
        *out++ = left > 2 ? alphabet[group & 63] : '=';
    }
    *out = '\0';
}

static int value_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

bool pr_base64_decode(pr_bytes_t text, uint8_t *out, size_t room, size_t *len)
{
    uint32_t bits = 0;
    int held = 0; /* bits in `bits` not written yet: 0, 2, 4 or 6 */
    size_t used = text.len, wrote = 0;
    if (used > 0 && used % 4 == 0)
        for (int pad = 0; pad < 2 && text.data[used - 1] == '='; pad++)
            used--;
    if (used % 4 == 1)
        return false;
    for (size_t i = 0; i < used; i++) {
        int value = value_of(text.data[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            if (wrote == room)
                return false;
            held -= 8;
            out[wrote++] = (uint8_t)(bits >> held);
            bits &= (1u << held) - 1;
        }
    }
    *len = wrote;
    return bits == 0;
}
