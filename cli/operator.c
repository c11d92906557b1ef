/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/operator.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/door.h"
#include "cli/merchant_secret.h"
#include "password/password.h"
#include "sign/digest.h"
#include "sign/totp.h"
#include "sql/console.h"

#include <openssl/crypto.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROLES "viewer|operator|approver|admin"
#define TOKEN_BYTES 32
#define TOKEN_PREFIX "pr_op_"
#define TOKEN_TEXT_MAX (sizeof TOKEN_PREFIX + 2 * (size_t)TOKEN_BYTES)

/* clang-format off */
static const pr_arg_t add_options[] = {
    {"role", PR_ARG_CHOICE, ROLES, "what he may (needed); the first operator is an admin", 0, 0},
    {"no-password", PR_ARG_FLAG, NULL, "he cannot log in until he has one", 0, 0},
    PR_DOOR_PASSWORD_OPTION,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t set_options[] = {
    {"role", PR_ARG_CHOICE, ROLES, "what he may from now on (needed)", 0, 0},
    PR_ARG_REASON_NEEDED,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t password_options[] = {
    PR_DOOR_PASSWORD_OPTION,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t totp_options[] = {
    {"off", PR_ARG_FLAG, NULL, "take it away: the password alone is enough again", 0, 0},
    {"reason", PR_ARG_TEXT, "TEXT", "why (needed)", 0, 0},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t reason_options[] = {
    PR_ARG_REASON_NEEDED,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t token_options[] = {
    {"role", PR_ARG_CHOICE, ROLES, "what it may at most (default: what he may)", 0, 0},
    {"label", PR_ARG_TEXT, "TEXT", "to know it by (needed)", 0, 0},
    {"expires", PR_ARG_DURATION, "D", "counts no more after this (default 90d, at most 366d)", 1000, 366.0 * 86400000},
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
/* clang-format on */
static const char *const fields[] = {"name",          "role",          "disabled",   "password_set",
                                     "second_factor", "last_login_at", "created_at", NULL};
static const char *const token_fields[] = {"token_id",   "operator", "role",       "label",
                                           "expires_at", "used_at",  "revoked_at", NULL};

static int list(pr_console_t *console, const pr_args_t *args)
{
    (void)args;
    return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_OPERATORS_LIST], json_object(),
                        fields, "no operators yet: the first one to be added is an admin");
}

/* Reads a new password and puts its hash into arguments. */
static int add_hash(const pr_args_t *args, const char *name, json_t *arguments)
{
    char password[PR_DOOR_PASSWORD_MAX], hash[PR_PASSWORD_HASH_BYTES];
    PR_CLEANUP_FREE char *what = pr_asprintf("new password of %s", name);
    int code = pr_door_password(args, what, password);
    if (code == PR_EXIT_OK) {
        const char *flaw = pr_password_flaw(password, name);
        if (flaw != NULL) {
            code = pr_console_usage("the password is not taken: %s", flaw);
        } else if (pr_password_hash(password, hash) != PR_OK) {
            code = pr_console_failed("there is no memory to hash the password");
        } else {
            json_object_set_new(arguments, "password_hash", json_string(hash));
        }
    }
    OPENSSL_cleanse(password, sizeof password);
    return code;
}

static int add(pr_console_t *console, const pr_args_t *args)
{
    json_t *arguments =
        json_pack("{s:s, s:s}", "name", args->positional[0], "role", pr_args_text(args, "role"));
    int code = pr_args_given(args, "no-password") ? (int)PR_EXIT_OK
                                                  : add_hash(args, args->positional[0], arguments);
    if (code != PR_EXIT_OK) {
        json_decref(arguments);
        return code;
    }
    return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_OPERATOR_ADD], arguments, fields,
                        "");
}

static int password(pr_console_t *console, const pr_args_t *args)
{
    json_t *arguments = json_pack("{s:s}", "name", args->positional[0]);
    int code = add_hash(args, args->positional[0], arguments);
    if (code != PR_EXIT_OK) {
        json_decref(arguments);
        return code;
    }
    return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_OPERATOR_PASSWORD], arguments,
                        fields, "");
}

