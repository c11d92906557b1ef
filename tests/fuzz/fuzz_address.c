/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses and allow-lists: 16 bytes of any address, then a list. The verdict on an IPv4 address
 * is the same in every coat that carries it; an allow-list only ever opens, and only what one of
 * its nets covers.
 */
#include "core/address.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_coats(const pr_ip_t *ipv4)
{
    static const uint8_t coats[][12] = {
        {[10] = 0xff, [11] = 0xff}, {[8] = 0xff, [9] = 0xff}, {0, 0x64, 0xff, 0x9b}};
    for (size_t i = 0; i < PR_COUNT(coats); i++) {
        pr_ip_t dressed = {.is_ipv6 = true};
        memcpy(dressed.bytes, coats[i], 12);
        memcpy(dressed.bytes + 12, ipv4->bytes, 4);
        FUZZ_CHECK(pr_ip_forbidden(&dressed) == pr_ip_forbidden(ipv4));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pr_ip_t ip = {.is_ipv6 = true}, ipv4 = {0}, parsed;
    pr_allow_list_t list = {0};
    pr_error_t error = {0};
    if (size < 18)
        return 0;
    memcpy(ip.bytes, data, 16);
    memcpy(ipv4.bytes, data, 4);
    uint16_t port = (uint16_t)(data[16] << 8 | data[17]);
    check_coats(&ipv4);
    const char *word = pr_ip_forbidden(&ip);
    FUZZ_CHECK(pr_address_refused(NULL, &ip, port) == word);
    PR_CLEANUP_FREE char *text = fuzz_text(data + 18, size - 18);
    if (pr_ip_parse(text, strlen(text), &parsed) && !parsed.is_ipv6)
        check_coats(&parsed);
    if (pr_allow_parse(text, &list, &error) != PR_OK) {
        FUZZ_CHECK(list.count == 0 && error.text[0] != '\0');
        return 0;
    }
    bool opened = pr_allow_has(&list, &ip, port);
    FUZZ_CHECK(pr_address_refused(&list, &ip, port) == (opened ? NULL : word));
    for (uint32_t i = 0; i < list.count; i++) {
        const pr_allow_entry_t *entry = &list.entries[i];
        pr_allow_list_t alone = {.count = 1, .entries = {*entry}};
        FUZZ_CHECK(entry->prefix_bits <= (entry->net.is_ipv6 ? 128 : 32));
        FUZZ_CHECK(!pr_allow_has(&alone, &ip, port) || opened);
        pr_ip_t mapped = entry->net;
        bool hidden = entry->net.is_ipv6 && pr_ip_forbidden(&mapped) == NULL;
        /* a net's own first address is covered, unless it is written as a mapped one */
        FUZZ_CHECK(hidden || entry->net.is_ipv6 || pr_allow_has(&alone, &entry->net, entry->port));
    }
    return 0;
}
