/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/channel_parameters.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "channel/channel_store.h"
#include "cli/command.h"
#include "sql/cli.h"

#include <openssl/crypto.h>

#include <stdio.h>
#include <string.h>

static int add(pr_cli_parameters_t *self, const char *name, size_t name_len, pr_bytes_t value,
               bool given)
{
    if (self->count == PR_CLI_PARAMETERS_MAX || name_len == 0 ||
        name_len >= PR_CLI_PARAMETER_NAME_MAX) {
        return pr_console_usage("a parameter has a name of 1 to %d letters, and there are %d at "
                                "most",
                                PR_CLI_PARAMETER_NAME_MAX - 1, PR_CLI_PARAMETERS_MAX);
    }
    memcpy(self->items[self->count].name, name, name_len);
    self->items[self->count].name[name_len] = '\0';
    self->items[self->count].given = given;
    pr_buffer_t *room = &self->items[self->count++].value;
    pr_buffer_init(room, PR_SEAL_PLAIN_MAX_BYTES);
    if (pr_buffer_append(room, value.data, value.len) != PR_OK) {
        return pr_console_usage("parameter %.*s is longer than %d bytes", (int)name_len, name,
                                PR_SEAL_PLAIN_MAX_BYTES);
    }
    return PR_EXIT_OK;
}

static int add_word(pr_cli_parameters_t *self, const char *word, bool file)
{
    size_t name_len = strcspn(word, "=");
    if (word[name_len] == '\0') { /* not said back: it may be the value alone */
        return pr_console_usage("--%s takes NAME=%s", file ? "param-file" : "param",
                                file ? "FILE" : "VALUE");
    }
    const char *rest = word + name_len + 1;
    if (!file) {
        return add(self, word, name_len, pr_bytes_text(rest), true);
    }
    char text[PR_CLI_SECRET_FILE_MAX];
    size_t len = 0;
    int code = PR_EXIT_OK;
    if (!pr_cli_secret_read(rest, text, &len)) {
        code = pr_console_usage("--param-file: %s cannot be read, or is longer than %d bytes", rest,
                                PR_CLI_SECRET_FILE_MAX - 1);
    } else {
        code = add(self, word, name_len, pr_bytes(text, len), true);
    }
    OPENSSL_cleanse(text, sizeof text);
    return code;
}

int pr_cli_parameters_given(pr_cli_parameters_t *self, const pr_args_t *args)
{
    memset(self, 0, sizeof *self);
    int code = PR_EXIT_OK;
    static const char *const options[] = {"param", "param-file"};
    for (int o = 0; o < 2; o++) {
        const pr_arg_value_t *words = pr_args_get(args, options[o]);
        for (int i = 0; i < words->count && code == PR_EXIT_OK; i++) {
            code = add_word(self, words->items[i], o == 1);
        }
    }
    return code;
}

