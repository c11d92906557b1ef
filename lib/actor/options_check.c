/* SPDX-License-Identifier: Apache-2.0
 *
 * What a type alone cannot say: the form of some texts, and rules between keys.
 */
#include "actor/actor_private.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "bus/address.h"
#include "core/address.h"
#include "core/egress.h"
#include "core/retry.h"
#include "core/url.h"
#include "db/db.h"

#include <stdlib.h>
#include <string.h>

/* *error: "SOURCE: KEY: text"; the source is where the key's value came from. */
static pr_rc_t blame(const pr_config_t *self, const char *key, const char *text, pr_error_t *error)
{
    int index = pr_setting_find(key);
    pr_assert(index >= 0);
    const char *source = self->values[index].source;
    return pr_error_set(error, PR_BAD, "config", "", "%s: %s: %s",
                        source != NULL ? source : "default", key, text);
}

/* ---- forms: each says whether one text is well formed ---- */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_level(const char *text)
{
    return pr_log_level_parse(text) != PR_LOG_NONE;
}

static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    long port = strtol(text, NULL, 10);
    return port >= 1 &&
           port <= 65535 - 7; /* a broker takes eight in a row but for the breaker's, the seventh */
}

/* Room in a socket's path for what pr_bus_address adds to a broker's base. */
#define SUFFIX ".breaker"

static bool is_bus_base(const char *text)
{
    if (starts(text, "ipc:///"))
        return text[7] != '\0' && strlen(text + 6) + strlen(SUFFIX) <= PR_IPC_PATH_MAX;
    const char *colon = strrchr(text, ':');
    return starts(text, "tcp://") && colon > text + 6 && is_port(colon + 1);
}

static bool is_bus_address(const char *text)
{
    pr_error_t error;
    return pr_address_check(text, &error) == PR_OK && strcmp(text, "ipc:///") != 0;
}

static bool is_bus_address_or_empty(const char *text)
{
    return text[0] == '\0' || is_bus_address(text);
}

static bool is_url_or_empty(const char *text)
{
    pr_url_t url;
    pr_error_t error;
    return text[0] == '\0' || pr_url_parse(text, &url, &error) == PR_OK;
}

static bool is_database_or_empty(const char *text)
{
    return text[0] == '\0' || pr_db_url_ok(text);
}

static bool is_network(const char *text)
{
    pr_allow_list_t list = {0};
    pr_error_t error;
    return pr_allow_add(&list, text, strlen(text), &error) == PR_OK;
}

static bool is_policy(const char *text)
{
    pr_retry_policy_t policy;
    pr_error_t error;
    return pr_retry_parse(text, &policy, &error) == PR_OK;
}

static bool is_currency(const char *text)
{
    return strlen(text) == 3 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;
}

#define EGRESS_WANTED \
    "[http|https|socks5|socks5h]://[USER:WORD@]HOST[:PORT], address:IP or interface:NAME is wanted"

static const struct {
    const char *key;
    bool (*is_good)(const char *text);
    const char *wanted;
} forms[] = {
    /* the rules are those of who reads the value later: what passes here works there */
    {"database.url", is_database_or_empty,
     "a libpq URI (postgresql://...) or a list of keyword=value is wanted"},
    {"log.level", is_level, "error, warn, info or debug is wanted"},
    {"bus.brokers", is_bus_base,
     "ipc:///PATH (to 99 bytes) or tcp://HOST:PORT (port to 65529) is wanted"},
    {"bus.breaker", is_bus_address_or_empty, "ipc:///PATH or tcp://HOST:PORT is wanted"},
    {"bus.scheduler", is_bus_address_or_empty, "ipc:///PATH or tcp://HOST:PORT is wanted"},
    {"http.allow_addresses", is_network,
     "networks as 10.0.0.0/8, fd00::/8 or 127.0.0.1:9000 are wanted"},
    {"alerts.webhook", is_url_or_empty, "https://HOST[:PORT][/PATH] or http://... is wanted"},
    {"lanes.p0.egress", pr_egress_ok, EGRESS_WANTED},
    {"lanes.p1.egress", pr_egress_ok, EGRESS_WANTED},
    {"lanes.p2.egress", pr_egress_ok, EGRESS_WANTED},
    {"retry.notification", is_policy,
     "list:5s,30s, fixed:5s*5, linear:5s*3, exponential:1s..6h*10 or exponential-jitter:... is "
     "wanted"},
    {"priority.large_minor", is_currency, "currencies are three capitals: CNY"},
    {"priority.small_minor", is_currency, "currencies are three capitals: CNY"},
};

