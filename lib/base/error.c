/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void make_one_line(char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f)
            *text = '?';
    }
}

static void copy_cut(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
    make_one_line(out);
}

pr_rc_t pr_error_set(pr_error_t *error, pr_rc_t rc, const char *source, const char *code,
                     const char *fmt, ...)
{
    if (!error)
        return rc;
    /* An argument may point into *error itself ("%s", error->text): write aside, then copy. */
    pr_error_t made = {0};
    copy_cut(made.source, sizeof made.source, source);
    copy_cut(made.code, sizeof made.code, code);
    va_list args;
    va_start(args, fmt);
    if (vsnprintf(made.text, sizeof made.text, fmt, args) < 0)
        made.text[0] = '\0';
    va_end(args);
    make_one_line(made.text);
    *error = made;
    return rc;
}