static int change(pr_console_t *console, const pr_args_t *args, int statement)
{
    json_t *arguments = json_pack("{s:s, s:s}", "name", args->positional[0], "reason",
                                  pr_args_text(args, "reason"));
    if (statement == PR_SQL_CONSOLE_OPERATOR_SET) {
        json_object_set_new(arguments, "role", json_string(pr_args_text(args, "role")));
    }
    return pr_door_call(console, &pr_sql_console[statement], arguments, fields, "");
}

static int set(pr_console_t *console, const pr_args_t *args)
{
    return change(console, args, PR_SQL_CONSOLE_OPERATOR_SET);
}

static int disable(pr_console_t *console, const pr_args_t *args)
{
    return change(console, args, PR_SQL_CONSOLE_OPERATOR_DISABLE);
}

static int enable(pr_console_t *console, const pr_args_t *args)
{
    return change(console, args, PR_SQL_CONSOLE_OPERATOR_ENABLE);
}

/* ---- a second factor ---- */

/* The key as the database keeps it, in hex; the caller's. NULL: it was printed why not. */
static char *seal_key(const pr_console_t *console, const char *name,
                      const uint8_t key[PR_TOTP_KEY_BYTES])
{
    pr_master_key_t master;
    char seal_name[65];
    uint8_t nonce[PR_SEAL_NONCE_BYTES];
    pr_error_t error = {0};
    if (pr_cli_master_key(console, &master) != PR_EXIT_OK) {
        return NULL;
    }
    char *text = NULL;
    pr_buffer_t sealed;
    pr_buffer_init(&sealed, PR_TOTP_KEY_BYTES + PR_SEAL_OVERHEAD_BYTES);
    pr_random_bytes(nonce, sizeof nonce);
    if (pr_totp_seal_name(name, seal_name) &&
        pr_seal(&master, seal_name, pr_bytes(key, PR_TOTP_KEY_BYTES), nonce, &sealed, &error) ==
            PR_OK) {
        text = pr_calloc(1, 2 * sealed.len + 1);
        pr_hex(pr_buffer_bytes(&sealed), text);
    } else {
        (void)pr_console_failed("the key cannot be sealed: %s", error.text);
    }
    pr_buffer_free(&sealed);
    pr_master_key_wipe(&master);
    return text;
}

static void print_key(const pr_console_t *console, const char *name,
                      const uint8_t key[PR_TOTP_KEY_BYTES])
{
    char text[PR_TOTP_KEY_TEXT_BYTES];
    pr_totp_key_text(key, text);
    PR_CLEANUP_FREE char *uri =
        pr_asprintf("otpauth://totp/Postrider:%s?secret=%s&issuer=Postrider&digits=%d&period=%d",
                    name, text, PR_TOTP_DIGITS, PR_TOTP_STEP_S);
    if (console->json) {
        pr_console_json(json_pack("{s:s, s:s, s:s}", "name", name, "key", text, "uri", uri));
    } else {
        printf("for %s's authenticator app, shown this once:\n%s\n%s\n", name, text, uri);
    }
    explicit_bzero(uri, strlen(uri));
    OPENSSL_cleanse(text, sizeof text);
}

static int totp(pr_console_t *console, const pr_args_t *args)
{
    const char *name = args->positional[0];
    uint8_t key[PR_TOTP_KEY_BYTES];
    json_t *answer = NULL;
    json_t *arguments =
        json_pack("{s:s, s:s}", "name", name, "reason", pr_args_text(args, "reason"));
    if (pr_args_given(args, "off")) {
        return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_OPERATOR_TOTP], arguments,
                            fields, "");
    }
    pr_random_bytes(key, sizeof key);
    PR_CLEANUP_FREE char *sealed = seal_key(console, name, key);
    if (sealed == NULL) {
        json_decref(arguments);
        return PR_EXIT_FAILED;
    }
    json_object_set_new(arguments, "totp", json_string(sealed));
    int code =
        pr_console_door(console, &pr_sql_console[PR_SQL_CONSOLE_OPERATOR_TOTP], arguments, &answer);
    if (code == PR_EXIT_OK) {
        print_key(console, name, key);
    }
    json_decref(answer);
    OPENSSL_cleanse(key, sizeof key);
    return code;
}

