/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/forwarded.h"

#include <string.h>
#include <strings.h>

/* "1.2.3.4", "1.2.3.4:80", "2001:db8::1", "[2001:db8::1]:80" */
static bool parse_entry(const char *text, size_t len, pr_ip_t *out)
{
    const char *end = text + len;
    if (len > 0 && text[0] == '[') {
        const char *close = memchr(text, ']', len);
        return close && pr_ip_parse(text + 1, (size_t)(close - text - 1), out);
    }
    const char *colon = memchr(text, ':', len);
    bool has_port = colon && !memchr(colon + 1, ':', (size_t)(end - colon - 1));
    return pr_ip_parse(text, has_port ? (size_t)(colon - text) : len, out);
}

/* Cuts the last entry off a list of *len bytes; spaces around it do not count. */
static const char *last_entry(const char *list, size_t *len, size_t *entry_len)
{
    size_t end = *len, begin;
    for (begin = end; begin > 0 && list[begin - 1] != ',';)
        begin--;
    *len = begin > 0 ? begin - 1 : 0;
    while (begin < end && (list[begin] == ' ' || list[begin] == '\t'))
        begin++;
    while (end > begin && (list[end - 1] == ' ' || list[end - 1] == '\t'))
        end--;
    *entry_len = end - begin;
    return list + begin;
}

/* One field from its right end; false: the walk is over. */
static bool walk(const char *list, const pr_allow_list_t *trusted, pr_ip_t *client)
{
    size_t len = strlen(list), entry_len = 0;
    while (len > 0) {
        pr_ip_t said;
        const char *entry = last_entry(list, &len, &entry_len);
        if (!pr_allow_has(trusted, client, 0) || !parse_entry(entry, entry_len, &said))
            return false;
        *client = said;
    }
    return true;
}

pr_ip_t pr_forwarded_client(const pr_ip_t *peer, const pr_allow_list_t *trusted,
                            const pr_header_t *headers, size_t count)
{
    pr_ip_t client = *peer;
    for (size_t i = count; i-- > 0;)
        if (strcasecmp(headers[i].name, "X-Forwarded-For") == 0 &&
            !walk(headers[i].value, trusted, &client))
            break;
    return client;
}
