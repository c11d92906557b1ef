/* SPDX-License-Identifier: Apache-2.0 */
#include "actors/ingress/door_arguments.h"

#include "base/alloc.h"
#include "base/json_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pr_member_t submit_members[] = {{"merchant_id", PR_MEMBER_TEXT, true},
                                             {"order_no", PR_MEMBER_TEXT, true},
                                             {"channel", PR_MEMBER_TEXT, true},
                                             {"amount", PR_MEMBER_INTEGER, true},
                                             {"currency", PR_MEMBER_TEXT, true},
                                             {"request", PR_MEMBER_OBJECT, false},
                                             {"options", PR_MEMBER_OBJECT, false},
                                             {"wait_s", PR_MEMBER_APART, false},
                                             {"gateway_reference", PR_MEMBER_TEXT, false},
                                             {"expires_at", PR_MEMBER_TEXT, false},
                                             {NULL, PR_MEMBER_TEXT, false}};
static const pr_member_t refund_members[] = {{"refund_no", PR_MEMBER_TEXT, true},
                                             {"amount", PR_MEMBER_INTEGER, true},
                                             {"reason", PR_MEMBER_TEXT, false},
                                             {NULL, PR_MEMBER_TEXT, false}};
static const pr_member_t cancel_members[] = {{"reason", PR_MEMBER_TEXT, true},
                                             {NULL, PR_MEMBER_TEXT, false}};
static const pr_member_t notification_members[] = {
    {"merchant_id", PR_MEMBER_TEXT, true},  {"order_no", PR_MEMBER_TEXT, true},
    {"event", PR_MEMBER_TEXT, true},        {"payload", PR_MEMBER_OBJECT, true},
    {"amount", PR_MEMBER_INTEGER, false},   {"currency", PR_MEMBER_TEXT, false},
    {"priority", PR_MEMBER_INTEGER, false}, {"notify_url", PR_MEMBER_TEXT, false},
    {"status", PR_MEMBER_TEXT, false},      {"version", PR_MEMBER_INTEGER, false},
    {"occurred_at", PR_MEMBER_TEXT, false}, {NULL, PR_MEMBER_TEXT, false}};
static const pr_member_t fulfilment_members[] = {{"merchant_id", PR_MEMBER_TEXT, true},
                                                 {"order_no", PR_MEMBER_TEXT, true},
                                                 {"state", PR_MEMBER_TEXT, true},
                                                 {"reference", PR_MEMBER_TEXT, false},
                                                 {NULL, PR_MEMBER_TEXT, false}};
static const pr_member_t no_members[] = {{NULL, PR_MEMBER_TEXT, false}};

static const struct {
    const char *operation;
    const pr_member_t *members;
} tables[] = {{"payment.submit", submit_members},  {"payment.refund", refund_members},
              {"payment.cancel", cancel_members},  {"notification", notification_members},
              {"notification.resend", no_members}, {"fulfilment", fulfilment_members}};

static const pr_member_t *members_of(const char *operation)
{
    for (size_t i = 0; i < PR_COUNT(tables); i++)
        if (strcmp(tables[i].operation, operation) == 0)
            return tables[i].members;
    return no_members; /* questions */
}

static pr_rc_t take_wait(pr_bytes_t text, pr_door_arguments_t *result)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%.*s", (int)text.len, (const char *)text.data);
    result->wait_s = strtoll(digits, NULL, 10);
    if (result->wait_s >= 0 && result->wait_s <= PR_DOOR_WAIT_MAX_S)
        return PR_OK;
    result->code = "invalid_member";
    snprintf(result->member, sizeof result->member, "wait_s");
    return PR_BAD;
}

/* A payment that was made elsewhere is followed. */
static bool has_reference(pr_bytes_t arguments)
{
    static const char name[] = "gateway_reference";
    pr_json_t root, value;
    return pr_json_check(arguments, &root) == PR_OK &&
           pr_json_find(root, name, sizeof name - 1, &value) == PR_OK;
}

pr_rc_t pr_door_arguments_read(const pr_door_arguments_request_t *request, pr_buffer_t *out,
                               pr_door_arguments_t *result)
{
    pr_members_request_t said = {.members = members_of(request->operation), .body = request->body};
    pr_members_t read;
    size_t begin = out->len;
    *result = (pr_door_arguments_t){.operation = request->operation, .code = ""};
    memcpy(said.names, request->names, sizeof said.names);
    memcpy(said.values, request->values, sizeof said.values);
    pr_rc_t rc = pr_members_read(&said, out, &read);
    if (rc != PR_OK) {
        result->code = read.code;
        memcpy(result->member, read.member, sizeof result->member);
        return rc;
    }
    if (strcmp(request->operation, "payment.submit") == 0 &&
        has_reference(pr_bytes(out->data + begin, out->len - begin)))
        result->operation = "payment.track";
    return read.apart.len > 0 ? take_wait(read.apart, result) : PR_OK;
}
