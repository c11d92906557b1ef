/* SPDX-License-Identifier: Apache-2.0
 *
 * Which addresses a notification may be sent to. Checked on the address that is actually connected
 * to, after DNS, so that no name can lead inside (server-side request forgery).
 *
 * IPv4: everything that the IANA special-purpose registry does not call globally reachable is
 * forbidden, and multicast, reserved space and cloud metadata. IPv6: only global unicast (2000::/3)
 * less its special parts; forms that carry an IPv4 address (mapped, translated, NAT64, ISATAP) are
 * as good as the address they carry; 6to4, Teredo, local NAT64 and IPv4-compatible ones are
 * forbidden whatever they carry. An allow-list opens exceptions, such as the sandbox.
 */
#ifndef PR_CORE_ADDRESS_H
#define PR_CORE_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_ALLOW_MAX 64

typedef struct {
    bool is_ipv6;
    uint8_t bytes[16]; /* network order; IPv4 uses the first 4, the rest is 0 */
} pr_ip_t;

/* Dotted quad, or IPv6 without brackets and zone. len bytes of text, not terminated. */
bool pr_ip_parse(const char *text, size_t len, pr_ip_t *out);
/* From a struct sockaddr_in or sockaddr_in6 of `len` bytes; port in host order, may be NULL. False:
 * another family. */
bool pr_ip_from_sockaddr(const void *sockaddr, size_t len, pr_ip_t *out, uint16_t *port);

/* NULL: a public address. Else why not, one word: "loopback", "private", "link_local", "metadata"
 * ... */
const char *pr_ip_forbidden(const pr_ip_t *ip);

typedef struct {
    pr_ip_t net;
    uint8_t prefix_bits;
    uint16_t port; /* 0 = all */
} pr_allow_entry_t;

typedef struct {
    uint32_t count;
    pr_allow_entry_t entries[PR_ALLOW_MAX];
} pr_allow_list_t;

/* Comma-separated (spaces allowed): 10.0.0.0/8  127.0.0.1:9000  127.0.0.0/8:9000  ::1  fd00::/8
 * [::1]:9000 [fd00::]/8:9000. "" = empty list. Bits below the prefix must be 0. */
PR_CHECK pr_rc_t pr_allow_parse(const char *text, pr_allow_list_t *out, pr_error_t *error);
/* Adds one entry (same grammar, no comma). PR_BAD: malformed or full. */
PR_CHECK pr_rc_t pr_allow_add(pr_allow_list_t *self, const char *text, size_t len,
                              pr_error_t *error);
/* An IPv4-mapped address matches as the IPv4 address that it is. */
bool pr_allow_has(const pr_allow_list_t *self, const pr_ip_t *ip, uint16_t port);

/* The whole question: NULL = may connect; else the word of pr_ip_forbidden. allow may be NULL. */
const char *pr_address_refused(const pr_allow_list_t *allow, const pr_ip_t *ip, uint16_t port);

#endif
