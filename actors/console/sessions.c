/* SPDX-License-Identifier: Apache-2.0
 *
 * Who asks. A person has a session: a cookie of randomness, whose SHA-256 the database knows, and
 * beside it a CSRF token, made of the cookie's value by HMAC, that a page of another site cannot
 * know. A program has a bearer token of its own. Each request asks the database anew, so a session
 * that ended, and an operator who was disabled, are out at once.
 *
 * A log-in always makes a new session and ends the one that came along, so nobody can be given a
 * session that another knows. How long a refusal takes does not tell whether the name exists.
 */
#include "actors/console/console_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/json_scan.h"
#include "base/log.h"
#include "password/password.h"
#include "sql/console.h"
#include "wire/limits.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define CSRF_HEADER "X-CSRF-Token"
#define TOKEN_PREFIX "pr_op_"
#define CSRF_BYTES 65

static bool hash_text(const char *text, uint8_t out[PR_SHA256_BYTES])
{
    return pr_sha256(pr_bytes_text(text), out);
}

/* What the pages of a session send with what they do. */
static bool csrf_of(const char *token, char out[CSRF_BYTES])
{
    uint8_t mac[PR_SHA256_BYTES];
    const pr_bytes_t part = pr_bytes_text("postrider csrf 1");
    if (!pr_hmac_sha256(pr_bytes_text(token), &part, 1, mac))
        return false;
    pr_hex(pr_bytes(mac, sizeof mac), out);
    return true;
}

static bool csrf_good(const console_call_t *call)
{
    char wanted[CSRF_BYTES];
    const char *said = pr_httpd_header(call->http, CSRF_HEADER);
    return said && csrf_of(call->token, wanted) &&
           pr_same_bytes(pr_bytes_text(said), pr_bytes_text(wanted));
}

