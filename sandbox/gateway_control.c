/* SPDX-License-Identifier: Apache-2.0
 *
 * The gateways' control interface, /control/gateway/...: accounts with their keys and scripts, orders
 * driven by hand, and the ledger that judges. README.md lists the calls.
 */
#include "base/alloc.h"
#include "sandbox/gateway_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES (4U << 20)
#define ROWS_MAX 10000U
#define FILE_MAX_BYTES (1U << 20)

typedef struct {
    pr_gate_t *gate;
    pr_bytes_t query;
    json_t *wish; /* the body; NULL: none */
    pr_buffer_t *out;
    pr_error_t *error;
} control_t;

static int reply(control_t *call, json_t *document)
{
    PR_CLEANUP_FREE char *text = NULL;
    size_t len = json_dumpb(document, NULL, 0, JSON_COMPACT);
    text = pr_calloc(len + 1, 1);
    (void)json_dumpb(document, text, len, JSON_COMPACT);
    json_decref(document);
    return pr_answer_plain(200, "application/json", pr_bytes(text, len), false, call->out) == PR_OK
               ? 0
               : 500;
}

static int bad(control_t *call, const char *text)
{
    (void)pr_error_set(call->error, PR_BAD, "sandbox", "", "%s", text);
    return 400;
}

/* ---- accounts ---- */

static pr_rc_t set_text(char **at, const json_t *wish, const char *name)
{
    const char *text = json_string_value(json_object_get(wish, name));
    if (text) {
        pr_free(*at);
        *at = pr_strdup(text);
    }
    return PR_OK;
}

/* Every alternative of a mix must be a script. */
static pr_rc_t set_mix(pr_gate_account_t *account, const json_t *wish, pr_error_t *error)
{
    const char *mix = json_string_value(json_object_get(wish, "mix"));
    pr_gate_script_t script;
    pr_rc_t rc = PR_OK;
    for (const char *at = mix; rc == PR_OK && at && *at;) {
        size_t len = strcspn(at, "|");
        const char *mark = memchr(at, '%', len);
        size_t skip = mark ? (size_t)(mark + 1 - at) : 0;
        rc = pr_gate_script_parse(at + skip, len - skip, &script, error);
        at += len + (at[len] == '|');
    }
    return rc == PR_OK ? set_text(&account->mix, wish, "mix") : rc;
}

static pr_rc_t set_trouble(pr_gate_t *self, pr_gate_account_t *account, const json_t *wish,
                           pr_error_t *error)
{
    const char *text = json_string_value(json_object_get(wish, "trouble"));
    const json_t *seconds = json_object_get(wish, "seconds");
    if (!text) {
        return PR_OK;
    }
    memset(account->trouble_used, 0, sizeof(account->trouble_used));
    account->trouble_until_ms =
        json_is_number(seconds) ? self->now.mono_ms + (int64_t)(json_number_value(seconds) * 1000)
                                : INT64_MAX;
    return pr_gate_script_parse(text, strlen(text), &account->trouble, error);
}

/* {"rate", "burst"}; rate 0: no limit. A bucket of a new limit is full. */
static void set_limit(const pr_gate_t *self, pr_gate_account_t *account, const json_t *wish)
{
    const json_t *rate = json_object_get(wish, "rate");
    json_int_t burst = json_integer_value(json_object_get(wish, "burst"));
    if (json_is_number(rate)) {
        pr_bucket_init(&account->limit, json_number_value(rate),
                       burst > 0 && burst <= 1000000 ? (uint32_t)burst : 1, self->now.mono_ms);
        account->limit.full_at_ns = 0;
    }
}

static void set_parameters(pr_gate_account_t *account, const json_t *wish)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(wish, "parameters"), name, value)
    {
        if (json_is_string(value)) {
            json_object_set(account->parameters, name, value);
        }
    }
}