static bool is_given(const pr_cli_parameters_t *self, const char *name)
{
    for (int i = 0; i < self->count; i++) {
        if (self->items[i].given && strcmp(self->items[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_in(const char *const *list, const char *name)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strcmp(*list, name) == 0) {
            return true;
        }
    }
    return false;
}

/* One of {"name", "position", "sealed": hex}. */
static int keep(pr_cli_parameters_t *self, const pr_master_key_t *key, const char *channel,
                const json_t *one)
{
    const char *name = json_string_value(json_object_get(one, "name"));
    const json_t *hex = json_object_get(one, "sealed");
    size_t len = json_string_length(hex);
    PR_CLEANUP_FREE char *owner = pr_asprintf(PR_CHANNEL_SEAL_PREFIX "%s", channel);
    PR_CLEANUP_FREE uint8_t *sealed = pr_calloc(len / 2 + 1, 1);
    pr_buffer_t plain;
    pr_error_t error;
    pr_buffer_init(&plain, PR_SEAL_PLAIN_MAX_BYTES);
    int code = PR_EXIT_OK;
    if (!pr_unhex(json_string_value(hex), len, sealed) ||
        pr_unseal(key, owner, pr_bytes(sealed, len / 2), &plain, &error) != PR_OK) {
        code = pr_console_failed("parameter %s of channel %s does not open with this master key",
                                 name, channel);
    } else {
        code = add(self, name, strlen(name), pr_buffer_bytes(&plain), false);
    }
    if (plain.data != NULL) {
        OPENSSL_cleanse(plain.data, plain.room);
    }
    pr_buffer_free(&plain);
    return code;
}

int pr_cli_parameters_kept(pr_cli_parameters_t *self, pr_console_t *console,
                           const pr_master_key_t *key, const char *channel,
                           const char *const *removed, char **tls_ca)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_add_text(console->params, channel);
    int code = pr_console_query(console, PR_SQL_CLI_CHANNEL_PARAMETERS, &rows);
    if (code != PR_EXIT_OK || pr_rows_count(rows) == 0) {
        return code;
    }
    if (tls_ca != NULL && !pr_rows_null(rows, 0, 2)) {
        *tls_ca = pr_strdup(pr_rows_text(rows, 0, 2));
    }
    json_t *kept = pr_rows_null(rows, 0, 3) ? NULL : json_loads(pr_rows_text(rows, 0, 3), 0, NULL);
    for (size_t i = 0; i < json_array_size(kept) && code == PR_EXIT_OK; i++) {
        const json_t *one = json_array_get(kept, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        if (!is_given(self, name) && !is_in(removed, name)) {
            code = keep(self, key, channel, one);
        }
    }
    json_decref(kept);
    return code;
}

int pr_cli_parameters_open(const pr_cli_parameters_t *self, const pr_profile_t *profile,
                           pr_channel_t **out)
{
    pr_parameter_t parameters[PR_CLI_PARAMETERS_MAX];
    pr_error_t error;
    for (int i = 0; i < self->count; i++) {
        parameters[i] = (pr_parameter_t){.name = self->items[i].name,
                                         .value = pr_buffer_bytes(&self->items[i].value)};
    }
    if (pr_channel_new(profile, parameters, (size_t)self->count, NULL, out, &error) != PR_OK) {
        return pr_console_usage("%s; `postrider channel check-profile` lists what the profile "
                                "takes",
                                error.text);
    }
    return PR_EXIT_OK;
}

/* The how-manieth of its name, from 1. */
static int position_of(const pr_cli_parameters_t *self, int index)
{
    int position = 1;
    for (int i = 0; i < index; i++) {
        position += strcmp(self->items[i].name, self->items[index].name) == 0;
    }
    return position;
}

int pr_cli_parameters_seal(const pr_cli_parameters_t *self, const pr_master_key_t *key,
                           const char *channel, json_t *array)
{
    PR_CLEANUP_FREE char *owner = pr_asprintf(PR_CHANNEL_SEAL_PREFIX "%s", channel);
    int code = PR_EXIT_OK;
    for (int i = 0; i < self->count && code == PR_EXIT_OK; i++) {
        uint8_t nonce[PR_SEAL_NONCE_BYTES];
        pr_buffer_t sealed;
        pr_error_t error;
        if (!self->items[i].given) {
            continue;
        }
        pr_random_bytes(nonce, sizeof nonce);
        pr_buffer_init(&sealed, PR_SEAL_PLAIN_MAX_BYTES + PR_SEAL_OVERHEAD_BYTES);
        if (pr_seal(key, owner, pr_buffer_bytes(&self->items[i].value), nonce, &sealed, &error) !=
            PR_OK) {
            code = pr_console_usage("parameter %s cannot be sealed: %s", self->items[i].name,
                                    error.text);
        } else {
            PR_CLEANUP_FREE char *hex = pr_calloc(sealed.len * 2 + 1, 1);
            pr_hex(pr_buffer_bytes(&sealed), hex);
            json_array_append_new(array,
                                  json_pack("{s:s, s:i, s:s}", "name", self->items[i].name,
                                            "position", position_of(self, i), "sealed", hex));
        }
        pr_buffer_free(&sealed);
    }
    return code;
}

void pr_cli_parameters_wipe(pr_cli_parameters_t *self)
{
    for (int i = 0; i < self->count; i++) {
        pr_buffer_t *value = &self->items[i].value;
        if (value->data != NULL) {
            OPENSSL_cleanse(value->data, value->room);
        }
        pr_buffer_free(value);
    }
    self->count = 0;
}
