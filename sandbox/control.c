/* SPDX-License-Identifier: Apache-2.0
 *
 * The control API of the sandbox: GET for looking, POST with a small JSON object for changing. It is as
 * open as the socket is: bind it where only tests can reach it.
 */
#include "base/alloc.h"
#include "sandbox/sandbox.h"

#include <jansson.h>

#include <inttypes.h>
#include <string.h>

#define CHUNK_BYTES (4U << 20) /* of the journal in one answer */
#define LEDGER_ROWS 10000U     /* in one answer */
#define LEDGER_ROW_BYTES ((size_t)512)

typedef struct {
    pr_sandbox_t *sandbox;
    pr_bytes_t query; /* behind '?', may be empty */
    pr_bytes_t body;
    pr_now_t now;
    pr_error_t error;
} call_t;

/* Answers into out; the status of a failure, whose text is in call->error. 0: done. */
typedef int (*handler_fn)(call_t *call, pr_buffer_t *out);

static json_t *counts_json(const pr_counts_t *counts)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I}}", "requests",
                     (json_int_t)counts->requests, "accepted", (json_int_t)counts->accepted,
                     "distinct", (json_int_t)counts->distinct, "repeated",
                     (json_int_t)counts->repeated, "early", (json_int_t)counts->early, "changed",
                     (json_int_t)counts->changed, "unnamed", (json_int_t)counts->unnamed,
                     "abandoned", (json_int_t)counts->abandoned, "signatures", "unknown",
                     (json_int_t)counts->signature[PR_SIGNATURE_UNKNOWN], "ok",
                     (json_int_t)counts->signature[PR_SIGNATURE_OK], "bad",
                     (json_int_t)counts->signature[PR_SIGNATURE_BAD], "missing",
                     (json_int_t)counts->signature[PR_SIGNATURE_MISSING]);
}

static json_t *merchant_json(const pr_merchant_t *merchant)
{
    json_t *row = counts_json(&merchant->counts);
    json_object_set_new(row, "merchant", json_string(merchant->name));
    json_object_set_new(row, "temper", json_string(merchant->spec));
    json_object_set_new(row, "in_flight", json_integer(merchant->in_flight));
    json_object_set_new(row, "max_in_flight", json_integer(merchant->max_in_flight));
    return row;
}

static char *take_text(json_t *root)
{
    size_t len = json_dumpb(root, NULL, 0, JSON_COMPACT); /* measures */
    char *text = pr_calloc(len + 1, 1);
    (void)json_dumpb(root, text, len, JSON_COMPACT);
    json_decref(root);
    return text;
}

char *pr_control_stats(const pr_sandbox_t *self, const pr_merchant_t *one)
{
    if (one) {
        return take_text(merchant_json(one));
    }
    pr_counts_t total = pr_merchants_total(self->merchants);
    json_t *root = counts_json(&total);
    json_t *list = json_array();
    for (uint32_t i = 1; i <= pr_merchants_count(self->merchants); i++) {
        json_array_append_new(list, merchant_json(pr_merchants_at(self->merchants, i)));
    }
    json_object_set_new(root, "refused", json_integer((json_int_t)self->refused));
    json_object_set_new(root, "connections", json_integer((json_int_t)self->connections));
    json_object_set_new(root, "open", json_integer((json_int_t)self->open));
    json_object_set_new(root, "merchants", list);
    return take_text(root);
}

/* `name=value` of the query; false when it is not there. */
static bool find_query(pr_bytes_t query, const char *name, pr_bytes_t *out)
{
    size_t name_len = strlen(name);
    const char *at = (const char *)query.data;
    const char *end = query.len ? at + query.len : at;
    while (at < end) {
        const char *next = memchr(at, '&', (size_t)(end - at));
        next = next ? next : end;
        if ((size_t)(next - at) > name_len && memcmp(at, name, name_len) == 0 &&
            at[name_len] == '=') {
            *out = pr_bytes(at + name_len + 1, (size_t)(next - at) - name_len - 1);
            return true;
        }
        at = next + 1;
    }
    return false;
}

/* A number of the query, or usual when it is not there; -1 when it is not a number. */
static int64_t query_number(pr_bytes_t query, const char *name, int64_t usual)
{
    pr_bytes_t text;
    if (!find_query(query, name, &text)) {
        return usual;
    }
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i > 17) {
            return -1;
        }
        value = value * 10 + (text.data[i] - '0');
    }
    return text.len ? value : -1;
}