/* ---- tokens ---- */

static int tokens(pr_console_t *console, const pr_args_t *args)
{
    (void)args;
    return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_TOKENS_LIST], json_object(),
                        token_fields, "no tokens");
}

static void make_token(char out[TOKEN_TEXT_MAX])
{
    uint8_t random[TOKEN_BYTES];
    pr_random_bytes(random, sizeof random);
    memcpy(out, TOKEN_PREFIX, sizeof TOKEN_PREFIX);
    pr_hex(pr_bytes(random, sizeof random), out + sizeof TOKEN_PREFIX - 1);
    OPENSSL_cleanse(random, sizeof random);
}

static json_t *token_arguments(const pr_args_t *args, const char *token)
{
    uint8_t hash[PR_SHA256_BYTES];
    char hex[2 * PR_SHA256_BYTES + 1];
    if (!pr_sha256(pr_bytes_text(token), hash)) {
        return NULL;
    }
    pr_hex(pr_bytes(hash, sizeof hash), hex);
    json_t *arguments =
        json_pack("{s:s, s:s, s:s, s:s*}", "operator", args->positional[0], "hash", hex, "label",
                  pr_args_text(args, "label"), "role", pr_args_text(args, "role"));
    const pr_arg_value_t *expires = pr_args_get(args, "expires");
    if (expires->given) {
        char at[PR_CONSOLE_TIME_MAX];
        pr_console_time(pr_clock_wall_us() + expires->integer * 1000, at);
        json_object_set_new(arguments, "expires_at", json_string(at));
    }
    return arguments;
}

