/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/merchant_secret.h"

#include "base/clock.h"
#include "cli/command.h"
#include "sign/secret.h"

#include <openssl/crypto.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX PR_CLI_SECRET_FILE_MAX

bool pr_cli_secret_read(const char *path, char out[FILE_MAX], size_t *len)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
    if (file == NULL) {
        return false;
    }
    *len = fread(out, 1, FILE_MAX, file);
    bool good = ferror(file) == 0 && *len < FILE_MAX;
    if (file != stdin) {
        fclose(file);
    }
    while (good && *len > 0 && strchr(" \t\r\n", out[*len - 1]) != NULL) {
        (*len)--;
    }
    if (good) {
        out[*len] = '\0';
    }
    return good;
}

int pr_cli_master_key(const pr_console_t *console, pr_master_key_t *key)
{
    const char *path = pr_config_text(console->config, "master_key_file");
    if (path[0] == '\0') {
        return pr_console_usage("no master key: set POSTRIDER_MASTER_KEY_FILE to a file with 64 "
                                "hex digits (`openssl rand -hex 32`)");
    }
    char text[FILE_MAX];
    size_t len = 0;
    pr_error_t error;
    int code = PR_EXIT_OK;
    if (!pr_cli_secret_read(path, text, &len)) {
        code = pr_console_failed("the master key %s cannot be read", path);
    } else if (pr_master_key_parse(pr_bytes(text, len), 1, key, &error) != PR_OK) {
        code = pr_console_failed("the master key %s: %s", path, error.text);
    }
    OPENSSL_cleanse(text, sizeof text);
    return code;
}

static int read_secret(const char *path, pr_secret_t *secret)
{
    char text[FILE_MAX];
    size_t len = 0;
    pr_error_t error;
    int code = PR_EXIT_OK;
    if (!pr_cli_secret_read(path, text, &len)) {
        code = pr_console_usage("--secret: %s cannot be read", path);
    } else if (pr_secret_parse(pr_bytes(text, len), secret, &error) != PR_OK) {
        code = pr_console_usage("--secret: %s: %s", path, error.text);
    }
    OPENSSL_cleanse(text, sizeof text);
    return code;
}

static void make_secret(bool ed25519, pr_secret_t *secret)
{
    uint8_t random[32];
    pr_random_bytes(random, sizeof random);
    if (ed25519) {
        pr_secret_make_ed25519(random, secret);
    } else {
        pr_secret_make_symmetric(random, secret);
    }
    OPENSSL_cleanse(random, sizeof random);
}

static int seal(const pr_console_t *console, const char *merchant_id, const pr_secret_t *secret,
                pr_buffer_t *out)
{
    pr_master_key_t key;
    int code = pr_cli_master_key(console, &key);
    if (code != PR_EXIT_OK) {
        return code;
    }
    uint8_t nonce[PR_SEAL_NONCE_BYTES];
    pr_random_bytes(nonce, sizeof nonce);
    pr_error_t error;
    if (pr_seal(&key, merchant_id, pr_bytes(secret->text, strlen(secret->text)), nonce, out,
                &error) != PR_OK) {
        code = pr_console_usage("the secret cannot be sealed: %s", error.text);
    }
    pr_master_key_wipe(&key);
    return code;
}

int pr_cli_secret_get(pr_cli_secret_t *out, const pr_console_t *console, const char *merchant_id,
                      const char *scheme, const char *file)
{
    memset(out, 0, sizeof *out);
    pr_buffer_init(&out->sealed, PR_SEAL_PLAIN_MAX_BYTES + PR_SEAL_OVERHEAD_BYTES);
    bool ed25519 = strcmp(scheme, "ed25519") == 0;
    pr_secret_t secret;
    memset(&secret, 0, sizeof secret);
    int code = PR_EXIT_OK;
    if (file != NULL) {
        code = read_secret(file, &secret);
    } else {
        make_secret(ed25519, &secret);
        out->made = true;
    }
    if (code == PR_EXIT_OK && (secret.kind == PR_SECRET_ED25519_PRIVATE) != ed25519) {
        code = pr_console_usage("--secret: scheme %s needs %s", scheme,
                                ed25519 ? "an ed25519 private key, whsk_BASE64"
                                        : "an HMAC key, whsec_BASE64 or 16 to 128 characters");
    }
    if (code == PR_EXIT_OK) {
        code = seal(console, merchant_id, &secret, &out->sealed);
    }
    if (code == PR_EXIT_OK) {
        out->is_public = ed25519;
        if (ed25519) {
            pr_secret_public_text(&secret, out->shown);
        } else if (out->made) {
            memcpy(out->shown, secret.text, sizeof secret.text);
        }
    }
    pr_secret_wipe(&secret);
    return code;
}

void pr_cli_secret_wipe(pr_cli_secret_t *self)
{
    OPENSSL_cleanse(self->shown, sizeof self->shown);
    pr_buffer_free(&self->sealed);
}