/* One of the two RSA keys: as the parameter says, else made. */
static bool set_key(EVP_PKEY **key, const char *pem)
{
    if (pem[0]) {
        EVP_PKEY_free(*key);
        *key = pr_gate_key_read(pem);
    } else if (!*key) {
        *key = pr_gate_key_make();
    }
    return *key != NULL;
}

static void put_pem(pr_gate_account_t *account, const char *name, char *pem)
{
    json_object_set_new(account->parameters, name, json_string(pem));
    pr_free(pem);
}

/* What the merchant gets to know of the gateway's key is its public half. */
static pr_rc_t set_keys(pr_gate_account_t *account, const json_t *wish, pr_error_t *error)
{
    const pr_gate_protocol_t *protocol = account->protocol;
    const char *ours = pr_gate_text(wish, "gateway_key"); /* the journal's */
    if (protocol->keys.merchant) {
        const char *pem = pr_gate_parameter(account, protocol->keys.merchant);
        if (!set_key(&account->merchant, pem)) {
            return pr_error_set(error, PR_BAD, "sandbox", "", "%s: not an RSA key in PEM",
                                protocol->keys.merchant);
        }
        if (!pem[0]) {
            put_pem(account, protocol->keys.merchant, pr_gate_key_private(account->merchant));
        }
    }
    if (protocol->keys.gateway) {
        const char *given =
            pr_gate_text(json_object_get(wish, "parameters"), protocol->keys.gateway);
        const char *pem = ours[0] ? ours : given;
        if (!set_key(&account->gateway, pem) || !pr_gate_key_is_private(account->gateway)) {
            return pr_error_set(error, PR_BAD, "sandbox", "",
                                "%s: the gateway signs with it: its private half is wanted here",
                                protocol->keys.gateway);
        }
        put_pem(account, protocol->keys.gateway, pr_gate_key_public(account->gateway));
    }
    return PR_OK;
}

pr_rc_t pr_gate_set_account(pr_gate_t *self, const json_t *wish, pr_gate_account_t **out,
                            pr_error_t *error)
{
    const pr_gate_protocol_t *protocol = pr_gate_protocol_find(pr_gate_text(wish, "profile"));
    const char *name = pr_gate_text(wish, "account");
    if (!protocol || !name[0] || strlen(name) >= PR_GATE_WORD_MAX) {
        return pr_error_set(error, PR_BAD, "sandbox", "",
                            "profile (one of those shipped) and account are wanted");
    }
    pr_gate_account_t *account = pr_gate_account_make(self->ledger, protocol, name);
    if (!account) {
        return pr_error_set(error, PR_BAD, "sandbox", "", "too many accounts");
    }
    set_parameters(account, wish);
    set_limit(self, account, wish);
    protocol->complete(account);
    pr_rc_t rc = set_keys(account, wish, error);
    rc = rc == PR_OK ? set_text(&account->notify_url, wish, "notify_url") : rc;
    rc = rc == PR_OK ? set_mix(account, wish, error) : rc;
    rc = rc == PR_OK ? set_trouble(self, account, wish, error) : rc;
    if (rc == PR_OK && out) {
        *out = account;
    }
    if (rc == PR_OK) {
        pr_gate_record_account(self, account);
    }
    return rc;
}

static json_t *account_json(const pr_gate_account_t *account)
{
    return json_pack("{s:s,s:s,s:O,s:s,s:s}", "profile", account->protocol->name, "account",
                     account->name, "parameters", account->parameters, "mix", account->mix,
                     "notify_url", account->notify_url);
}

static int post_account(control_t *call)
{
    pr_gate_account_t *account = NULL;
    return pr_gate_set_account(call->gate, call->wish, &account, call->error) == PR_OK
               ? reply(call, account_json(account))
               : 400;
}

static int get_accounts(control_t *call)
{
    json_t *list = json_array();
    const pr_gate_account_t *account;
    for (size_t i = 0; (account = pr_gate_account_at(call->gate->ledger, i)); i++) {
        json_array_append_new(list, account_json(account));
    }
    return reply(call, list);
}