static void write_time(int64_t us, char out[40])
{
    struct tm parts;
    time_t seconds = (time_t)(us / 1000000);
    gmtime_r(&seconds, &parts);
    strftime(out, 40, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* ---- whose request it is ---- */

static void refuse_unknown(console_call_t *call)
{
    console_reply_problem(call, 401, "not_logged_in", "Log in first.", 0);
}

static void deny(console_call_t *call, const char *code, const char *detail)
{
    call->console->denied++;
    pr_log_info("console.denied", "operator=%s code=%s route=%s", call->person.name, code,
                call->route->route.pattern);
    console_reply_problem(call, 403, code, detail, 0);
}

static void judge(console_call_t *call)
{
    bool writes = strcmp(call->route->route.method, "POST") == 0;
    pr_console_role_t needed = call->route->role;
    needed = needed == PR_CONSOLE_NOBODY ? PR_CONSOLE_VIEWER : needed;
    if (call->person.role < needed)
        deny(call, "not_allowed", "That is for another role.");
    else if (writes && !call->person.by_token && !csrf_good(call))
        deny(call, "csrf", "The request does not come from a page of this session.");
    else
        console_admitted(call);
}

/* operator, role; then expires_at of a session, or token_id */
static void on_person(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    console_call_t *call = arg;
    if (rc != PR_OK) {
        console_reply_error(call, rc, error);
        return;
    }
    if (pr_rows_count(rows) == 0) {
        refuse_unknown(call);
        return;
    }
    snprintf(call->person.name, sizeof call->person.name, "%s", pr_rows_text(rows, 0, 0));
    snprintf(call->person.role_name, sizeof call->person.role_name, "%s", pr_rows_text(rows, 0, 1));
    call->person.role = pr_console_role(call->person.role_name);
    if (!call->person.by_token)
        write_time(pr_rows_time_us(rows, 0, 2), call->person.expires_at);
    judge(call);
}

static void ask(console_call_t *call, int statement, const char *token)
{
    uint8_t hash[PR_SHA256_BYTES];
    pr_params_t *params = pr_pool_params(call->console->pool);
    if (!hash_text(token, hash)) {
        console_reply_problem(call, 500, "internal", "", 0);
        return;
    }
    pr_params_add_bytes(params, pr_bytes(hash, sizeof hash));
    if (pr_pool_query(call->console->pool, statement, on_person, call) != PR_OK)
        console_reply_error(call, PR_AGAIN, NULL);
}

static bool bearer_ok(const char *token)
{
    size_t len = strlen(token), prefix = sizeof TOKEN_PREFIX - 1;
    return len == prefix + 64 && strncmp(token, TOKEN_PREFIX, prefix) == 0 &&
           strspn(token + prefix, "0123456789abcdef") == 64;
}

void console_admit(console_call_t *call)
{
    static const char scheme[] = "Bearer ";
    const char *said = pr_httpd_header(call->http, "Authorization");
    bool secure = call->console->secure;
    if (said) {
        bool bearer = strncasecmp(said, scheme, sizeof scheme - 1) == 0;
        call->person.by_token = true;
        if (bearer && bearer_ok(said + sizeof scheme - 1))
            ask(call, PR_SQL_CONSOLE_TOKEN_CHECK, said + sizeof scheme - 1);
        else
            refuse_unknown(call);
    } else if (pr_cookie_find(pr_httpd_header(call->http, "Cookie"), secure, call->token)) {
        ask(call, PR_SQL_CONSOLE_SESSION_CHECK, call->token);
    } else {
        refuse_unknown(call);
    }
}

/* ---- what a page is told of its session ---- */

static void reply_session(console_call_t *call, const char *token, const char *cookie)
{
    char csrf[CSRF_BYTES] = "";
    pr_httpd_reply_t reply = {.status = 200, .content_type = "application/json"};
    if (token[0] != '\0' && !csrf_of(token, csrf)) {
        console_reply_problem(call, 500, "internal", "", 0);
        return;
    }
    /* names and roles need no escaping: their form is the database's */
    PR_CLEANUP_FREE char *body = pr_asprintf(
        "{\"operator\":\"%s\",\"role\":\"%s\",\"csrf\":\"%s\",\"expires_at\":\"%s\",\"idle_s\":%lld}",
        call->person.name, call->person.role_name, csrf, call->person.expires_at,
        (long long)call->console->idle_s);
    reply.body = pr_bytes_text(body);
    if (cookie)
        reply.headers[reply.header_count++] = (pr_header_t){"Set-Cookie", cookie};
    console_reply(call, &reply);
    explicit_bzero(csrf, sizeof csrf);
}

void console_session(console_call_t *call)
{
    reply_session(call, call->token, NULL);
}

/* ---- logging out ---- */

static void on_ended(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)rows;
    console_call_t *call = arg;
    char cookie[PR_SESSION_COOKIE_BYTES];
    if (rc != PR_OK) {
        console_reply_error(call, rc, error);
        return;
    }
    pr_cookie_write("", call->console->secure, cookie);
    console_reply(call, &(pr_httpd_reply_t){.status = 200,
                                            .content_type = "application/json",
                                            .body = pr_bytes_text("{\"ok\":true}"),
                                            .header_count = 2,
                                            .headers = {{"Set-Cookie", cookie},
                                                        {"Clear-Site-Data", "\"storage\""}}});
}

void console_logout(console_call_t *call)
{
    uint8_t hash[PR_SHA256_BYTES];
    pr_params_t *params = pr_pool_params(call->console->pool);
    if (call->person.by_token || !hash_text(call->token, hash)) {
        console_reply_problem(call, 400, "no_session", "A token has no session to end.", 0);
        return;
    }
    pr_params_add_bytes(params, pr_bytes(hash, sizeof hash));
    if (pr_pool_query(call->console->pool, PR_SQL_CONSOLE_SESSION_END, on_ended, call) != PR_OK)
        console_reply_error(call, PR_AGAIN, NULL);
}

/* ---- logging in ---- */

static void reply_opened(console_call_t *call)
{
    char cookie[PR_SESSION_COOKIE_BYTES];
    pr_cookie_write(call->fresh, call->console->secure, cookie);
    reply_session(call, call->fresh, cookie);
}

/* ended */
static void on_former_ended(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)rows;
    if (rc == PR_OK)
        reply_opened(arg);
    else
        console_reply_error(arg, rc, error);
}

/* The session that came with the log-in, whoever's it was, ends before the new one is given away.
 * False: none came. */
static bool end_former(console_call_t *call)
{
    uint8_t hash[PR_SHA256_BYTES];
    console_t *self = call->console;
    if (!pr_cookie_find(pr_httpd_header(call->http, "Cookie"), self->secure, call->token) ||
        !hash_text(call->token, hash))
        return false;
    pr_params_add_bytes(pr_pool_params(self->pool), pr_bytes(hash, sizeof hash));
    if (pr_pool_query(self->pool, PR_SQL_CONSOLE_SESSION_END, on_former_ended, call) != PR_OK)
        console_reply_error(call, PR_AGAIN, NULL);
    return true;
}

