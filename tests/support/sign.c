/* SPDX-License-Identifier: Apache-2.0
 *
 * lib/sign at a prompt, for the tests beside it. Each line of stdin is one case, its fields separated by tabs:
 *   sign    SCHEME ID TIMESTAMP SECRET NEXT BODY_HEX  -> `Name: value` lines, `body: HEX`, `.`
 *   verify  SECRET ID TIMESTAMP SIGNATURE BODY_HEX    -> `true` or `false`, `.`   (webhook-signature)
 *   form    SCHEME SECRET FORM_HEX                    -> `true` or `false`, `.`
 *   public  SECRET                                    -> the whpk_ text, `.`
 * NEXT is `-` when no rotation is under way. A case that is refused prints `error: why`, `.`.
 */
#include "sign/sign.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 7
#define LINE_MAX_BYTES (1U << 20)

/* In place: the line is ours. */
static pr_bytes_t unhex(char *text)
{
    size_t len = strlen(text);
    uint8_t *bytes = (uint8_t *)text;
    return pr_unhex(text, len, bytes) ? pr_bytes(bytes, len / 2) : pr_bytes(NULL, 0);
}

static bool secret_from(const char *text, pr_secret_t *out)
{
    pr_error_t error = {0};
    if (pr_secret_parse(pr_bytes_text(text), out, &error) == PR_OK) {
        return true;
    }
    printf("error: %s\n", error.text);
    return false;
}

static void sign(char **field)
{
    pr_secret_t secret, next;
    bool rotates = strcmp(field[5], "-") != 0;
    if (!secret_from(field[4], &secret) || (rotates && !secret_from(field[5], &next))) {
        return;
    }
    const pr_sign_request_t request = {
        .scheme = pr_scheme_parse(field[1]),
        .notify_id = field[2],
        .timestamp_s = strtoll(field[3], NULL, 10),
        .body = unhex(field[6]),
        .secret = &secret,
        .next = rotates ? &next : NULL,
    };
    pr_signed_t made;
    pr_error_t error = {0};
    pr_signed_init(&made);
    if (pr_sign(&request, &made, &error) != PR_OK) {
        printf("error: %s\n", error.text);
    } else {
        for (uint32_t i = 0; i < made.count; i++) {
            printf("%s: %s\n", made.headers[i].name, made.headers[i].value);
        }
        pr_bytes_t body = made.body_replaced ? pr_buffer_bytes(&made.body) : request.body;
        char *hex = pr_calloc(body.len * 2 + 1, 1);
        pr_hex(body, hex);
        printf("Content-Type: %s\nbody: %s\n", made.content_type, hex);
        pr_free(hex);
    }
    pr_signed_free(&made);
}

static void verify(char **field)
{
    pr_secret_t secret;
    if (secret_from(field[1], &secret)) {
        puts(pr_verify_standard(&secret, field[2], field[3], unhex(field[5]), field[4]) ? "true"
                                                                                        : "false");
    }
}

static void form(char **field)
{
    pr_secret_t secret;
    if (secret_from(field[2], &secret)) {
        puts(pr_verify_form(pr_scheme_parse(field[1]), &secret, unhex(field[3])) ? "true"
                                                                                 : "false");
    }
}

static void public_key(char **field)
{
    pr_secret_t secret;
    char text[PR_SECRET_TEXT_MAX];
    if (secret_from(field[1], &secret)) {
        pr_secret_public_text(&secret, text);
        puts(text);
    }
}

int main(void)
{
    static const struct {
        const char *name;
        size_t fields;
        void (*run)(char **field);
    } commands[] = {
        {"sign", 7, sign}, {"verify", 6, verify}, {"form", 4, form}, {"public", 2, public_key}};
    char *line = pr_calloc(LINE_MAX_BYTES, 1);
    while (fgets(line, LINE_MAX_BYTES, stdin)) {
        char *field[FIELDS] = {0};
        size_t count = 0;
        line[strcspn(line, "\n")] = '\0';
        for (char *rest = line; rest && count < FIELDS; count++) {
            field[count] = strsep(&rest, "\t");
        }
        for (size_t i = 0; i < PR_COUNT(commands); i++) {
            if (strcmp(field[0], commands[i].name) == 0 && count == commands[i].fields) {
                commands[i].run(field);
            }
        }
        puts(".");
        fflush(stdout);
    }
    pr_free(line);
    return 0;
}
