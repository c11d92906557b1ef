/* SPDX-License-Identifier: Apache-2.0
 *
 * /metrics, in the text format of Prometheus: the overview's figures and this process' own. Each
 * number of the overview is one gauge, named by its path: {"payments": {"manual": 3}} is
 * postrider_payments_manual 3; channels have a label.
 */
#include "actors/console/console_private.h"
#include "base/alloc.h"
#include "sql/console.h"

#include <stdio.h>
#include <string.h>

#define METRICS_MAX_BYTES ((size_t)1024 * 1024)
#define NAME_BYTES 128
#define DEPTH_MAX 4

static pr_rc_t write_gauge(pr_buffer_t *out, const char *name, double value)
{
    return pr_buffer_printf(out, "# TYPE %s gauge\n%s %.15g\n", name, name, value);
}

/* "p95_ms" stays, "RETRY" becomes "retry". */
static void append_name(char *out, const char *base, const char *name)
{
    int len = snprintf(out, NAME_BYTES, "%s_%s", base, name);
    for (int i = 0; i < len && i < NAME_BYTES - 1; i++) {
        if (out[i] >= 'A' && out[i] <= 'Z')
            out[i] = (char)(out[i] + 32);
        else if (!(out[i] >= 'a' && out[i] <= 'z') && !(out[i] >= '0' && out[i] <= '9'))
            out[i] = '_';
    }
}

static pr_rc_t write_numbers(pr_buffer_t *out, const char *base, json_t *object, int depth)
{
    char name[NAME_BYTES];
    const char *key = NULL;
    json_t *value = NULL;
    pr_rc_t rc = PR_OK;
    json_object_foreach(object, key, value)
    {
        append_name(name, base, key);
        if (rc != PR_OK)
            break;
        if (json_is_number(value))
            rc = write_gauge(out, name, json_number_value(value));
        else if (json_is_boolean(value))
            rc = write_gauge(out, name, json_is_true(value));
        else if (json_is_object(value) && depth < DEPTH_MAX)
            rc = write_numbers(out, name, value, depth + 1);
    }
    return rc;
}

/* A label's value: \ " and line breaks are escaped. */
static pr_rc_t write_label(pr_buffer_t *out, const char *text)
{
    pr_rc_t rc = PR_OK;
    for (const char *at = text; rc == PR_OK && *at != '\0'; at++) {
        if (*at == '\\' || *at == '"')
            rc = pr_buffer_printf(out, "\\%c", *at);
        else
            rc = *at == '\n' ? pr_buffer_append_text(out, "\\n") : pr_buffer_append(out, at, 1);
    }
    return rc;
}

static pr_rc_t write_channels(pr_buffer_t *out, json_t *channels)
{
    size_t i = 0;
    json_t *one = NULL;
    pr_rc_t rc = pr_buffer_append_text(out, "# TYPE postrider_channel_active gauge\n");
    json_array_foreach(channels, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "channel"));
        const char *state = json_string_value(json_object_get(one, "state"));
        rc = rc != PR_OK ? rc : pr_buffer_append_text(out, "postrider_channel_active{channel=\"");
        rc = rc != PR_OK ? rc : write_label(out, name ? name : "");
        rc = rc != PR_OK ? rc
                         : pr_buffer_printf(out, "\"} %d\n", state && strcmp(state, "active") == 0);
    }
    return rc;
}

static pr_rc_t write_counter(pr_buffer_t *out, const char *name, uint64_t value)
{
    return pr_buffer_printf(out, "# TYPE %s counter\n%s %llu\n", name, name,
                            (unsigned long long)value);
}

static pr_rc_t write_own(pr_buffer_t *out, const console_t *self)
{
    pr_httpd_stats_t stats = pr_front_stats(self->front);
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        {"postrider_console_connections_total", stats.accepted},
        {"postrider_console_requests_total", stats.requests},
        {"postrider_console_displaced_total", stats.displaced},
        {"postrider_console_expired_total", stats.expired},
        {"postrider_console_logins_total", self->logins},
        {"postrider_console_logins_failed_total", self->logins_failed},
        {"postrider_console_denied_total", self->denied},
    };
    pr_rc_t rc = write_gauge(out, "postrider_console_connections", stats.connections);
    rc = rc != PR_OK ? rc : write_gauge(out, "postrider_console_watching", self->waiting_count);
    for (size_t i = 0; rc == PR_OK && i < PR_COUNT(counters); i++)
        rc = write_counter(out, counters[i].name, counters[i].value);
    return rc;
}

static void reply_metrics(console_call_t *call, bool up, const char *figures)
{
    pr_buffer_t out;
    json_error_t flaw;
    json_t *root = json_loads(figures, 0, &flaw); /* NULL: none, there are no operators yet */
    pr_buffer_init(&out, METRICS_MAX_BYTES);
    pr_rc_t rc = write_gauge(&out, "postrider_database_up", up);
    rc = rc != PR_OK ? rc : write_own(&out, call->console);
    rc = rc != PR_OK ? rc : write_numbers(&out, "postrider", root, 0);
    rc = rc != PR_OK ? rc : write_channels(&out, json_object_get(root, "channels"));
    json_decref(root);
    if (rc == PR_OK)
        console_reply(call, &(pr_httpd_reply_t){.status = 200,
                                                .content_type = "text/plain; version=0.0.4; "
                                                                "charset=utf-8",
                                                .body = pr_buffer_bytes(&out)});
    else
        console_reply_problem(call, 500, "internal", "", 0);
    pr_buffer_free(&out);
}

/* A scrape is answered without the database too: that it is away is a figure. */
static void on_figures(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)error;
    reply_metrics(arg, rc == PR_OK, rc == PR_OK ? pr_rows_text(rows, 0, 0) : "");
}

void console_metrics(console_call_t *call)
{
    (void)pr_pool_params(call->console->pool);
    if (pr_pool_query(call->console->pool, PR_SQL_CONSOLE_METRICS, on_figures, call) != PR_OK)
        on_figures(call, PR_AGAIN, NULL, NULL);
}