/* operator, role, expires_at */
static void on_opened(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    console_call_t *call = arg;
    if (rc != PR_OK) {
        console_reply_error(call, rc, error);
        return;
    }
    if (pr_rows_count(rows) == 0) {
        call->console->logins_failed++;
        console_reply_problem(call, 401, "wrong_login",
                              call->login_code[0] ? "Name, password and code do not fit."
                                                  : "Name and password do not fit.",
                              0);
        return;
    }
    call->console->logins++;
    snprintf(call->person.name, sizeof call->person.name, "%s", pr_rows_text(rows, 0, 0));
    snprintf(call->person.role_name, sizeof call->person.role_name, "%s", pr_rows_text(rows, 0, 1));
    write_time(pr_rows_time_us(rows, 0, 2), call->person.expires_at);
    if (!end_former(call))
        reply_opened(call);
}

static void open_session(console_call_t *call)
{
    uint8_t random[32], hash[PR_SHA256_BYTES] = {0};
    console_t *self = call->console;
    const char *agent = pr_httpd_header(call->http, "User-Agent");
    pr_random_bytes(random, sizeof random);
    pr_hex(pr_bytes(random, sizeof random), call->fresh);
    explicit_bzero(random, sizeof random);
    if (!hash_text(call->fresh, hash)) {
        console_reply_problem(call, 500, "internal", "", 0);
        return;
    }
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_text(params, call->login_name);
    pr_params_add_text(params, call->login_address);
    pr_params_add_bool(params, call->login_good);
    pr_params_add_bytes(params, pr_bytes(hash, sizeof hash));
    pr_params_add_text(params, agent && pr_utf8_valid(pr_bytes_text(agent)) ? agent : "");
    pr_params_add_i32(params, (int32_t)self->idle_s);
    pr_params_add_i32(params, (int32_t)self->absolute_s);
    if (call->login_step >= 0)
        pr_params_add_i64(params, call->login_step);
    else
        pr_params_add_null(params);
    if (pr_pool_query(self->pool, PR_SQL_CONSOLE_LOGIN_END, on_opened, call) != PR_OK)
        console_reply_error(call, PR_AGAIN, NULL);
}

/* The second factor's key. */
static pr_rc_t open_key(console_call_t *call, pr_bytes_t sealed, pr_buffer_t *key, pr_error_t *why)
{
    const console_t *self = call->console;
    char name[65];
    int id = pr_sealed_key_id(sealed);
    if (!self->has_master || id < 0 || !pr_totp_seal_name(call->login_name, name))
        return pr_error_set(why, PR_BAD, "seal", "", "there is no master key, or it is not sealed");
    pr_master_key_t master = self->master;
    master.id = (uint8_t)id; /* we have one key; a wrong one fails to open */
    pr_rc_t rc = pr_unseal(&master, name, sealed, key, why);
    pr_master_key_wipe(&master);
    if (rc == PR_OK && key->len != PR_TOTP_KEY_BYTES)
        rc = pr_error_set(why, PR_BAD, "seal", "", "it is no key of a second factor");
    return rc;
}

/* Whether the code is one of this key's, and which. */
static bool code_fits(console_call_t *call, pr_bytes_t sealed, int64_t last_step)
{
    pr_buffer_t key;
    pr_error_t why;
    pr_buffer_init(&key, PR_TOTP_KEY_BYTES);
    if (open_key(call, sealed, &key, &why) == PR_OK)
        call->login_step =
            pr_totp_step_of(key.data, call->login_code, pr_clock_wall_us() / 1000000, last_step);
    else
        pr_log(PR_LOG_ERROR, "operator.second_factor_sealed", "operator=%s why=%s",
               call->login_name, why.text);
    if (key.data)
        explicit_bzero(key.data, key.len);
    pr_buffer_free(&key);
    return call->login_step >= 0;
}

