/* SPDX-License-Identifier: Apache-2.0 */
#include "core/address.h"

#include "base/alloc.h"
#include "base/buffer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define IP_TEXT_MAX 48

/* ---- reading ---- */

bool pr_ip_parse(const char *text, size_t len, pr_ip_t *out)
{
    char copy[IP_TEXT_MAX];
    if (len == 0 || len >= sizeof copy || memchr(text, '\0', len))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    *out = (pr_ip_t){0};
    if (inet_pton(AF_INET, copy, out->bytes) ==
        1) /* strict: four decimal parts, no leading zeros */
        return true;
    out->is_ipv6 = inet_pton(AF_INET6, copy, out->bytes) == 1;
    return out->is_ipv6;
}

bool pr_ip_from_sockaddr(const void *sockaddr, size_t len, pr_ip_t *out, uint16_t *port)
{
    sa_family_t family;
    if (len < sizeof(struct sockaddr_in))
        return false;
    memcpy(&family, (const uint8_t *)sockaddr + offsetof(struct sockaddr, sa_family),
           sizeof family);
    *out = (pr_ip_t){0};
    in_port_t net_port;
    if (family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sockaddr, sizeof in);
        memcpy(out->bytes, &in.sin_addr, 4);
        net_port = in.sin_port;
    } else if (family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 in6;
        memcpy(&in6, sockaddr, sizeof in6);
        memcpy(out->bytes, &in6.sin6_addr, 16);
        out->is_ipv6 = true;
        net_port = in6.sin6_port;
    } else {
        return false;
    }
    if (port)
        *port = ntohs(net_port);
    return true;
}

/* ---- forbidden ranges ---- */

typedef struct {
    uint8_t bytes[16];
    uint8_t bits;
    const char *word;
} range_t;

/* The more special before the more general. Sources: IANA IPv4 special-purpose registry; the
 * clouds' metadata services (AWS, GCP, Azure: 169.254.169.254; Azure's wire server 168.63.129.16;
 * Alibaba 100.100.100.200). */
static const range_t ipv4_ranges[] = {
    {{169, 254, 169, 254}, 32, "metadata"},
    {{168, 63, 129, 16}, 32, "metadata"},
    {{100, 100, 100, 200}, 32, "metadata"},
    {{0}, 8, "unspecified"},
    {{10}, 8, "private"},
    {{100, 64}, 10, "shared"}, /* carrier-grade NAT, RFC 6598 */
    {{127}, 8, "loopback"},
    {{169, 254}, 16, "link_local"},
    {{172, 16}, 12, "private"},
    {{192, 0, 0}, 24, "protocol"},
    {{192, 0, 2}, 24, "documentation"},
    {{192, 88, 99}, 24, "relay"}, /* 6to4 relay anycast, RFC 7526 */
    {{192, 168}, 16, "private"},
    {{198, 18}, 15, "benchmark"}, /* RFC 2544 */
    {{198, 51, 100}, 24, "documentation"},
    {{203, 0, 113}, 24, "documentation"},
    {{224}, 4, "multicast"},
    {{255, 255, 255, 255}, 32, "broadcast"},
    {{240}, 4, "reserved"},
};

/* IANA IPv6 special-purpose registry. Whatever is not listed and not in 2000::/3 is not global
 * unicast. */
static const range_t ipv6_ranges[] = {
    {{[15] = 1}, 128, "loopback"},
    {{0}, 128, "unspecified"},
    {{0}, 96, "ipv4_compatible"},                     /* RFC 4291, deprecated */
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 48, "local_nat64"}, /* RFC 8215 */
    {{0x01, 0}, 64, "discard"},
    {{0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, 128, "metadata"}, /* AWS over IPv6 */
    {{0xfc}, 7, "private"},
    {{0xfe, 0x80}, 10, "link_local"},
    {{0xfe, 0xc0}, 10, "site_local"},
    {{0xff}, 8, "multicast"},
    {{0x20, 0x01, 0, 0}, 32, "teredo"},
    {{0x20, 0x01, 0}, 23, "protocol"}, /* benchmarks, ORCHID, anycasts */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    {{0x20, 0x02}, 16, "6to4"},
    {{0x3f, 0xff}, 20, "documentation"}, /* RFC 9637 */
};

