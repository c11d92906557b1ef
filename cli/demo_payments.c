/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_payments.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "cli/demo_sandbox.h"
#include "cli/home.h"
#include "sign/seal.h"
#include "sql/cli.h"
#include "sql/demo.h"

#include <jansson.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTEN_MS 10000
#define LATE "late" /* app_ref of those whose money comes after their end */

/* What the payer and the gateway do (sandbox/README.md), and how many of SHARES. At the demo's time_scale 600 ms are a
 * minute, and an unpaid order is closed after nine seconds: a quarter of an hour. */
static const struct {
    int share;
    const char *script;
} scripts[] = {
    /* the answer to the charge says the end */
    {6, "~pay~hook:1s"},
    {3, "~fail:insufficient_funds~hook:1s"},
    {1, "~fail:risk_refused~hook:1s"},
    /* a webhook does */
    {17, "~pay:300ms"},
    {8, "~pay:1500ms"},
    {4, "~pay:4s"},
    {3, "~pay:300ms~repeat:3"},
    {2, "~pay:300ms~forge"},
    {1, "~pay:300ms~probe"},
    {3, "~fail:insufficient_funds:800ms"},
    {1, "~pay:300ms~captured:1000"},
    /* the webhook is lost or late: a question does (no 429: it pauses the whole channel, as it should) */
    {6, "~pay:500ms~lost"},
    {4, "~pay:2s~lost"},
    {2, "~pay:300ms~hook:3s"},
    {2, "~fail:insufficient_funds:800ms~lost"},
    {1, "~pay:300ms~lost~query:500*2"},
    {1, "~pay:300ms~lost~query:garbage*2"},
    {1, "~pay:300ms~reorder"},
    /* what became of the charge is unknown: asked, charged again only when it surely was not */
    {1, "~pay:300ms~charge:timeout"},
    {1, "~pay~charge:500!"},
    {1, "~pay~charge:500"},
    {1, "~pay~charge:reset"},
    {1, "~pay~charge:garbage!"},
    {1, "~pay:300ms~charge:drop!~hidden:1s"},
    /* nobody pays: closed at the expiry; or the money comes all the same, and goes back */
    {4, "~unpaid"},
    {1, "~unpaid~forge"},
    {1, "~pay:14s~anyway"},
    /* a person has to look */
    {1, "~pay:300ms~amount:1"},
    {1, "~pending"},
};
#define SHARES \
    80 /* prime to the number of merchants but for 10: the stride below sees to the rest */
#define STRIDE 27

const char *pr_demo_script(int number)
{
    int at = (int)(((int64_t)number * STRIDE + number / PR_DEMO_MERCHANTS) % SHARES);
    for (size_t i = 0; i < PR_COUNT(scripts); i++) {
        at -= scripts[i].share;
        if (at < 0)
            return scripts[i].script;
    }
    pr_assert(false); /* the shares are SHARES together: test_demo_payments.c */
    return NULL;
}

/* ---- the channel ---- */

/* The ingress takes any port that is free; its log says which. */
static int ingress_port(const pr_demo_t *demo)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/log/ingress.log", demo->state_dir);
    FILE *file = fopen(path, "re");
    char line[2048];
    int port = 0;
    while (file && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "event=ingress.listening");
        at = at ? strstr(at, " port=") : NULL;
        if (at)
            port = (int)strtol(at + strlen(" port="), NULL, 10);
    }
    if (file)
        (void)fclose(file);
    return port;
}

static pr_rc_t wait_for_ingress(const pr_demo_t *demo, int *port, pr_error_t *error)
{
    int64_t until_ms = pr_clock_mono_ms() + LISTEN_MS;
    while ((*port = ingress_port(demo)) == 0) {
        if (pr_clock_mono_ms() > until_ms)
            return pr_error_set(error, PR_FATAL, "demo", "",
                                "the ingress does not say where it listens: see %s/log",
                                demo->state_dir);
        poll(NULL, 0, 20);
    }
    return PR_OK;
}

static pr_rc_t seal_one(const pr_master_key_t *key, const char *name, const char *value,
                        json_t *array, pr_error_t *error)
{
    uint8_t nonce[PR_SEAL_NONCE_BYTES];
    pr_random_bytes(nonce, sizeof nonce);
    pr_buffer_t sealed;
    pr_buffer_init(&sealed, PR_SEAL_PLAIN_MAX_BYTES + PR_SEAL_OVERHEAD_BYTES);
    pr_rc_t rc =
        pr_seal(key, "channel/" PR_DEMO_ACCOUNT, pr_bytes_text(value), nonce, &sealed, error);
    if (rc == PR_OK) {
        PR_CLEANUP_FREE char *hex = pr_calloc(2 * sealed.len + 1, 1);
        pr_hex(pr_buffer_bytes(&sealed), hex);
        json_array_append_new(array, json_pack("{s:s,s:s}", "name", name, "sealed", hex));
    }
    pr_buffer_free(&sealed);
    return rc;
}