static int reply(pr_buffer_t *out, const char *type, pr_bytes_t body)
{
    return pr_answer_plain(200, type, body, false, out) == PR_OK ? 0 : 500;
}

static int get_stats(call_t *call, pr_buffer_t *out)
{
    pr_bytes_t name;
    const pr_merchant_t *one = NULL;
    if (find_query(call->query, "merchant", &name)) {
        one = pr_merchants_find(call->sandbox->merchants, (const char *)name.data, name.len);
        if (!one) {
            return 404;
        }
    }
    PR_CLEANUP_FREE char *text = pr_control_stats(call->sandbox, one);
    return reply(out, "application/json", pr_bytes_text(text));
}

/* A page of lines: Next tells where the next page begins; unchanged at the end. */
static int reply_page(pr_buffer_t *out, pr_bytes_t lines, int64_t next)
{
    pr_rc_t rc = pr_buffer_printf(out,
                                  "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
                                  "X-Next: %" PRId64 "\r\nContent-Length: %zu\r\n\r\n",
                                  next, lines.len);
    rc = rc == PR_OK ? pr_buffer_append(out, lines.data, lines.len) : rc;
    return rc == PR_OK ? 0 : 500;
}

static int get_journal(call_t *call, pr_buffer_t *out)
{
    int64_t from = query_number(call->query, "from", call->sandbox->journal_from);
    if (from < 0) {
        return 400;
    }
    pr_buffer_t lines;
    pr_buffer_init(&lines, CHUNK_BYTES);
    int64_t next = from;
    pr_rc_t rc = pr_journal_read(call->sandbox->journal, from, CHUNK_BYTES, &lines, &next);
    int status = rc == PR_OK ? reply_page(out, pr_buffer_bytes(&lines), next) : 500;
    pr_buffer_free(&lines);
    return status;
}

static pr_rc_t add_row(pr_buffer_t *lines, const char *merchant, const pr_ledger_entry_t *entry)
{
    char id[37];
    pr_notify_id_text(&entry->id, id);
    return pr_buffer_printf(lines,
                            "{\"merchant\":\"%s\",\"notify_id\":\"%s\",\"receipts\":%u"
                            ",\"accepted\":%u,\"changed\":%u,\"first_us\":%" PRId64
                            ",\"accepted_us\":%" PRId64 ",\"version\":%" PRId64 "}\n",
                            merchant, id, entry->receipts, entry->accepted, entry->changed,
                            entry->first_us, entry->accepted_us, entry->version);
}

static int get_ledger(call_t *call, pr_buffer_t *out)
{
    pr_bytes_t name = {0};
    bool one = find_query(call->query, "merchant", &name);
    int64_t from = query_number(call->query, "from", 0);
    if (from < 0) {
        return 400;
    }
    const pr_merchant_t *wanted =
        one ? pr_merchants_find(call->sandbox->merchants, (const char *)name.data, name.len) : NULL;
    if (one && !wanted) {
        return 404;
    }
    pr_buffer_t lines;
    pr_buffer_init(&lines, LEDGER_ROWS * LEDGER_ROW_BYTES);
    size_t cursor = (size_t)from, rows = 0;
    const pr_ledger_entry_t *entry;
    pr_rc_t rc = PR_OK;
    while (rc == PR_OK && rows < LEDGER_ROWS &&
           (entry = pr_ledger_next(call->sandbox->ledger, &cursor))) {
        if (!wanted || entry->target == wanted->number) {
            const pr_merchant_t *merchant =
                pr_merchants_at(call->sandbox->merchants, entry->target);
            rc = add_row(&lines, merchant->name, entry);
            rows++;
        }
    }
    int status = rc == PR_OK ? reply_page(out, pr_buffer_bytes(&lines), (int64_t)cursor) : 500;
    pr_buffer_free(&lines);
    return status;
}

/* The merchant named in the body, made if new; NULL and *status when there is none. */
static pr_merchant_t *named(call_t *call, json_t *root, int *status)
{
    const char *name = json_string_value(json_object_get(root, "merchant"));
    pr_merchant_t *merchant =
        name ? pr_merchants_get(call->sandbox->merchants, name, strlen(name)) : NULL;
    *status = merchant ? 0 : 400;
    return merchant;
}