static bool in_range(const uint8_t *bytes, const uint8_t *net, uint8_t bits)
{
    size_t whole = bits / 8;
    if (memcmp(bytes, net, whole) != 0)
        return false;
    uint8_t mask = (uint8_t)(0xff00u >> (bits % 8));
    return bits % 8 == 0 || ((bytes[whole] ^ net[whole]) & mask) == 0;
}

static const char *find_range(const range_t *ranges, size_t count, const uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++)
        if (in_range(bytes, ranges[i].bytes, ranges[i].bits))
            return ranges[i].word;
    return NULL;
}

static pr_ip_t ipv4_at(const pr_ip_t *ip, size_t at)
{
    pr_ip_t carried = {0};
    memcpy(carried.bytes, ip->bytes + at, 4);
    return carried;
}

/* ::ffff:a.b.c.d (mapped, RFC 4291), ::ffff:0:a.b.c.d (translated, RFC 7915), 64:ff9b::a.b.c.d
 * (NAT64, RFC 6052): all traffic ends at a.b.c.d. */
static bool carries_ipv4(const pr_ip_t *ip, pr_ip_t *carried)
{
    static const range_t forms[] = {
        {{[10] = 0xff, [11] = 0xff}, 96, ""},
        {{[8] = 0xff, [9] = 0xff}, 96, ""},
        {{0, 0x64, 0xff, 0x9b}, 96, ""},
    };
    if (!find_range(forms, PR_COUNT(forms), ip->bytes))
        return false;
    *carried = ipv4_at(ip, 12);
    return true;
}

/* An interface id of ISATAP (RFC 5214), [02]00:5efe:a.b.c.d: a host of that site will hand it to
 * a.b.c.d. */
static bool is_isatap(const pr_ip_t *ip)
{
    return (ip->bytes[8] & ~0x02) == 0 && ip->bytes[9] == 0 && ip->bytes[10] == 0x5e &&
           ip->bytes[11] == 0xfe;
}

const char *pr_ip_forbidden(const pr_ip_t *ip)
{
    pr_ip_t carried;
    if (!ip->is_ipv6)
        return find_range(ipv4_ranges, PR_COUNT(ipv4_ranges), ip->bytes);
    if (carries_ipv4(ip, &carried))
        return pr_ip_forbidden(&carried);
    const char *word = find_range(ipv6_ranges, PR_COUNT(ipv6_ranges), ip->bytes);
    if (word)
        return word;
    if ((ip->bytes[0] & 0xe0) != 0x20)
        return "not_global";
    if (is_isatap(ip)) {
        carried = ipv4_at(ip, 12);
        return pr_ip_forbidden(&carried);
    }
    return NULL;
}

/* ---- the allow-list ---- */

static bool read_number(const char *text, size_t len, uint32_t max, uint32_t *out)
{
    uint32_t value = 0;
    if (len == 0 || len > 5)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    *out = value;
    return value <= max;
}

static size_t index_of(const char *text, size_t len, char c)
{
    const char *found = len > 0 ? memchr(text, c, len) : NULL;
    return found ? (size_t)(found - text) : len;
}

/* Splits ADDRESS or [ADDRESS] from what follows: "/BITS", ":PORT", "/BITS:PORT". Returns the length
 * taken. */
static size_t read_address(const char *text, size_t len, pr_allow_entry_t *out)
{
    if (len > 0 && text[0] == '[') {
        size_t close = index_of(text, len, ']');
        bool ok = close < len && pr_ip_parse(text + 1, close - 1, &out->net) && out->net.is_ipv6;
        return ok ? close + 1 : 0;
    }
    size_t end = index_of(text, len, '/');
    if (pr_ip_parse(text, end, &out->net))
        return end; /* IPv4, or bare IPv6 without port */
    end = index_of(text, end, ':');
    return pr_ip_parse(text, end, &out->net) ? end : 0;
}