pr_rc_t pr_gate_load(pr_gate_t *self, const char *path, pr_error_t *error)
{
    json_error_t why;
    size_t i;
    json_t *wish, *list = json_load_file(path, 0, &why);
    pr_rc_t rc = json_is_array(list) ? PR_OK
                                     : pr_error_set(error, PR_BAD, "sandbox", "",
                                                    "%s: a list of accounts is wanted", path);
    json_array_foreach(list, i, wish)
    {
        rc = rc == PR_OK ? pr_gate_set_account(self, wish, NULL, error) : rc;
    }
    json_decref(list);
    return rc;
}

/* The account that a call names; profile may be left out where one account has that name. */
static pr_gate_account_t *account_named(control_t *call, const char *profile, const char *name)
{
    pr_gate_account_t *account, *found = NULL;
    for (size_t i = 0; (account = pr_gate_account_at(call->gate->ledger, i)); i++) {
        if (strcmp(account->name, name) == 0 &&
            (!profile[0] || strcmp(account->protocol->name, profile) == 0)) {
            found = found ? found : account;
        }
    }
    return found;
}

static pr_gate_account_t *account_of_query(control_t *call, bool *named)
{
    char profile[64] = "", name[PR_GATE_WORD_MAX] = "";
    (void)pr_gate_query_text(call->query, "profile", profile, sizeof(profile));
    *named = pr_gate_query_text(call->query, "account", name, sizeof(name));
    return *named ? account_named(call, profile, name) : NULL;
}

static pr_gate_account_t *account_of_wish(control_t *call)
{
    return account_named(call, pr_gate_text(call->wish, "profile"),
                         pr_gate_text(call->wish, "account"));
}

/* ---- orders ---- */

static json_t *refunds_json(const pr_gate_order_t *order)
{
    json_t *list = json_array();
    for (const pr_gate_refund_t *refund = order->refunds; refund; refund = refund->next) {
        json_array_insert_new(list, 0,
                              json_pack("{s:s,s:s,s:s,s:I}", "refund_no", refund->refund_no,
                                        "reference", refund->reference, "state",
                                        pr_gate_refund_state_name(refund->state), "amount",
                                        (json_int_t)refund->amount));
    }
    return list;
}

static json_t *order_json(const pr_gate_t *self, const pr_gate_order_t *order)
{
    json_t *calls = json_object();
    for (unsigned i = 0; i < PR_GATE_OPERATIONS; i++) {
        if (order->plan->calls[i] > 0) {
            json_object_set_new(calls, pr_gate_operation_name((pr_gate_operation_t)i),
                                json_integer(order->plan->calls[i]));
        }
    }
    pr_gate_tally_t taken = pr_gate_taken(self->ledger, order->account, order->request_no);
    return json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:s,s:I,s:I,s:i,s:I,s:b,s:s,s:s,s:I,s:I,s:I,s:o,s:o}",
        "profile", order->account->protocol->name, "account", order->account->name, "request_no",
        order->request_no, "reference", order->reference, "order", order->label, "state",
        pr_gate_state_name(order->state), "amount", (json_int_t)order->amount, "currency",
        order->currency, "captured", (json_int_t)order->captured, "refunded",
        (json_int_t)order->refunded, "times_charged", (int)taken.count, "charged_sum",
        (json_int_t)taken.sum, "was_closed", (int)order->was_closed, "code", order->code, "script",
        order->plan->text, "created_us", (json_int_t)order->created_us, "paid_us",
        (json_int_t)order->paid_us, "ended_us", (json_int_t)order->ended_us, "calls", calls,
        "refunds", refunds_json(order));
}

static int64_t from_of_query(const control_t *call, int64_t usual)
{
    char text[24];
    int64_t value = 0;
    if (!pr_gate_query_text(call->query, "from", text, sizeof(text))) {
        return usual;
    }
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || at - text > 17) {
            return -1;
        }
        value = value * 10 + (*at - '0');
    }
    return value;
}