static int set_temper(call_t *call, json_t *root)
{
    int status = 0;
    pr_merchant_t *merchant = named(call, root, &status);
    json_t *temper = json_object_get(root, "temper");
    if (merchant && (!json_is_string(temper) ||
                     pr_merchant_set_temper(merchant, json_string_value(temper),
                                            json_string_length(temper), &call->error) != PR_OK)) {
        return 400;
    }
    return status;
}

static int set_secrets(call_t *call, json_t *root)
{
    const char *texts[PR_MERCHANT_SECRETS + 1] = {0};
    int status = 0;
    pr_merchant_t *merchant = named(call, root, &status);
    json_t *list = json_object_get(root, "secrets");
    size_t count = json_array_size(list);
    if (!merchant || !json_is_array(list) || count > PR_MERCHANT_SECRETS) {
        return 400;
    }
    for (size_t i = 0; i < count; i++) {
        texts[i] = json_string_value(json_array_get(list, i));
        if (!texts[i]) {
            return 400;
        }
    }
    return pr_merchant_set_secrets(merchant, texts, count, &call->error) == PR_OK ? 0 : 400;
}

static int post_json(call_t *call, pr_buffer_t *out, int (*apply)(call_t *, json_t *))
{
    json_error_t why;
    json_t *root = json_loadb((const char *)call->body.data, call->body.len, 0, &why);
    int status = root ? apply(call, root) : 400;
    json_decref(root);
    return status != 0 ? status : reply(out, "application/json", pr_bytes_text("{\"ok\":true}"));
}

static int post_temper(call_t *call, pr_buffer_t *out)
{
    return post_json(call, out, set_temper);
}

static int post_secret(call_t *call, pr_buffer_t *out)
{
    return post_json(call, out, set_secrets);
}

static int post_reset(call_t *call, pr_buffer_t *out)
{
    if (pr_sandbox_reset(call->sandbox, call->now.wall_us) != PR_OK) {
        return 500;
    }
    return reply(out, "application/json", pr_bytes_text("{\"ok\":true}"));
}

static int get_health(call_t *call, pr_buffer_t *out)
{
    (void)call;
    return reply(out, "text/plain", pr_bytes_text("ok\n"));
}

static const struct {
    const char *method, *path;
    handler_fn handle;
} routes[] = {
    {"GET", "/healthz", get_health},          {"GET", "/control/stats", get_stats},
    {"GET", "/control/journal", get_journal}, {"GET", "/control/ledger", get_ledger},
    {"POST", "/control/temper", post_temper}, {"POST", "/control/secret", post_secret},
    {"POST", "/control/reset", post_reset},
};

static int dispatch(call_t *call, pr_bytes_t method, pr_bytes_t path, pr_buffer_t *out)
{
    static const char gateway[] = "/control/gateway/";
    int status = 404;
    if (path.len >= sizeof(gateway) && memcmp(path.data, gateway, sizeof(gateway) - 1) == 0) {
        return pr_gate_control(call->sandbox->gate, method, path, call->query, call->body,
                               call->now, out, &call->error);
    }
    for (size_t i = 0; i < PR_COUNT(routes); i++) {
        if (pr_bytes_equal(path, pr_bytes_text(routes[i].path))) {
            if (pr_bytes_equal(method, pr_bytes_text(routes[i].method))) {
                return routes[i].handle(call, out);
            }
            status = 405;
        }
    }
    return status;
}

pr_rc_t pr_control_answer(pr_sandbox_t *self, const pr_request_t *request, const uint8_t *data,
                          pr_now_t now, pr_buffer_t *out)
{
    pr_bytes_t path = pr_request_view(data, request->target);
    const uint8_t *mark = memchr(path.data, '?', path.len);
    call_t call = {.sandbox = self,
                   .body = pr_bytes(data + request->head_len, request->content_len),
                   .now = now};
    if (mark) {
        call.query = pr_bytes(mark + 1, path.len - (size_t)(mark - path.data) - 1);
        path.len = (size_t)(mark - path.data);
    }
    int status = dispatch(&call, pr_request_view(data, request->method), path, out);
    if (status == 0) {
        return PR_OK;
    }
    const char *text = call.error.text[0] ? call.error.text : pr_answer_reason(status);
    return pr_answer_plain(status, "text/plain", pr_bytes_text(text), false, out);
}
