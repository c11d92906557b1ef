/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/payment_exchanges.h"

#include "base/alloc.h"
#include "cli/command.h"
#include "sql/console.h"

#include <stdio.h>
#include <string.h>

int pr_payment_exchanges(pr_console_t *console, int64_t payment_id, json_t **calls)
{
    json_t *answer = NULL;
    int code = pr_console_door(console, &pr_sql_console[PR_SQL_CONSOLE_PAYMENT_SHOW],
                               json_pack("{s:I}", "payment_id", (json_int_t)payment_id), &answer);
    *calls = json_incref(json_object_get(answer, "calls"));
    json_decref(answer);
    return code;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* A gateway's bytes on a terminal: no control characters but line ends and tabs. */
static void print_text(const char *mark, const char *text)
{
    bool start = true;
    for (const char *at = text; *at; at++) {
        if (start)
            fputs(mark, stdout);
        start = *at == '\n';
        bool control = (unsigned char)*at < 0x20 || *at == 0x7f;
        putchar(control && *at != '\n' && *at != '\t' ? '?' : *at);
    }
    if (!start)
        putchar('\n');
}

static void print_line(const char *mark, const char *name, const char *value)
{
    PR_CLEANUP_FREE char *line = pr_asprintf("%s%s%s", name, name[0] ? ": " : "", value);
    pr_console_cut(line, true);
    printf("%s%s\n", mark, line);
}

static void print_side(const char *mark, const json_t *side)
{
    size_t i;
    const json_t *header, *body = json_object_get(side, "body");
    json_array_foreach(json_object_get(side, "headers"), i, header)
    {
        const char *name = json_string_value(json_array_get(header, 0));
        const char *value = json_string_value(json_array_get(header, 1));
        print_line(mark, name ? name : "?", value ? value : "");
    }
    if (json_is_true(json_object_get(side, "headers_cut")))
        printf("%s(more headers, not kept)\n", mark);
    const char *encoded = text_of(body, "base64");
    if (body)
        printf("%s%s\n", mark, encoded[0] ? "(base64)" : "");
    print_text(mark, encoded[0] ? encoded : json_is_string(body) ? json_string_value(body) : "");
    if (json_is_true(json_object_get(side, "cut")))
        printf("%s(cut: %lld bytes in all)\n", mark,
               (long long)json_integer_value(json_object_get(side, "bytes")));
}

static void print_call(const json_t *call)
{
    const json_t *exchange = json_object_get(call, "exchange");
    const json_t *request = json_object_get(exchange, "request");
    const json_t *response = json_object_get(exchange, "response");
    printf("\n%s %s, attempt %lld, %lld ms: %s\n", text_of(call, "at"), text_of(call, "operation"),
           (long long)json_integer_value(json_object_get(call, "attempt")),
           (long long)json_integer_value(json_object_get(call, "duration_ms")),
           text_of(call, "verdict"));
    if (!json_is_object(exchange)) {
        puts("(nothing was sent, or it is not kept)");
        return;
    }
    PR_CLEANUP_FREE char *first =
        pr_asprintf("%s %s", text_of(request, "method"), text_of(request, "url"));
    print_line("> ", "", first);
    print_side("> ", request);
    if (response)
        printf("< %lld\n", (long long)json_integer_value(json_object_get(response, "status")));
    else
        printf("< no answer: %s\n", text_of(exchange, "error"));
    print_side("< ", response);
}

void pr_payment_exchanges_print(const json_t *calls)
{
    size_t i;
    const json_t *call;
    if (json_array_size(calls) == 0)
        puts("\nno calls");
    json_array_foreach(calls, i, call)
    {
        print_call(call);
    }
}
