/* SPDX-License-Identifier: Apache-2.0
 *
 * Where requests leave from, in words (an endpoint's egress, lanes.*.egress):
 *
 *     ""                                       as the machine routes
 *     SCHEME://[USER[:WORD]@]HOST[:PORT][/]    a proxy: http, https, socks5 or socks5h; HOST and PORT
 *                                              as in core/url.h, user information percent-encoded
 *     address:IP                               one of the machine's addresses
 *     interface:NAME                           one of its interfaces
 *
 * Whatever passes, lib/http can be given. postrider.egress_ok in sql/ is the same rule;
 * tests/contract/doors compares them.
 */
#ifndef PR_CORE_EGRESS_H
#define PR_CORE_EGRESS_H

#include <stdbool.h>

#define PR_EGRESS_MAX_BYTES 512
#define PR_INTERFACE_MAX_BYTES 15 /* IFNAMSIZ, without the NUL */

bool pr_egress_ok(const char *text);

#endif
