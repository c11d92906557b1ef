/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations API: one statement for each route, that takes who asks and what is asked as one
 * JSON object, and whose JSON is the answer. What an argument may be, who may what and whether it
 * takes two people is decided in SQL, where the command line comes by too.
 */
#include "actors/console/console_private.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "httpd/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CSV_ROWS_MAX 10000
#define CSV_PAGE 200

/* ---- arguments ---- */

static bool is_list(const console_call_t *call)
{
    return call->route->kind == PR_CONSOLE_LIST || call->route->kind == PR_CONSOLE_WHOLE;
}

static bool begins(const uint8_t *text, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* Which page: nothing to a list that comes whole. */
static bool is_paging(const uint8_t *text, size_t len)
{
    return begins(text, len, "limit=") || begins(text, len, "after=");
}

/* The query without format=csv, which says how the answer is written and nothing to the door. */
static void take_format(console_call_t *call, pr_bytes_t query, pr_buffer_t *out)
{
    static const char said[] = "format=csv";
    bool whole = call->route->kind == PR_CONSOLE_WHOLE;
    for (size_t at = 0; at < query.len;) {
        const uint8_t *begin = query.data + at;
        const uint8_t *end = memchr(begin, '&', query.len - at);
        size_t len = end ? (size_t)(end - begin) : query.len - at;
        bool csv = is_list(call) && len == sizeof said - 1 && begins(begin, len, said);
        call->as_csv = call->as_csv || csv;
        if (!csv && len > 0 && !(whole && is_paging(begin, len))) {
            (void)!(out->len > 0 ? pr_buffer_append(out, "&", 1) : PR_OK);
            (void)!pr_buffer_append(out, begin, len); /* as large as a target may be */
        }
        at += len + 1;
    }
}

static void refuse(console_call_t *call, const pr_members_t *read)
{
    char detail[128];
    snprintf(detail, sizeof detail, "%s%s", read->member[0] ? "At member " : "", read->member);
    console_reply_problem(call, 400, read->code, detail, 0);
}

static bool read_arguments(console_call_t *call)
{
    char names[PR_ROUTE_PARAMETERS_MAX][PR_ROUTE_NAME_BYTES];
    pr_members_request_t request = {0};
    pr_members_t read;
    pr_buffer_t query;
    pr_buffer_init(&query, PR_HTTPD_TARGET_MAX);
    size_t count = pr_route_names(call->route->route.pattern, names);
    for (size_t i = 0; i < count; i++) {
        request.names[i] = names[i];
        request.values[i] = call->match.parameters[i];
    }
    if (call->route->kind == PR_CONSOLE_ACT) {
        request.body = pr_httpd_body(call->http);
    } else {
        take_format(call, pr_httpd_query(call->http), &query);
        request.query = pr_buffer_bytes(&query);
    }
    pr_rc_t rc = pr_members_read(&request, &call->arguments, &read);
    pr_buffer_free(&query);
    if (rc != PR_OK)
        refuse(call, &read);
    return rc == PR_OK;
}

static void set_arguments(console_call_t *call, json_t *arguments)
{
    char *text = json_dumps(arguments, JSON_COMPACT);
    pr_buffer_clear(&call->arguments);
    if (text)
        (void)!pr_buffer_append_text(&call->arguments, text);
    free(text); /* jansson's */
}

/* False: it has been answered. */
static bool make(console_call_t *call)
{
    uint8_t random[32];
    json_error_t flaw;
    const console_t *self = call->console;
    if (call->route->make == PR_MAKE_NOTHING)
        return true;
    json_t *arguments = json_loads(pr_buffer_text(&call->arguments), JSON_REJECT_DUPLICATES, &flaw);
    if (!arguments) {
        console_reply_problem(call, 400, "malformed_json", "", 0);
        return false;
    }
    pr_random_bytes(random, sizeof random);
    pr_rc_t rc = pr_make(call->route->make, arguments, self->has_master ? &self->master : NULL,
                         random, &call->made);
    explicit_bzero(random, sizeof random);
    if (rc == PR_OK)
        set_arguments(call, arguments);
    json_decref(arguments);
    if (rc == PR_BAD)
        console_reply_problem(call, 422, "invalid_argument", call->made.flaw ? call->made.flaw : "",
                              0);
    else if (rc != PR_OK)
        console_reply_error(call, rc, NULL);
    return rc == PR_OK;
}

/* ---- answers ---- */

/* {"...": ...} and the secret that was made, which is shown this once. */
static void reply_shown(console_call_t *call, const char *body)
{
    json_error_t flaw;
    json_t *root = json_loads(body, 0, &flaw);
    json_object_set_new(root, call->made.shown_as, json_string(call->made.shown));
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (text)
        console_reply_json(call, 200, pr_bytes_text(text));
    else
        console_reply_problem(call, 500, "internal", "", 0);
    if (text)
        explicit_bzero(text, strlen(text));
    free(text); /* jansson's */
}

static void reply_csv(console_call_t *call)
{
    console_reply(
        call, &(pr_httpd_reply_t){
                  .status = 200,
                  .content_type = "text/csv; charset=utf-8",
                  .body = pr_buffer_bytes(&call->csv),
                  .header_count = 1,
                  .headers = {{"Content-Disposition", "attachment; filename=\"postrider.csv\""}}});
}

static void ask_door(console_call_t *call);

/* One page more of the list; the next one, or the end. */
static void take_csv_page(console_call_t *call, const char *body)
{
    json_error_t flaw;
    json_t *root = json_loads(body, 0, &flaw);
    json_t *items = json_object_get(root, "items");
    const char *next = json_string_value(json_object_get(root, "next"));
    call->csv_rows += json_array_size(items);
    pr_rc_t rc = pr_csv_write(items, &call->columns, &call->csv);
    bool more = rc == PR_OK && next && call->csv_rows < CSV_ROWS_MAX;
    if (more) {
        json_object_set_new(call->csv_arguments, "after", json_string(next));
        set_arguments(call, call->csv_arguments);
    }
    json_decref(root);
    if (more)
        ask_door(call);
    else if (rc != PR_OK)
        console_reply_problem(call, 422, "too_large",
                              "The list is too large for one file: narrow it down.", 0);
    else
        reply_csv(call);
}

/* body */
static void on_answer(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    console_call_t *call = arg;
    if (rc != PR_OK) {
        console_reply_error(call, rc, error);
        return;
    }
    const char *body = pr_rows_count(rows) > 0 ? pr_rows_text(rows, 0, 0) : "";
    if (body[0] == '\0')
        console_reply_problem(call, 404, "not_found", "", 0);
    else if (strlen(body) > PR_HTTPD_REPLY_MAX_BYTES)
        console_reply_problem(call, 422, "too_large", "The answer is too large: ask for less.", 0);
    else if (call->as_csv)
        take_csv_page(call, body);
    else if (call->made.shown_as)
        reply_shown(call, body);
    else
        console_reply_json(call, 200, pr_bytes_text(body));
}

static void ask_door(console_call_t *call)
{
    pr_pool_t *pool = call->console->pool;
    pr_params_t *params = pr_pool_params(pool);
    pr_params_add_text(params, call->person.name);
    pr_params_add_text(params, pr_buffer_text(&call->arguments));
    if (pr_pool_query(pool, call->route->statement, on_answer, call) != PR_OK)
        console_reply_error(call, PR_AGAIN, NULL);
}

void console_door(console_call_t *call)
{
    json_error_t flaw;
    if (!read_arguments(call) || !make(call))
        return;
    if (call->as_csv) {
        call->csv_arguments = json_loads(pr_buffer_text(&call->arguments), 0, &flaw);
        if (call->route->kind == PR_CONSOLE_LIST)
            json_object_set_new(call->csv_arguments, "limit", json_integer(CSV_PAGE));
        set_arguments(call, call->csv_arguments);
    }
    ask_door(call);
}
