/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/clock.h"
#include "cli/demo.h"
#include "cli/demo_sandbox.h"
#include "cli/home.h"
#include "sign/seal.h"
#include "sql/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everybody else is prompt: three in five, as in life. */
static const struct {
    int number;
    const char *temper, *repair;
} temperaments[] = {
    {31, "slow:150ms", NULL},  {32, "slow:150ms", NULL},     {33, "slow:400ms", NULL},
    {34, "slow:400ms", NULL},  {35, "flaky:0.3", NULL},      {36, "flaky:0.3", NULL},
    {37, "flaky:0.5", NULL},   {38, "flaky:0.1", NULL},      {39, "refuse:500", "prompt"},
    {40, "refuse:404", NULL},  {41, "hang", "prompt"},       {42, "redirect", "prompt"},
    {43, "gone", "prompt"},    {44, "throttle:429:1", NULL}, {45, "huge", "prompt"},
    {46, "endless", "prompt"}, {47, "garbage", NULL},        {48, "reset", "prompt"},
    {49, "recover:4s", NULL},  {50, "recover:7s", NULL},
};

static void make_secret(char out[64])
{
    uint8_t random[24];
    pr_random_bytes(random, sizeof random);
    pr_hex(pr_bytes(random, sizeof random), out);
}

void pr_demo_cast(pr_demo_t *demo)
{
    for (int i = 0; i < PR_DEMO_MERCHANTS; i++) {
        pr_demo_merchant_t *merchant = &demo->cast[i];
        (void)snprintf(merchant->id, sizeof merchant->id, "m%03d", i + 1);
        merchant->tier = i % 10 == 0 ? "vip" : i % 10 >= 7 ? "small" : "normal";
        merchant->temper = "prompt";
        merchant->prompt = true;
        make_secret(merchant->secret);
    }
    for (size_t i = 0; i < PR_COUNT(temperaments); i++) {
        pr_demo_merchant_t *merchant = &demo->cast[temperaments[i].number - 1];
        merchant->temper = temperaments[i].temper;
        merchant->repair = temperaments[i].repair;
        merchant->prompt = false;
    }
}

pr_rc_t pr_demo_write_merchants(const pr_demo_t *demo, const char *path, pr_error_t *error)
{
    pr_buffer_t text;
    pr_buffer_init(&text, 64 << 10);
    pr_rc_t rc = pr_buffer_append_text(&text, "{\n");
    for (int i = 0; i < PR_DEMO_MERCHANTS && rc == PR_OK; i++) {
        const pr_demo_merchant_t *merchant = &demo->cast[i];
        rc = pr_buffer_printf(&text, "\"%s\": {\"temper\": \"%s\", \"secrets\": [\"%s\"]}%s\n",
                              merchant->id, merchant->temper, merchant->secret,
                              i + 1 < PR_DEMO_MERCHANTS ? "," : "}");
    }
    if (rc == PR_OK)
        rc = pr_home_write(path, pr_buffer_text(&text), 0600, error);
    pr_buffer_free(&text);
    return rc;
}

pr_rc_t pr_demo_master_key(const pr_demo_t *demo, pr_master_key_t *key, pr_error_t *error)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/master.key", demo->state_dir);
    PR_CLEANUP_FREE char *text = pr_home_read(path);
    if (!text)
        return pr_error_set(error, PR_FATAL, "demo", "", "%s cannot be read", path);
    return pr_master_key_parse(pr_bytes_text(text), 0, key, error);
}

static pr_rc_t add_merchant(pr_demo_t *demo, const pr_master_key_t *key,
                            pr_demo_merchant_t *merchant, pr_error_t *error)
{
    uint8_t nonce[PR_SEAL_NONCE_BYTES];
    pr_random_bytes(nonce, sizeof nonce);
    pr_buffer_t sealed;
    pr_buffer_init(&sealed, PR_SEAL_PLAIN_MAX_BYTES + PR_SEAL_OVERHEAD_BYTES);
    pr_rc_t rc = pr_seal(key, merchant->id, pr_bytes_text(merchant->secret), nonce, &sealed, error);
    if (rc == PR_OK) {
        PR_CLEANUP_FREE char *url = pr_asprintf("http://%s/m/%s", demo->sandbox, merchant->id);
        PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
        PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
        pr_params_add_text(params, "demo");
        pr_params_add_text(params, merchant->id);
        pr_params_add_text(params, merchant->tier);
        pr_params_add_text(params, NULL);
        pr_params_add_text(params, url);
        pr_params_add_bytes(params, pr_buffer_bytes(&sealed));
        pr_params_add_text(params, "{}");
        pr_params_add_text(params, "default");
        rc = pr_db_sync_query(demo->operator_db, pr_sql_cli[PR_SQL_CLI_MERCHANT_ADD].sql, params,
                              &rows, error);
        if (rc == PR_OK)
            merchant->endpoint_id = pr_rows_i64(rows, 0, 0);
    }
    pr_buffer_free(&sealed);
    return rc;
}

pr_rc_t pr_demo_add_merchants(pr_demo_t *demo, pr_error_t *error)
{
    pr_master_key_t key;
    pr_rc_t rc = pr_demo_master_key(demo, &key, error);
    for (int i = 0; i < PR_DEMO_MERCHANTS && rc == PR_OK; i++)
        rc = add_merchant(demo, &key, &demo->cast[i], error);
    pr_master_key_wipe(&key);
    return rc;
}

/* ---- the operator ---- */

static pr_rc_t enable(pr_demo_t *demo, const pr_demo_merchant_t *merchant, pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    pr_params_add_text(params, "demo");
    pr_params_add_i64(params, merchant->endpoint_id);
    pr_params_add_text(params, "the merchant has repaired it");
    return pr_db_sync_query(demo->operator_db, pr_sql_cli[PR_SQL_CLI_ENDPOINT_ENABLE].sql, params,
                            NULL, error);
}

static pr_rc_t redrive(pr_demo_t *demo, const pr_demo_merchant_t *merchant, int64_t *letters,
                       pr_error_t *error)
{
    PR_CLEANUP(pr_params) pr_params_t *params = pr_params_new();
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    PR_CLEANUP_FREE char *filter = pr_asprintf("{\"merchant_id\": \"%s\"}", merchant->id);
    pr_params_add_text(params, "demo");
    pr_params_add_text(params, "the merchant has repaired it");
    pr_params_add_text(params, filter);
    pr_params_add_i32(params, 1000000);
    pr_params_add_bool(params, false);
    pr_rc_t rc = pr_db_sync_query(demo->operator_db, pr_sql_cli[PR_SQL_CLI_DEAD_REDRIVE].sql,
                                  params, &rows, error);
    if (rc == PR_OK)
        *letters += pr_rows_i64(rows, 0, 0);
    return rc;
}

pr_rc_t pr_demo_repair(pr_demo_t *demo, int64_t *redriven, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    for (int i = 0; i < PR_DEMO_MERCHANTS && rc == PR_OK; i++) {
        const pr_demo_merchant_t *merchant = &demo->cast[i];
        if (!merchant->repair)
            continue;
        rc = pr_demo_sandbox_temper(demo->sandbox, merchant->id, merchant->repair, error);
        if (rc == PR_OK)
            rc = enable(demo, merchant, error);
        if (rc == PR_OK)
            rc = redrive(demo, merchant, redriven, error);
    }
    return rc;
}
