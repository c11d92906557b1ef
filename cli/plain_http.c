/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/plain_http.h"

#include "core/address.h"
#include "core/url.h"

#include <string.h>

/* As in the notifier: an address on the allow-list is an exception from the rule of https. */
static bool is_allowed(const pr_console_t *console, const pr_url_t *url)
{
    pr_ip_t ip;
    pr_error_t error;
    pr_allow_list_t allow = {0};
    if (pr_config_networks(console->config, "http.allow_addresses", &allow, &error) != PR_OK) {
        return false; /* the notifier would not start */
    }
    return (url->host_is_ipv4 || url->host_is_ipv6) &&
           pr_ip_parse(url->host, strlen(url->host), &ip) && pr_allow_has(&allow, &ip, url->port);
}

bool pr_plain_http_refused(const pr_console_t *console, const char *text)
{
    pr_url_t url;
    pr_error_t error;
    return pr_url_parse(text, &url, &error) == PR_OK && !url.https &&
           !pr_config_bool(console->config, "http.allow_plain") && !is_allowed(console, &url);
}