static bool read_suffix(const char *text, size_t len, pr_allow_entry_t *out)
{
    uint32_t number;
    uint32_t all_bits = out->net.is_ipv6 ? 128 : 32;
    out->prefix_bits = (uint8_t)all_bits;
    if (len > 0 && text[0] == '/') {
        size_t end = index_of(text, len, ':');
        if (!read_number(text + 1, end - 1, all_bits, &number))
            return false;
        out->prefix_bits = (uint8_t)number;
        text += end;
        len -= end;
    }
    if (len == 0)
        return true;
    if (text[0] != ':' || !read_number(text + 1, len - 1, UINT16_MAX, &number) || number == 0)
        return false;
    out->port = (uint16_t)number;
    return true;
}

static bool is_net(const pr_allow_entry_t *entry)
{
    for (size_t bit = entry->prefix_bits; bit < (entry->net.is_ipv6 ? 128u : 32u); bit++)
        if (entry->net.bytes[bit / 8] & (0x80 >> (bit % 8)))
            return false;
    return true;
}

pr_rc_t pr_allow_add(pr_allow_list_t *self, const char *text, size_t len, pr_error_t *error)
{
    pr_allow_entry_t entry = {0};
    int shown = len < 60 ? (int)len : 60;
    size_t taken = read_address(text, len, &entry);
    if (taken == 0 || !read_suffix(text + taken, len - taken, &entry))
        return pr_error_set(error, PR_BAD, "address", "",
                            "'%.*s' is not ADDRESS[/BITS][:PORT] (IPv6 with a port in brackets)",
                            shown, text);
    if (!is_net(&entry))
        return pr_error_set(error, PR_BAD, "address", "", "'%.*s' has bits below its prefix", shown,
                            text);
    if (self->count == PR_ALLOW_MAX)
        return pr_error_set(error, PR_BAD, "address", "", "more than %d entries", PR_ALLOW_MAX);
    self->entries[self->count++] = entry;
    return PR_OK;
}

pr_rc_t pr_allow_parse(const char *text, pr_allow_list_t *out, pr_error_t *error)
{
    pr_allow_list_t made = {0};
    size_t left = strlen(text);
    left -= strspn(text, " ") == left ? left : 0;
    while (left > 0) {
        size_t len = index_of(text, left, ',');
        const char *from = text;
        size_t used = len;
        for (; used > 0 && from[0] == ' '; used--)
            from++;
        while (used > 0 && from[used - 1] == ' ')
            used--;
        pr_rc_t rc = pr_allow_add(&made, from, used, error);
        if (rc != PR_OK)
            return rc;
        len += len < left ? 1 : 0; /* the comma */
        text += len;
        left -= len;
    }
    *out = made;
    return PR_OK;
}

bool pr_allow_has(const pr_allow_list_t *self, const pr_ip_t *ip, uint16_t port)
{
    static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};
    pr_ip_t plain = *ip;
    if (ip->is_ipv6 && in_range(ip->bytes, mapped, 96))
        plain = ipv4_at(ip, 12);
    for (uint32_t i = 0; i < self->count; i++) {
        const pr_allow_entry_t *entry = &self->entries[i];
        if (entry->net.is_ipv6 == plain.is_ipv6 && (entry->port == 0 || entry->port == port) &&
            in_range(plain.bytes, entry->net.bytes, entry->prefix_bits))
            return true;
    }
    return false;
}

const char *pr_address_refused(const pr_allow_list_t *allow, const pr_ip_t *ip, uint16_t port)
{
    if (allow && pr_allow_has(allow, ip, port))
        return NULL;
    return pr_ip_forbidden(ip);
}
