/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a request is from when it came through proxies. Pure. X-Forwarded-For grows at its right end:
 * each proxy adds whom it heard. So the list is read from the right for as long as whoever added the
 * entry is trusted; what stands further left anybody may have written.
 */
#ifndef PR_HTTPD_FORWARDED_H
#define PR_HTTPD_FORWARDED_H

#include "core/address.h"
#include "httpd/header.h"

/* All X-Forwarded-For fields of headers, in their order, are one list. An entry that is no address
 * ends the walk at whoever sent it. */
pr_ip_t pr_forwarded_client(const pr_ip_t *peer, const pr_allow_list_t *trusted,
                            const pr_header_t *headers, size_t count);

#endif
