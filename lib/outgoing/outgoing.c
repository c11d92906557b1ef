/* SPDX-License-Identifier: Apache-2.0 */
#include "outgoing/outgoing.h"

#include "base/log.h"
#include "core/address.h"

pr_http_limits_t pr_outgoing_limits(const pr_config_t *config, int max_in_flight)
{
    return (pr_http_limits_t){
        .pool_per_host = (int)pr_config_int(config, "http.pool_per_host"),
        .pool_total = (int)pr_config_int(config, "http.pool_total"),
        .idle_ms = pr_config_duration_ms(config, "http.idle_timeout"),
        .tcp_keepalive_s = pr_config_duration_ms(config, "http.keepalive") / 1000,
        .connect_ms = pr_config_duration_ms(config, "http.connect_timeout"),
        .tls_ms = pr_config_duration_ms(config, "http.tls_timeout"),
        .first_byte_ms = pr_config_duration_ms(config, "http.first_byte_timeout"),
        .total_ms = pr_config_duration_ms(config, "http.total_timeout"),
        .max_read_bytes = (size_t)pr_config_size(config, "http.max_response"),
        .max_in_flight = max_in_flight,
        .user_agent = "Postrider/" PR_VERSION,
    };
}

bool pr_outgoing_may_connect(void *arg, const struct sockaddr *address, socklen_t len)
{
    pr_ip_t ip;
    uint16_t port = 0;
    if (!pr_ip_from_sockaddr(address, len, &ip, &port))
        return false;
    const char *why = pr_address_refused(arg, &ip, port);
    if (why != NULL)
        pr_log_limited(PR_LOG_WARN, "address.refused", why, "why=%s port=%u", why, port);
    return why == NULL;
}