static int token(pr_console_t *console, const pr_args_t *args)
{
    char text[TOKEN_TEXT_MAX];
    json_t *answer = NULL;
    make_token(text);
    json_t *arguments = token_arguments(args, text);
    if (arguments == NULL) {
        return pr_console_failed("SHA-256 is not to be had");
    }
    int code =
        pr_console_door(console, &pr_sql_console[PR_SQL_CONSOLE_TOKEN_CREATE], arguments, &answer);
    if (code == PR_EXIT_OK && console->json) {
        json_object_set_new(answer, "token", json_string(text));
        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (code == PR_EXIT_OK) {
        printf("token %" JSON_INTEGER_FORMAT ", shown this once:\n%s\n",
               json_integer_value(json_object_get(answer, "token_id")), text);
    }
    json_decref(answer);
    OPENSSL_cleanse(text, sizeof text);
    return code;
}

static int revoke(pr_console_t *console, const pr_args_t *args)
{
    static const char *const revoked[] = {"token_id", NULL};
    int64_t id = 0;
    int code = pr_console_id(args->positional[0], "token", &id);
    if (code != PR_EXIT_OK) {
        return code;
    }
    return pr_door_call(
        console, &pr_sql_console[PR_SQL_CONSOLE_TOKEN_REVOKE],
        json_pack("{s:I, s:s}", "token_id", (json_int_t)id, "reason", pr_args_text(args, "reason")),
        revoked, "");
}

/* ---- the commands ---- */

static int need(const pr_args_t *args, const char *option)
{
    const char *text = pr_args_text(args, option);
    return text != NULL && text[0] != '\0' ? (int)PR_EXIT_OK
                                           : pr_console_usage("--%s is needed", option);
}

static int operator_list(const pr_args_t *args)
{
    return pr_console_with(args, list);
}

static int operator_add(const pr_args_t *args)
{
    int code = need(args, "role");
    return code == PR_EXIT_OK ? pr_console_with(args, add) : code;
}

static int operator_password(const pr_args_t *args)
{
    return pr_console_with(args, password);
}

static int operator_set(const pr_args_t *args)
{
    int code = need(args, "role");
    if (code == PR_EXIT_OK) {
        code = need(args, "reason");
    }
    return code == PR_EXIT_OK ? pr_console_with(args, set) : code;
}

static int operator_disable(const pr_args_t *args)
{
    int code = need(args, "reason");
    return code == PR_EXIT_OK ? pr_console_with(args, disable) : code;
}

static int operator_enable(const pr_args_t *args)
{
    int code = need(args, "reason");
    return code == PR_EXIT_OK ? pr_console_with(args, enable) : code;
}

static int operator_totp(const pr_args_t *args)
{
    int code = need(args, "reason");
    return code == PR_EXIT_OK ? pr_console_with(args, totp) : code;
}

static int operator_tokens(const pr_args_t *args)
{
    return pr_console_with(args, tokens);
}

static int operator_token(const pr_args_t *args)
{
    int code = need(args, "label");
    return code == PR_EXIT_OK ? pr_console_with(args, token) : code;
}

static int operator_revoke_token(const pr_args_t *args)
{
    int code = need(args, "reason");
    return code == PR_EXIT_OK ? pr_console_with(args, revoke) : code;
}

int pr_operator_main(int argc, char **argv)
{
    static const pr_arg_spec_t list_spec = {"operator list", "Who may do what.", NULL, 0, 0};
    static const pr_arg_spec_t add_spec = {
        "operator add NAME --role ROLE [--password-file FILE | --no-password]",
        "Adds an operator. From the first one on, only operators act, each as far as his role goes.",
        add_options, 1, 1};
    static const pr_arg_spec_t set_spec = {"operator set NAME --role ROLE --reason TEXT",
                                           "Gives an operator another role.", set_options, 1, 1};
    static const pr_arg_spec_t password_spec = {"operator password NAME [--password-file FILE]",
                                                "A new password; his sessions elsewhere end.",
                                                password_options, 1, 1};
    static const pr_arg_spec_t totp_spec = {
        "operator totp NAME --reason TEXT [--off]",
        "A second factor for the console's log-in: the key for an app that shows codes (RFC 6238), "
        "printed this once. His sessions end.",
        totp_options, 1, 1};
    static const pr_arg_spec_t disable_spec = {"operator disable NAME --reason TEXT",
                                               "Locks an operator out, at once.", reason_options, 1,
                                               1};
    static const pr_arg_spec_t enable_spec = {"operator enable NAME --reason TEXT",
                                              "Lets an operator in again.", reason_options, 1, 1};
    static const pr_arg_spec_t tokens_spec = {"operator tokens", "Tokens of programs.", NULL, 0, 0};
    static const pr_arg_spec_t token_spec = {
        "operator token NAME --label TEXT [--role ROLE] [--expires D]",
        "Makes a token for a program that acts as this operator; shown this once.", token_options,
        1, 1};
    static const pr_arg_spec_t revoke_spec = {"operator revoke-token TOKEN_ID --reason TEXT",
                                              "The token counts no more.", reason_options, 1, 1};
    static const pr_subcommand_t table[] = {{"list", &list_spec, operator_list},
                                            {"add", &add_spec, operator_add},
                                            {"set", &set_spec, operator_set},
                                            {"password", &password_spec, operator_password},
                                            {"totp", &totp_spec, operator_totp},
                                            {"disable", &disable_spec, operator_disable},
                                            {"enable", &enable_spec, operator_enable},
                                            {"tokens", &tokens_spec, operator_tokens},
                                            {"token", &token_spec, operator_token},
                                            {"revoke-token", &revoke_spec, operator_revoke_token},
                                            {NULL, NULL, NULL}};
    return pr_args_group("operator", table, argc, argv);
}
