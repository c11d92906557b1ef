/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs: what is read, written again and read once more is the same; no part has a byte that could
 * split a header or be read in two ways; a host of digits is an address that the guard can judge.
 */
#include "core/address.h"
#include "core/url.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

static bool is_clean(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PR_CLEANUP_FREE char *text = fuzz_text(data, size);
    pr_url_t url, again;
    pr_error_t error = {0};
    pr_ip_t ip;
    if (pr_url_parse(text, &url, &error) != PR_OK) {
        FUZZ_CHECK(error.text[0] != '\0');
        return 0;
    }
    FUZZ_CHECK(strlen(text) <= PR_URL_MAX_BYTES && url.port != 0 && url.host[0] != '\0');
    FUZZ_CHECK(is_clean(url.host) && is_clean(url.target) && is_clean(url.origin));
    FUZZ_CHECK(url.target[0] == '/' && !strchr(url.target, '#') && !strpbrk(url.host, "@/?#%[]\\"));
    bool is_address = pr_ip_parse(url.host, strlen(url.host), &ip);
    FUZZ_CHECK(is_address == (url.host_is_ipv4 || url.host_is_ipv6));
    FUZZ_CHECK(!is_address || ip.is_ipv6 == url.host_is_ipv6);
    PR_CLEANUP_FREE char *whole = pr_asprintf("%s%s", url.origin, url.target);
    if (strlen(whole) <= PR_URL_MAX_BYTES) {
        FUZZ_CHECK(pr_url_parse(whole, &again, NULL) == PR_OK);
        FUZZ_CHECK(memcmp(&url, &again, sizeof url) == 0);
    }
    return 0;
}