static int reply_page(control_t *call, pr_bytes_t lines, int64_t next)
{
    pr_rc_t rc = pr_buffer_printf(call->out,
                                  "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
                                  "X-Next: %" PRId64 "\r\nContent-Length: %zu\r\n\r\n",
                                  next, lines.len);
    rc = rc == PR_OK ? pr_buffer_append(call->out, lines.data, lines.len) : rc;
    return rc == PR_OK ? 0 : 500;
}

static int get_ledger(control_t *call)
{
    bool named = false;
    const pr_gate_account_t *account = account_of_query(call, &named);
    int64_t from = from_of_query(call, 0);
    if (from < 0 || (named && !account)) {
        return from < 0 ? 400 : 404;
    }
    pr_buffer_t lines;
    pr_buffer_init(&lines, CHUNK_BYTES);
    const pr_gate_order_t *order;
    for (uint32_t rows = 0; rows < ROWS_MAX && lines.len < CHUNK_BYTES / 2 &&
                            (order = pr_gate_order_at(call->gate->ledger, (uint64_t)from));
         from++) {
        if (account && order->account != account) {
            continue;
        }
        json_t *row = order_json(call->gate, order);
        PR_CLEANUP_FREE char *text = NULL;
        size_t len = json_dumpb(row, NULL, 0, JSON_COMPACT);
        text = pr_calloc(len + 1, 1);
        (void)json_dumpb(row, text, len, JSON_COMPACT);
        json_decref(row);
        text[len] = '\n';
        (void)!pr_buffer_append(&lines, text, len + 1); /* a row is some kB, and half is free */
        rows++;
    }
    int status = reply_page(call, pr_buffer_bytes(&lines), from);
    pr_buffer_free(&lines);
    return status;
}

static int get_journal(control_t *call)
{
    int64_t from = from_of_query(call, call->gate->journal_from), next = from;
    pr_buffer_t lines;
    if (from < 0) {
        return 400;
    }
    pr_buffer_init(&lines, CHUNK_BYTES);
    pr_rc_t rc = pr_journal_read(call->gate->journal, from, CHUNK_BYTES, &lines, &next);
    int status = rc == PR_OK ? reply_page(call, pr_buffer_bytes(&lines), next) : 500;
    pr_buffer_free(&lines);
    return status;
}

static pr_gate_order_t *order_of_wish(control_t *call)
{
    const pr_gate_account_t *account = account_of_wish(call);
    return account ? pr_gate_order_by_number(call->gate->ledger, account,
                                             pr_gate_text(call->wish, "request_no"))
                   : NULL;
}

static int get_order(control_t *call)
{
    bool named = false;
    char number[130] = "";
    const pr_gate_account_t *account = account_of_query(call, &named);
    (void)pr_gate_query_text(call->query, "request_no", number, sizeof(number));
    const pr_gate_order_t *order =
        account ? pr_gate_order_by_number(call->gate->ledger, account, number) : NULL;
    return order ? reply(call, order_json(call->gate, order)) : 404;
}

static int post_script(control_t *call)
{
    const pr_gate_account_t *account = account_of_wish(call);
    const char *number = pr_gate_text(call->wish, "request_no");
    const char *script = pr_gate_text(call->wish, "script");
    if (!account || !number[0]) {
        return bad(call, "an account that is known and a request_no are wanted");
    }
    return pr_gate_plan_set(call->gate->ledger, account, number, script, strlen(script),
                            call->error) == PR_OK
               ? reply(call, json_pack("{s:b}", "ok", 1))
               : 400;
}

static int post_statement(control_t *call)
{
    pr_gate_account_t *account = account_of_wish(call);
    if (!account) {
        return 404;
    }
    return pr_gate_plant(call->gate, account, call->wish, call->error) == PR_OK
               ? reply(call, json_pack("{s:b}", "ok", 1))
               : 400;
}

