/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of an endpoint as options of `merchant add` and `merchant set`, and as the JSON
 * object that the database takes (endpoint_patch in
 * sql/migrations/0006_create_operator_functions.sql).
 */
#ifndef PR_CLI_MERCHANT_SETTINGS_H
#define PR_CLI_MERCHANT_SETTINGS_H

#include "cli/args.h"

#include <jansson.h>

/* clang-format off */
/* The rows of an option table. */
#define PR_ENDPOINT_OPTIONS \
    {"events", PR_ARG_TEXT, "LIST", "which events, comma separated: payment.succeeded, payment.*, *", 0, 0}, \
    {"scheme", PR_ARG_CHOICE, "postrider|ed25519|form-md5|form-hmac", "how requests are signed", 0, 0}, \
    {"success", PR_ARG_TEXT, "RULE", "default | 2xx | body:TEXT | json:FIELD=VALUE", 0, 0}, \
    {"retry", PR_ARG_TEXT, "SPEC", "list:5s,30s | fixed:5s*5 | linear:5s*3 | exponential:1s..6h*10 | exponential-jitter:1s..6h*10; \"\" = the configuration's", 0, 0}, \
    {"max-age", PR_ARG_TEXT, "D", "a delivery older than this dies: 72h; \"\" = the configuration's", 0, 0}, \
    {"concurrency", PR_ARG_TEXT, "N", "requests in flight at most, 1 to 1000; \"\" = the configuration's", 0, 0}, \
    {"rate", PR_ARG_TEXT, "R", "requests per second at most; \"\" = no limit", 0, 0}, \
    {"header", PR_ARG_REPEATED, "NAME:VALUE", "a header of your own, as often as needed (all of them are replaced)", 0, 0}, \
    {"no-headers", PR_ARG_FLAG, NULL, "no headers of your own", 0, 0}, \
    {"tls-ca", PR_ARG_TEXT, "FILE", "PEM of a private CA to trust, at most 64 KiB; \"\" = the system's", 0, 0}, \
    {"egress", PR_ARG_TEXT, "E", "socks5h://..., http://... proxy or address:IP; \"\" = the lane's", 0, 0}, \
    {"http2", PR_ARG_FLAG, NULL, "offer HTTP/2", 0, 0}, \
    {"no-http2", PR_ARG_FLAG, NULL, "HTTP/1.1 only", 0, 0}, \
    {"supersede", PR_ARG_FLAG, NULL, "a newer version of an order cancels older ones that still wait", 0, 0}, \
    {"no-supersede", PR_ARG_FLAG, NULL, "every version is sent (the default)", 0, 0}
/* clang-format on */

/* Gives *settings, an object of what was given ({} when nothing was). Prints what is wrong; returns
 * an exit code. */
PR_CHECK int pr_endpoint_settings(const pr_args_t *args, json_t **settings);
/* tls_ca of a PEM file, checked; path "" = null. */
PR_CHECK int pr_cli_put_ca(json_t *settings, const char *path);

#endif
