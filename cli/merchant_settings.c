/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/merchant_settings.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/duration.h"
#include "cli/command.h"
#include "cli/console.h"
#include "core/egress.h"
#include "core/email.h"
#include "core/headers.h"
#include "core/judge.h"
#include "core/retry.h"
#include "core/url.h"
#include "wire/envelope.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_text(json_t *settings, const char *key, const char *text)
{
    json_object_set_new(settings, key, text[0] != '\0' ? json_string(text) : json_null());
}

static void put_events(json_t *settings, const char *text)
{
    json_t *list = json_array();
    while (text[0] != '\0') {
        text += strspn(text, ", ");
        size_t len = strcspn(text, ", ");
        if (len > 0) {
            json_array_append_new(list, json_stringn(text, len));
        }
        text += len;
    }
    json_object_set_new(settings, "events", list);
}

static int put_headers(json_t *settings, const pr_arg_value_t *headers)
{
    _Static_assert(PR_ARGS_ITEMS_MAX - 1 == PR_WIRE_HEADERS_MAX, "as many as the bus carries");
    json_t *object = json_object();
    json_object_set_new(settings, "headers", object);
    for (int i = 0; i < headers->count; i++) {
        const char *colon = strchr(headers->items[i], ':');
        if (colon == NULL || colon == headers->items[i]) {
            return pr_console_usage("--header: \"%s\" is not NAME:VALUE", headers->items[i]);
        }
        PR_CLEANUP_FREE char *name =
            pr_strndup(headers->items[i], (size_t)(colon - headers->items[i]));
        const char *value = colon + 1 + strspn(colon + 1, " \t");
        /* Dropped by the notifier: whoever sets it shall learn now that it will never go out. */
        if (!pr_header_allowed(name, value)) {
            return pr_console_usage("--header: \"%s\" cannot be sent: a name of Postrider's own or "
                                    "of the connection, not a token, or control characters",
                                    name);
        }
        if (json_object_set_new(object, name, json_string(value)) != 0) {
            return pr_console_usage("--header: \"%s\" is not UTF-8", name);
        }
    }
    return PR_EXIT_OK;
}

/* One certificate or more, and each can be parsed: libcurl takes all of a file or nothing. */
static bool is_ca(const char *text, size_t len)
{
    BIO *bio = BIO_new_mem_buf(text, (int)len);
    pr_assert(bio);
    ERR_clear_error();
    int count = 0;
    for (X509 *one; (one = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL; count++) {
        X509_free(one);
    }
    /* at the end of the file there is no further first line; anything else is a bad certificate */
    bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    BIO_free(bio);
    return count > 0 && at_end;
}

int pr_cli_put_ca(json_t *settings, const char *path)
{
    if (path[0] == '\0') {
        json_object_set_new(settings, "tls_ca", json_null());
        return PR_EXIT_OK;
    }
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return pr_console_usage("--tls-ca: %s cannot be read", path);
    }
    PR_CLEANUP_FREE char *text = pr_calloc(PR_WIRE_TLS_CA_MAX + 1, 1);
    size_t len = fread(text, 1, PR_WIRE_TLS_CA_MAX + 1, file);
    fclose(file);
    if (len > PR_WIRE_TLS_CA_MAX) {
        return pr_console_usage("--tls-ca: %s is larger than %u KiB: leave in it only the "
                                "authorities that signed the certificate there",
                                path, PR_WIRE_TLS_CA_MAX / 1024);
    }
    if (!is_ca(text, len)) {
        return pr_console_usage("--tls-ca: %s is not a PEM file of certificates, or one of them "
                                "cannot be read",
                                path);
    }
    if (memchr(text, 0, len) != NULL ||
        json_object_set_new(settings, "tls_ca", json_stringn(text, len)) != 0) {
        return pr_console_usage("--tls-ca: %s is not UTF-8", path);
    }
    return PR_EXIT_OK;
}

static int put_number(json_t *settings, const char *key, const char *option, const char *text,
                      bool whole)
{
    if (text[0] == '\0') {
        json_object_set_new(settings, key, json_null());
        return PR_EXIT_OK;
    }
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || *end != '\0' || !isfinite(value) || value <= 0 || value > 1e9 ||
        (whole && value != floor(value))) {
        return pr_console_usage("--%s: \"%s\" is not a %s number above 0", option, text,
                                whole ? "whole" : "finite");
    }
    json_object_set_new(settings, key, whole ? json_integer((json_int_t)value) : json_real(value));
    return PR_EXIT_OK;
}

/* Below this an endpoint would get less than one try in a quarter of an hour: a slip of the pen. */
#define RATE_MIN 0.001

static int put_rate(json_t *settings, const char *text)
{
    int code = put_number(settings, "rate_per_s", "rate", text, false);
    json_t *rate = json_object_get(settings, "rate_per_s");
    if (code == PR_EXIT_OK && json_is_real(rate) && json_real_value(rate) < RATE_MIN) {
        return pr_console_usage("--rate: \"%s\" is below %g a second", text, RATE_MIN);
    }
    return code;
}