/* The sandbox's account is made with the secret that it gives; *parameters: as channel_add takes them. */
static pr_rc_t make_account(pr_demo_t *demo, json_t *parameters, pr_error_t *error)
{
    pr_buffer_t answer;
    pr_master_key_t key;
    pr_rc_t rc = pr_demo_sandbox_gateway(
        demo->sandbox, "account",
        "{\"profile\": \"sandbox\", \"account\": \"" PR_DEMO_ACCOUNT "\"}", &answer, error);
    json_t *account = rc == PR_OK ? json_loads(pr_buffer_text(&answer), 0, NULL) : NULL;
    if (rc == PR_OK)
        rc = pr_demo_master_key(demo, &key, error);
    if (rc == PR_OK) {
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(account, "parameters"), name, value)
        {
            if (rc == PR_OK)
                rc = seal_one(&key, name, json_string_value(value), parameters, error);
        }
        pr_master_key_wipe(&key);
    }
    json_decref(account);
    pr_buffer_free(&answer);
    return rc;
}

/* What profiles/sandbox.yaml says; the schedule is shorter, so that the story is. */
static json_t *channel_settings(const pr_demo_t *demo, int port)
{
    PR_CLEANUP_FREE char *base_url = pr_asprintf("http://%s", demo->sandbox);
    PR_CLEANUP_FREE char *notify_url =
        pr_asprintf("http://127.0.0.1:%d/v1/webhooks/" PR_DEMO_ACCOUNT, port);
    json_t *settings = json_pack(
        "{s:s, s:s, s:s, s:s, s:[s,s,s,s], s:b, s:s, s:s, s:[s,s,s,s,s]}", "profile", "sandbox",
        "base_url", base_url, "notify_url", notify_url, "account", PR_DEMO_ACCOUNT, "match",
        "account", "number", "amount", "currency", "failure_final", 1, "unit", "minor", "not_found",
        "yet", "operations", "charge", "query", "refund", "query_refund", "close");
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"rate_per_s", 200},
        {"burst", 50},
        {"concurrency", 64},
        {"max_polls", 30},
        {"first_poll_ms", 60000},
        {"expires_ms", 900000},
        {"not_found_grace_ms", 60000},
        {"settle_ms", 150000}, /* a second and a half at the demo's time_scale */
    };
    for (size_t i = 0; i < PR_COUNT(numbers); i++)
        json_object_set_new(settings, numbers[i].name, json_integer(numbers[i].value));
    json_object_set_new(settings, "polls", json_string("list:1m,5m,5m,10m;jitter=+-20%"));
    return settings;
}

pr_rc_t pr_demo_add_channel(pr_demo_t *demo, pr_error_t *error)
{
    int port = 0;
    json_t *parameters = json_array();
    pr_rc_t rc = wait_for_ingress(demo, &port, error);
    if (rc == PR_OK)
        rc = make_account(demo, parameters, error);
    if (rc == PR_OK) {
        json_t *settings = channel_settings(demo, port);
        char *settings_text = json_dumps(settings, JSON_COMPACT);
        char *parameters_text = json_dumps(parameters, JSON_COMPACT);
        PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
        pr_params_add_text(params, "demo");
        pr_params_add_text(params, PR_DEMO_ACCOUNT);
        pr_params_add_text(params, settings_text);
        pr_params_add_text(params, parameters_text);
        rc = pr_db_sync_query(demo->operator_db, pr_sql_cli[PR_SQL_CLI_CHANNEL_ADD].sql, params,
                              NULL, error);
        pr_free(settings_text);
        pr_free(parameters_text);
        json_decref(settings);
    }
    json_decref(parameters);
    return rc;
}

/* ---- the application ---- */

pr_rc_t pr_demo_submit(pr_demo_t *demo, pr_error_t *error)
{
    int number = demo->submitted;
    pr_demo_payment_t *payment = &demo->payments[number];
    payment->script = pr_demo_script(number);
    payment->amount_minor = 2000 + 7 * number;
    const char *merchant = demo->cast[number % PR_DEMO_MERCHANTS].id;
    PR_CLEANUP_FREE char *order_no = pr_asprintf(PR_DEMO_ORDER "%07d", number);
    PR_CLEANUP_FREE char *scenario = pr_asprintf("%s%s", order_no, payment->script);
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(params, merchant);
    pr_params_add_text(params, order_no);
    pr_params_add_text(params, PR_DEMO_ACCOUNT);
    pr_params_add_i64(params, payment->amount_minor);
    pr_params_add_text(params, scenario);
    pr_params_add_text(params, strstr(payment->script, "~anyway") ? LATE : "demo");
    pr_rc_t rc =
        pr_db_sync_query(demo->app, pr_sql_demo[PR_SQL_DEMO_SUBMIT].sql, params, &rows, error);
    if (rc == PR_OK)
        demo->submitted++;
    return rc;
}

pr_rc_t pr_demo_payments_open(pr_demo_t *demo, int64_t *open, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(params, LATE);
    pr_rc_t rc = pr_db_sync_query(demo->operator_db, pr_sql_demo[PR_SQL_DEMO_PAYMENT_COUNTS].sql,
                                  params, &rows, error);
    if (rc == PR_OK)
        *open = pr_rows_i64(rows, 0, 1) + pr_rows_i64(rows, 0, 2);
    return rc;
}