static int post_age(control_t *call)
{
    const pr_gate_account_t *account = account_of_wish(call);
    json_int_t seconds = json_integer_value(json_object_get(call->wish, "seconds"));
    if (!account) {
        return 404;
    }
    if (seconds == 0 || seconds < -30 * 86400 || seconds > 30 * 86400) {
        return bad(call, "seconds: -2592000 to 2592000, not 0");
    }
    uint64_t count =
        pr_gate_age(call->gate, account, pr_gate_text(call->wish, "request_no"), seconds);
    return reply(call, json_pack("{s:I}", "orders", (json_int_t)count));
}

static int post_do(control_t *call)
{
    pr_gate_order_t *order = order_of_wish(call);
    const char *what = pr_gate_text(call->wish, "do");
    if (!order) {
        return 404;
    }
    if (strcmp(what, "webhook") == 0) {
        static const pr_gate_event_kind_t kinds[] = {[PR_GATE_APPROVED] = PR_GATE_EVENT_APPROVED,
                                                     [PR_GATE_PAID] = PR_GATE_EVENT_PAID,
                                                     [PR_GATE_FAILED] = PR_GATE_EVENT_FAILED,
                                                     [PR_GATE_CLOSED] = PR_GATE_EVENT_CLOSED};
        pr_gate_tell(call->gate, kinds[order->state], order, NULL);
    } else if (strcmp(what, "forge") == 0) {
        pr_gate_forge(call->gate, order);
    } else if (!pr_gate_push(call->gate, order, what)) {
        return bad(call, "do: pay, fail:CODE, approve, close (from a state that allows it), "
                         "webhook, forge");
    }
    return reply(call, order_json(call->gate, order));
}

/* ---- figures ---- */

static void add_counts(pr_gate_counts_t *sum, const pr_gate_counts_t *one)
{
    sum->requests += one->requests;
    sum->refused += one->refused;
    sum->throttled += one->throttled;
    for (size_t i = 0; i < PR_GATE_OPERATIONS; i++) {
        sum->calls[i] += one->calls[i];
    }
    sum->orders += one->orders;
    sum->paid += one->paid;
    sum->refunds += one->refunds;
    sum->charged_minor += one->charged_minor;
    sum->refunded_minor += one->refunded_minor;
    sum->hooks += one->hooks;
    sum->hooks_sent += one->hooks_sent;
    sum->hooks_accepted += one->hooks_accepted;
    sum->hooks_lost += one->hooks_lost;
    sum->probes_accepted += one->probes_accepted;
    sum->forged_accepted += one->forged_accepted;
    sum->double_charged += one->double_charged;
    sum->double_refunded += one->double_refunded;
    sum->double_orders += one->double_orders;
    sum->double_minor += one->double_minor;
}

