/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/key.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/merchant_secret.h"
#include "sign/digest.h"
#include "sign/seal.h"
#include "sql/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_BYTES 32 /* of randomness */
#define KEY_TEXT_MAX (sizeof "pr_live_" + 2 * (size_t)KEY_BYTES)

/* clang-format off */
static const pr_arg_t create_options[] = {
    {"merchant", PR_ARG_TEXT, "ID", "a merchant's key: it may ask for this one's orders; else an application's, which may do all", 0, 0},
    {"test-mode", PR_ARG_FLAG, NULL, "for channels of pretended money (pr_test_...)", 0, 0},
    {"sign", PR_ARG_FLAG, NULL, "with a signing key: every request must be signed (docs/openapi.yaml)", 0, 0},
    {"label", PR_ARG_TEXT, "TEXT", "to know it by", 0, 0},
    {"expires", PR_ARG_DURATION, "D", "counts no more after this; else until it is revoked", 1000, 0x1p42},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t revoke_options[] = {
    PR_ARG_REASON_NEEDED,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t list_options[] = {
    {"all", PR_ARG_FLAG, NULL, "those that count no more, too", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_column_t columns[] = {
    {"key_id", PR_COLUMN_I64, false}, {"kind", PR_COLUMN_TEXT, false},
    {"merchant_id", PR_COLUMN_TEXT, false}, {"livemode", PR_COLUMN_BOOL, false},
    {"label", PR_COLUMN_TEXT, false}, {"created_at", PR_COLUMN_TIME, false},
    {"expires_at", PR_COLUMN_TIME, false}, {"revoked_at", PR_COLUMN_TIME, false},
    {NULL, PR_COLUMN_NONE, false},
};
/* clang-format on */

/* pr_live_ or pr_test_, and 64 hex digits: the letters that the front takes. */
static void make_key(bool live, char out[KEY_TEXT_MAX])
{
    uint8_t random[KEY_BYTES];
    pr_random_bytes(random, sizeof random);
    memcpy(out, live ? "pr_live_" : "pr_test_", 8);
    pr_hex(pr_bytes(random, sizeof random), out + 8);
    explicit_bzero(random, sizeof random);
}

static int store(pr_console_t *console, const pr_args_t *args, const char *key, int64_t *key_id)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    uint8_t hash[PR_SHA256_BYTES];
    const char *merchant = pr_args_text(args, "merchant");
    const pr_arg_value_t *expires = pr_args_get(args, "expires");
    if (!pr_sha256(pr_bytes_text(key), hash)) {
        return pr_console_failed("SHA-256 is not to be had");
    }
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_bytes(console->params, pr_bytes(hash, sizeof hash));
    pr_params_add_text(console->params, merchant != NULL ? "merchant" : "application");
    pr_params_add_text(console->params, merchant);
    pr_params_add_bool(console->params, !pr_args_given(args, "test-mode"));
    pr_params_add_text(console->params, pr_args_text(args, "label"));
    if (expires->given) {
        pr_params_add_i64(console->params, expires->integer);
    } else {
        pr_params_add_null(console->params);
    }
    int code = pr_console_query(console, PR_SQL_CLI_KEY_CREATE, &rows);
    if (code == PR_EXIT_OK) {
        *key_id = pr_rows_i64(rows, 0, 0);
    }
    return code;
}

/* As the ingress opens it: sealed for "key/" and the first half of the key's hash in hex. */
static int seal_signing(const pr_master_key_t *master, const char *key, const char *signing,
                        pr_buffer_t *sealed)
{
    uint8_t hash[PR_SHA256_BYTES], nonce[PR_SEAL_NONCE_BYTES];
    char owner[sizeof "key/" + PR_SHA256_BYTES] = "key/";
    pr_error_t error;
    if (!pr_sha256(pr_bytes_text(key), hash)) {
        return pr_console_failed("SHA-256 is not to be had");
    }
    pr_hex(pr_bytes(hash, PR_SHA256_BYTES / 2), owner + 4);
    pr_random_bytes(nonce, sizeof nonce);
    if (pr_seal(master, owner, pr_bytes_text(signing), nonce, sealed, &error) != PR_OK) {
        return pr_console_failed("the signing key cannot be sealed: %s", error.text);
    }
    return PR_EXIT_OK;
}

static int store_signing(pr_console_t *console, int64_t key_id, const pr_buffer_t *sealed)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_clear(console->params);
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_i64(console->params, key_id);
    pr_params_add_bytes(console->params, pr_buffer_bytes(sealed));
    int code = pr_console_query(console, PR_SQL_CLI_KEY_SIGN, &rows);
    if (code != PR_EXIT_OK || !pr_rows_bool(rows, 0, 0)) {
        return pr_console_failed("key %" PRId64 " was made, but has no signing key: revoke it",
                                 key_id);
    }
    return code;
}

static void print_made(const pr_console_t *console, int64_t key_id, const char *key,
                       const char *signing)
{
    if (console->json) {
        pr_console_json(json_pack("{s:I, s:s, s:s*}", "key_id", (json_int_t)key_id, "key", key,
                                  "signing_key", signing));
        return;
    }
    printf("key %" PRId64 ", shown this once:\n%s\n", key_id, key);
    if (signing != NULL) {
        printf("signing key, shown this once:\n%s\n", signing);
    }
}

/* With a signing key; all that can fail by itself is done before the first row is written. */
static int create_signed(pr_console_t *console, const pr_args_t *args, const char *key,
                         int64_t *key_id, char signing[KEY_TEXT_MAX])
{
    pr_master_key_t master;
    pr_buffer_t sealed;
    uint8_t random[KEY_BYTES];
    int code = pr_cli_master_key(console, &master);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_random_bytes(random, sizeof random);
    pr_hex(pr_bytes(random, sizeof random), signing);
    explicit_bzero(random, sizeof random);
    pr_buffer_init(&sealed, PR_SEAL_PLAIN_MAX_BYTES + PR_SEAL_OVERHEAD_BYTES);
    code = seal_signing(&master, key, signing, &sealed);
    pr_master_key_wipe(&master);
    if (code == PR_EXIT_OK) {
        code = store(console, args, key, key_id);
    }
    if (code == PR_EXIT_OK) {
        code = store_signing(console, *key_id, &sealed);
    }
    pr_buffer_free(&sealed);
    return code;
}

static int create(pr_console_t *console, const pr_args_t *args)
{
    char key[KEY_TEXT_MAX], signing[KEY_TEXT_MAX] = "";
    int64_t key_id = 0;
    bool sign = pr_args_given(args, "sign");
    make_key(!pr_args_given(args, "test-mode"), key);
    int code = sign ? create_signed(console, args, key, &key_id, signing)
                    : store(console, args, key, &key_id);
    if (code == PR_EXIT_OK) {
        print_made(console, key_id, key, sign ? signing : NULL);
    }
    explicit_bzero(key, sizeof key);
    explicit_bzero(signing, sizeof signing);
    return code;
}

static int revoke(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    int64_t key_id = 0;
    int code = pr_console_id(args->positional[0], "key", &key_id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    pr_params_add_text(console->params, console->operator_name);
    pr_params_add_i64(console->params, key_id);
    pr_params_add_text(console->params, pr_args_text(args, "reason"));
    code = pr_console_query(console, PR_SQL_CLI_KEY_REVOKE, &rows);
    if (code != PR_EXIT_OK) {
        return code;
    }
    if (!pr_rows_bool(rows, 0, 0)) {
        return pr_console_failed("there is no key %" PRId64 " that counts", key_id);
    }
    if (console->json) {
        pr_console_json(json_pack("{s:I, s:b}", "key_id", (json_int_t)key_id, "revoked", 1));
    } else {
        printf("key %" PRId64 " counts no more\n", key_id);
    }
    return code;
}

static int list(pr_console_t *console, const pr_args_t *args)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_bool(console->params, pr_args_given(args, "all"));
    int code = pr_console_query(console, PR_SQL_CLI_KEY_LIST, &rows);
    if (code == PR_EXIT_OK) {
        pr_console_print(console, rows, columns, "no keys");
    }
    return code;
}

static int key_create(const pr_args_t *args)
{
    return pr_console_with(args, create);
}

static int key_revoke(const pr_args_t *args)
{
    const char *reason = pr_args_text(args, "reason");
    if (reason == NULL || reason[0] == '\0') {
        return pr_console_usage("--reason is needed: the audit asks why");
    }
    return pr_console_with(args, revoke);
}

static int key_list(const pr_args_t *args)
{
    return pr_console_with(args, list);
}

int pr_key_main(int argc, char **argv)
{
    static const pr_arg_spec_t create_spec = {
        "key create [--merchant ID] [OPTION...]",
        "A bearer key for HTTP; it is printed this once, the database keeps its hash.",
        create_options, 0, 0};
    static const pr_arg_spec_t revoke_spec = {"key revoke KEY_ID --reason TEXT",
                                              "Counts no more, within a second.", revoke_options, 1,
                                              1};
    static const pr_arg_spec_t list_spec = {"key list [--all]", "Keys; never a key itself.",
                                            list_options, 0, 0};
    static const pr_subcommand_t table[] = {{"create", &create_spec, key_create},
                                            {"revoke", &revoke_spec, key_revoke},
                                            {"list", &list_spec, key_list},
                                            {NULL, NULL, NULL}};
    return pr_args_group("key", table, argc, argv);
}