/* The password fits. False: it was answered that more is wanted. */
static bool second_factor(console_call_t *call, const pr_rows_t *rows)
{
    const console_t *self = call->console;
    bool has = !pr_rows_null(rows, 0, 4);
    bool wanted = self->second_factor != PR_CONSOLE_NOBODY &&
                  pr_console_role(pr_rows_text(rows, 0, 3)) >= self->second_factor;
    if (!has && wanted) {
        console_reply_problem(call, 403, "second_factor_missing",
                              "Your role needs a second factor: ask an admin for one.", 0);
        return false;
    }
    if (!has)
        return true;
    if (call->login_code[0] == '\0') {
        console_reply_problem(call, 401, "code_wanted", "Type the code of your second factor.", 0);
        return false;
    }
    call->login_good = code_fits(call, pr_rows_bytes(rows, 0, 4), pr_rows_i64(rows, 0, 5));
    return true;
}

/* allowed, retry_after_s, password_hash, role, totp, totp_step */
static void on_begun(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    console_call_t *call = arg;
    if (rc != PR_OK) {
        console_reply_error(call, rc, error);
        return;
    }
    if (!pr_rows_bool(rows, 0, 0)) {
        console_reply_problem(call, 429, "too_many_tries", "Too many tries to log in: wait.",
                              pr_rows_i32(rows, 0, 1));
        return;
    }
    const char *hash = pr_rows_null(rows, 0, 2) ? NULL : pr_rows_text(rows, 0, 2);
    call->login_good = pr_password_verify(hash, call->login_password);
    explicit_bzero(call->login_password, strlen(call->login_password));
    if (!call->login_good || second_factor(call, rows))
        open_session(call);
}

static void write_address(const pr_ip_t *ip, char out[64])
{
    if (!inet_ntop(ip->is_ipv6 ? AF_INET6 : AF_INET, ip->bytes, out, 64))
        out[0] = '\0';
}

/* {"name", "password"}, with a second factor "code", and nothing else. */
static bool read_login(console_call_t *call)
{
    json_error_t flaw;
    pr_bytes_t body = pr_httpd_body(call->http);
    json_t *root = json_loadb((const char *)body.data, body.len, JSON_REJECT_DUPLICATES, &flaw);
    const char *name = json_string_value(json_object_get(root, "name"));
    const char *password = json_string_value(json_object_get(root, "password"));
    const char *code = json_string_value(json_object_get(root, "code"));
    bool good = name && password && json_object_size(root) == (code ? 3 : 2) &&
                strlen(name) < sizeof call->login_name &&
                (!code || strlen(code) < sizeof call->login_code);
    call->login_step = -1;
    if (good) {
        snprintf(call->login_code, sizeof call->login_code, "%s", code ? code : "");
        snprintf(call->login_name, sizeof call->login_name, "%s", name);
        call->login_password = pr_strdup(password);
    }
    json_decref(root);
    return good;
}

/* A hash costs some 40 ms of this thread: so many a second are let in that others are still
 * served. */
static int64_t may_try(const console_call_t *call)
{
    console_t *self = call->console;
    const pr_ip_t *client = pr_httpd_client(call->http);
    int64_t now_ms = console_now_ms(self);
    int64_t wait_ms = pr_limiter_wait_ms(self->tries, NULL, "all", now_ms);
    int64_t own_ms = pr_limiter_wait_ms(self->tries, client, "login", now_ms);
    wait_ms = own_ms > wait_ms ? own_ms : wait_ms;
    if (wait_ms == 0) {
        (void)pr_limiter_take(self->tries, NULL, "all", now_ms);
        (void)pr_limiter_take(self->tries, client, "login", now_ms);
    }
    return wait_ms;
}

void console_login(console_call_t *call)
{
    console_t *self = call->console;
    int64_t wait_ms = may_try(call);
    if (wait_ms > 0) {
        console_reply_problem(call, 429, "too_many_tries", "Too many tries to log in: wait.",
                              wait_ms / 1000 + 1);
        return;
    }
    if (!read_login(call)) {
        console_reply_problem(call, 400, "malformed_json", "Send {\"name\", \"password\"}.", 0);
        return;
    }
    write_address(pr_httpd_client(call->http), call->login_address);
    pr_params_t *params = pr_pool_params(self->pool);
    pr_params_add_text(params, call->login_name);
    pr_params_add_text(params, call->login_address);
    if (pr_pool_query(self->pool, PR_SQL_CONSOLE_LOGIN_BEGIN, on_begun, call) != PR_OK)
        console_reply_error(call, PR_AGAIN, NULL);
}