static pr_rc_t check_forms(const pr_config_t *self, pr_error_t *error)
{
    for (size_t i = 0; i < PR_COUNT(forms); i++) {
        int index = pr_setting_find(forms[i].key);
        pr_assert(index >= 0);
        const pr_value_t *value = &self->values[index];
        bool good = pr_settings[index].type != PR_OPTION_TEXT || forms[i].is_good(value->text);
        for (int n = 0; n < value->count; n++)
            good = good && forms[i].is_good(value->items[n]);
        if (!good)
            return blame(self, forms[i].key, forms[i].wanted, error);
    }
    return PR_OK;
}

/* ---- between keys ---- */

static pr_rc_t check_times(const pr_config_t *self, pr_error_t *error)
{
    static const char *const parts[] = {"http.connect_timeout", "http.tls_timeout",
                                        "http.first_byte_timeout"};
    int64_t total = pr_config_duration_ms(self, "http.total_timeout");
    for (size_t i = 0; i < PR_COUNT(parts); i++) {
        if (pr_config_duration_ms(self, parts[i]) > total)
            return blame(self, parts[i], "is longer than http.total_timeout", error);
    }
    if (pr_config_duration_ms(self, "lease") <= total)
        return blame(self, "lease",
                     "must be longer than http.total_timeout, or a call under way is tried again",
                     error);
    if (pr_config_duration_ms(self, "tasks.lock_timeout") <= 2 * total)
        return blame(self, "tasks.lock_timeout",
                     "must be longer than http.total_timeout twice, or a task under way goes back",
                     error);
    if (pr_config_duration_ms(self, "scheduler.session_timeout") <
        3 * pr_config_duration_ms(self, "scheduler.heartbeat"))
        return blame(self, "scheduler.session_timeout",
                     "must be at least three times scheduler.heartbeat", error);
    return PR_OK;
}

static pr_rc_t check_sizes(const pr_config_t *self, pr_error_t *error)
{
    const char *const *brokers;
    int nbrokers = pr_config_list(self, "bus.brokers", &brokers);
    if (nbrokers < 1 || nbrokers > 16)
        return blame(self, "bus.brokers", "from one to sixteen are wanted", error);
    const char *const *networks;
    if (pr_config_list(self, "http.allow_addresses", &networks) > PR_ALLOW_MAX)
        return blame(self, "http.allow_addresses", "at most 64 networks are wanted", error);
    if (pr_config_int(self, "http.pool_per_host") > pr_config_int(self, "http.pool_total"))
        return blame(self, "http.pool_per_host", "is larger than http.pool_total", error);
    if (pr_config_size(self, "http.keep_response") > pr_config_size(self, "http.max_response"))
        return blame(self, "http.keep_response", "is larger than http.max_response", error);
    return PR_OK;
}

static pr_rc_t check_priorities(const pr_config_t *self, pr_error_t *error)
{
    const char *const *small, *const *large;
    const int64_t *below, *from;
    int nsmall = pr_config_map(self, "priority.small_minor", &small, &below);
    int nlarge = pr_config_map(self, "priority.large_minor", &large, &from);
    for (int i = 0; i < nsmall; i++) {
        for (int n = 0; n < nlarge; n++) {
            if (strcmp(small[i], large[n]) == 0 && below[i] > from[n])
                return blame(self, "priority.small_minor",
                             "is above priority.large_minor for the same currency", error);
        }
    }
    return PR_OK;
}

pr_rc_t pr_config_check(const pr_config_t *self, pr_error_t *error)
{
    pr_rc_t rc = check_forms(self, error);
    if (rc == PR_OK)
        rc = check_times(self, error);
    if (rc == PR_OK)
        rc = check_sizes(self, error);
    if (rc == PR_OK)
        rc = check_priorities(self, error);
    return rc;
}