static void set(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

static json_t *counts_json(const pr_gate_counts_t *counts)
{
    json_t *out = json_object(), *calls = json_object();
    for (unsigned i = 0; i < PR_GATE_OPERATIONS; i++) {
        set(calls, pr_gate_operation_name((pr_gate_operation_t)i), counts->calls[i]);
    }
    json_object_set_new(out, "calls", calls);
    set(out, "requests", counts->requests);
    set(out, "refused", counts->refused);
    set(out, "throttled", counts->throttled);
    set(out, "orders", counts->orders);
    set(out, "paid", counts->paid);
    set(out, "refunds", counts->refunds);
    set(out, "charged_minor", (uint64_t)counts->charged_minor);
    set(out, "refunded_minor", (uint64_t)counts->refunded_minor);
    set(out, "double_charged", counts->double_charged);
    set(out, "double_orders", counts->double_orders);
    set(out, "double_refunded", counts->double_refunded);
    set(out, "double_minor", (uint64_t)counts->double_minor);
    set(out, "webhooks", counts->hooks);
    set(out, "webhooks_sent", counts->hooks_sent);
    set(out, "webhooks_accepted", counts->hooks_accepted);
    set(out, "webhooks_lost", counts->hooks_lost);
    set(out, "probes_accepted", counts->probes_accepted);
    set(out, "forged_accepted", counts->forged_accepted);
    return out;
}

static int get_stats(control_t *call)
{
    bool named = false;
    const pr_gate_account_t *account = account_of_query(call, &named);
    pr_gate_counts_t sum = {0};
    if (named) {
        return account ? reply(call, counts_json(&account->counts)) : 404;
    }
    for (size_t i = 0; (account = pr_gate_account_at(call->gate->ledger, i)); i++) {
        add_counts(&sum, &account->counts);
    }
    sum.requests += call->gate->strangers;
    sum.refused += call->gate->strangers;
    json_t *out = counts_json(&sum);
    set(out, "webhooks_waiting", pr_map_count(call->gate->hooks));
    return reply(call, out);
}

/* [[second, requests, queries of them], ...] in the order of time */
static int get_seconds(control_t *call)
{
    bool named = false;
    const pr_gate_account_t *account = account_of_query(call, &named);
    json_t *list = json_array();
    if (!account) {
        json_decref(list);
        return 404;
    }
    int64_t now = call->gate->now.wall_us / 1000000;
    for (int64_t second = now - PR_GATE_SECONDS + 1; second <= now; second++) {
        size_t slot = (size_t)(second % PR_GATE_SECONDS);
        if (account->seconds[slot].second == second) {
            json_array_append_new(list, json_pack("[I,i,i]", (json_int_t)second,
                                                  (int)account->seconds[slot].requests,
                                                  (int)account->seconds[slot].queries));
        }
    }
    return reply(call, list);
}

static int post_reset(control_t *call)
{
    pr_gate_t *gate = call->gate;
    pr_gate_hooks_clear(gate);
    pr_timerq_clear(gate->timers);
    pr_gate_ledger_clear(gate->ledger);
    gate->strangers = 0;
    pr_gate_record_reset(gate);
    if (pr_journal_flush(gate->journal, call->error) != PR_OK) {
        return 500;
    }
    gate->journal_from = pr_journal_size(gate->journal);
    return reply(call, json_pack("{s:b}", "ok", 1));
}

static const struct {
    const char *method, *path;
    int (*handle)(control_t *);
} routes[] = {
    {"POST", "account", post_account},     {"GET", "accounts", get_accounts},
    {"POST", "script", post_script},       {"POST", "do", post_do},
    {"GET", "order", get_order},           {"GET", "ledger", get_ledger},
    {"GET", "stats", get_stats},           {"GET", "seconds", get_seconds},
    {"GET", "journal", get_journal},       {"POST", "reset", post_reset},
    {"POST", "statement", post_statement}, {"POST", "age", post_age},
};

int pr_gate_control(pr_gate_t *self, pr_bytes_t method, pr_bytes_t path, pr_bytes_t query,
                    pr_bytes_t body, pr_now_t now, pr_buffer_t *out, pr_error_t *error)
{
    static const char prefix[] = "/control/gateway/";
    control_t call = {.gate = self, .query = query, .out = out, .error = error};
    json_error_t why;
    int status = 404;
    path = pr_bytes(path.data + sizeof(prefix) - 1, path.len - sizeof(prefix) + 1);
    self->now = now;
    for (size_t i = 0; i < PR_COUNT(routes); i++) {
        if (!pr_gate_is(path, routes[i].path)) {
            continue;
        }
        if (!pr_gate_is(method, routes[i].method)) {
            return 405;
        }
        call.wish = body.len ? json_loadb((const char *)body.data, body.len, 0, &why) : NULL;
        status = body.len && !json_is_object(call.wish) ? bad(&call, "not a JSON object")
                                                        : routes[i].handle(&call);
        json_decref(call.wish);
    }
    return status;
}
