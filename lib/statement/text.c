/* SPDX-License-Identifier: Apache-2.0 */
#include "statement/statement_private.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Length of the character at `at`, by the table of well-formed sequences (Unicode, 3.9); 0: none. */
static size_t character(const uint8_t *at, size_t left)
{
    uint8_t c = at[0];
    if (c < 0x80)
        return c ? 1 : 0;
    size_t len = c >= 0xc2 && c <= 0xdf   ? 2
                 : c >= 0xe0 && c <= 0xef ? 3
                 : c >= 0xf0 && c <= 0xf4 ? 4
                                          : 0;
    if (len == 0 || left < len)
        return 0;
    uint8_t low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    uint8_t high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

bool pr_text_is_utf8(pr_bytes_t text)
{
    for (size_t i = 0; i < text.len;) {
        size_t len = character(text.data + i, text.len - i);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

void pr_text_clean(pr_bytes_t text, pr_buffer_t *out)
{
    for (size_t i = 0; i < text.len;) {
        size_t len = character(text.data + i, text.len - i);
        const void *from = len ? (const void *)(text.data + i) : replacement;
        if (pr_buffer_append(out, from, len ? len : strlen(replacement)) != PR_OK)
            return; /* full */
        i += len ? len : 1;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

char *pr_text_trim(char *text, size_t len)
{
    while (len > 0 && is_blank(text[len - 1]))
        len--;
    text[len] = '\0';
    while (is_blank(*text))
        text++;
    return text;
}

void pr_text_narrow(char *text)
{
    static const char wide[] = "\xef\xbc"; /* U+FF01 to U+FF3F */
    if (!strstr(text, wide))
        return;
    char *to = text;
    for (const char *from = text; *from; to++) {
        uint8_t third = strncmp(from, wide, 2) == 0 ? (uint8_t)from[2] : 0;
        if (third == 0x88 || third == 0x89 || third == 0x9a) { /* ( ) : */
            *to = third == 0x9a ? ':' : third == 0x88 ? '(' : ')';
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}
