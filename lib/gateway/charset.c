/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/charset.h"

#include "base/alloc.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *iconv;
} charsets[] = {{"utf-8", "UTF-8"},
                {"utf8", "UTF-8"},
                {"gbk", "GBK"},
                {"gb2312", "GBK"},
                {"gb18030", "GB18030"}}; /* who says gb2312 sends GBK */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

const char *pr_charset_find(pr_bytes_t name)
{
    for (size_t i = 0; i < PR_COUNT(charsets); i++)
        if (strlen(charsets[i].name) == name.len &&
            strncasecmp(charsets[i].name, (const char *)name.data, name.len) == 0)
            return charsets[i].iconv;
    return NULL;
}

bool pr_charset_is_utf8(const char *charset)
{
    return strcmp(charset, "UTF-8") == 0;
}

static iconv_t open_table(const char *to, const char *from, bool *ok)
{
    iconv_t table = iconv_open(to, from);
    *ok = table != (iconv_t)-1; // NOLINT(performance-no-int-to-ptr): iconv's own error value
    return table;
}

bool pr_charset_available(const char *charset)
{
    bool ok;
    iconv_t table = open_table("UTF-8", charset, &ok);
    if (ok)
        iconv_close(table);
    return ok;
}

/* Appends all of it; a byte that fits nowhere becomes `instead`, or ends it when that is NULL. */
static pr_rc_t convert(iconv_t table, pr_bytes_t text, const char *instead, pr_buffer_t *out,
                       bool *flawed)
{
    PR_CLEANUP_FREE char *copy = pr_memdup(text.data, text.len); /* iconv's input is not const */
    char *from = copy;
    size_t left = text.len;
    while (left > 0) {
        char chunk[512];
        char *to = chunk;
        size_t room = sizeof chunk;
        size_t done = iconv(table, &from, &left, &to, &room);
        int why = done == (size_t)-1 ? errno : 0;
        if (pr_buffer_append(out, chunk, sizeof chunk - room) != PR_OK)
            return PR_BAD;
        if (why == 0 || why == E2BIG)
            continue;
        if (!instead || pr_buffer_append_text(out, instead) != PR_OK)
            return PR_BAD;
        *flawed = true;
        from++;
        left--;
    }
    return PR_OK;
}

pr_rc_t pr_charset_to_utf8(const char *charset, pr_bytes_t text, pr_buffer_t *out, bool *flawed)
{
    bool ok;
    iconv_t table = open_table("UTF-8", charset, &ok);
    if (!ok)
        return PR_BAD;
    pr_rc_t rc = convert(table, text, replacement, out, flawed);
    iconv_close(table);
    return rc;
}

pr_rc_t pr_charset_from_utf8(const char *charset, pr_bytes_t text, pr_buffer_t *out)
{
    bool ok, flawed = false;
    iconv_t table = open_table(charset, "UTF-8", &ok);
    if (!ok)
        return PR_BAD;
    pr_rc_t rc = convert(table, text, NULL, out, &flawed);
    iconv_close(table);
    return rc;
}