static int put_max_age(json_t *settings, const char *text)
{
    int64_t ms = 0;
    if (text[0] != '\0' && (!pr_duration_parse(text, strlen(text), &ms) || ms < 1)) {
        return pr_console_usage("--max-age: \"%s\" is not a duration such as 12h or 3d", text);
    }
    json_object_set_new(settings, "max_age_ms", text[0] != '\0' ? json_integer(ms) : json_null());
    return PR_EXIT_OK;
}

/* The rules that C and SQL share are checked here too: here the message tells what is wrong. */
static int check_rules(const pr_args_t *args)
{
    pr_error_t error;
    const char *retry = pr_args_text(args, "retry");
    pr_retry_policy_t policy;
    if (retry != NULL && retry[0] != '\0' && pr_retry_parse(retry, &policy, &error) != PR_OK) {
        return pr_console_usage("--retry: %s", error.text);
    }
    const char *success = pr_args_text(args, "success");
    pr_rule_t rule;
    if (success != NULL && pr_rule_parse(success, &rule, &error) != PR_OK) {
        return pr_console_usage("--success: %s", error.text);
    }
    const char *url = pr_args_text(args, "url");
    pr_url_t parsed;
    if (url != NULL && pr_url_parse(url, &parsed, &error) != PR_OK) {
        return pr_console_usage("--url: not a URL that can be called: %s", error.text);
    }
    const char *email = pr_args_text(args, "email");
    if (email != NULL && !pr_email_ok(email)) {
        return pr_console_usage("--email: not NAME@HOST of at most %d printable bytes",
                                PR_EMAIL_MAX_BYTES);
    }
    const char *egress = pr_args_text(args, "egress");
    if (egress != NULL && !pr_egress_ok(egress)) {
        return pr_console_usage(
            "--egress: not http://[USER:WORD@]HOST:PORT, https://..., socks5://..., "
            "socks5h://..., address:IP or interface:NAME");
    }
    if (pr_args_given(args, "http2") && pr_args_given(args, "no-http2")) {
        return pr_console_usage("--http2 and --no-http2 exclude each other");
    }
    if (pr_args_given(args, "supersede") && pr_args_given(args, "no-supersede")) {
        return pr_console_usage("--supersede and --no-supersede exclude each other");
    }
    if (pr_args_given(args, "header") && pr_args_given(args, "no-headers")) {
        return pr_console_usage("--header and --no-headers exclude each other");
    }
    return PR_EXIT_OK;
}

static int put_limits(const pr_args_t *args, json_t *settings)
{
    int code = PR_EXIT_OK;
    if (pr_args_given(args, "max-age")) {
        code = put_max_age(settings, pr_args_text(args, "max-age"));
    }
    if (code == PR_EXIT_OK && pr_args_given(args, "concurrency")) {
        code = put_number(settings, "concurrency", "concurrency", pr_args_text(args, "concurrency"),
                          true);
    }
    if (code == PR_EXIT_OK && pr_args_given(args, "rate")) {
        code = put_rate(settings, pr_args_text(args, "rate"));
    }
    if (code == PR_EXIT_OK && pr_args_given(args, "tls-ca")) {
        code = pr_cli_put_ca(settings, pr_args_text(args, "tls-ca"));
    }
    if (code == PR_EXIT_OK &&
        (pr_args_given(args, "header") || pr_args_given(args, "no-headers"))) {
        code = put_headers(settings, pr_args_get(args, "header"));
    }
    return code;
}

static void put_plain(const pr_args_t *args, json_t *settings)
{
    if (pr_args_given(args, "events")) {
        put_events(settings, pr_args_text(args, "events"));
    }
    if (pr_args_given(args, "scheme")) {
        put_text(settings, "scheme", pr_args_text(args, "scheme"));
    }
    if (pr_args_given(args, "success")) {
        put_text(settings, "success_rule", pr_args_text(args, "success"));
    }
    if (pr_args_given(args, "retry")) {
        json_object_set_new(settings, "retry", json_string(pr_args_text(args, "retry")));
    }
    if (pr_args_given(args, "egress")) {
        put_text(settings, "egress", pr_args_text(args, "egress"));
    }
    if (pr_args_given(args, "http2") || pr_args_given(args, "no-http2")) {
        json_object_set_new(settings, "http2", json_boolean(pr_args_given(args, "http2")));
    }
    if (pr_args_given(args, "supersede") || pr_args_given(args, "no-supersede")) {
        json_object_set_new(settings, "supersede", json_boolean(pr_args_given(args, "supersede")));
    }
}

int pr_endpoint_settings(const pr_args_t *args, json_t **settings)
{
    *settings = NULL;
    int code = check_rules(args);
    if (code != PR_EXIT_OK) {
        return code;
    }
    json_t *object = json_object();
    put_plain(args, object);
    code = put_limits(args, object);
    if (code != PR_EXIT_OK) {
        json_decref(object);
        return code;
    }
    *settings = object;
    return PR_EXIT_OK;
}
