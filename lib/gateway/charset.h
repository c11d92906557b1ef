/* SPDX-License-Identifier: Apache-2.0
 *
 * Text in other charsets (GBK of Alipay's notifications) to UTF-8 and back, by iconv.
 */
#ifndef PR_GATEWAY_CHARSET_H
#define PR_GATEWAY_CHARSET_H

#include "base/buffer.h"

#include <stdbool.h>

/* utf-8, gbk, gb2312, gb18030, in any case; the name for iconv, static. NULL: another one. */
const char *pr_charset_find(pr_bytes_t name);
bool pr_charset_is_utf8(const char *charset);   /* one of pr_charset_find's */
bool pr_charset_available(const char *charset); /* this machine has the tables */

/* Appends text as UTF-8; what is no character becomes U+FFFD and sets *flawed. PR_BAD: out is full,
 * or no tables. */
PR_CHECK pr_rc_t pr_charset_to_utf8(const char *charset, pr_bytes_t text, pr_buffer_t *out,
                                    bool *flawed);
/* Appends UTF-8 text in charset. PR_BAD: it cannot be said there. */
PR_CHECK pr_rc_t pr_charset_from_utf8(const char *charset, pr_bytes_t text, pr_buffer_t *out);

#endif
