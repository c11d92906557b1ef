/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/approval.h"

#include "cli/command.h"
#include "cli/door.h"
#include "sql/console.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const pr_arg_t list_options[] = {
    {"state", PR_ARG_CHOICE, "open|executed|rejected|withdrawn|expired|stale|all", "in which state (default open)", 0, 0},
    {"action", PR_ARG_TEXT, "ACTION", "only payment.refund, payment.decide ...", 0, 0},
    {"asked-by", PR_ARG_TEXT, "NAME", "only this operator's", 0, 0},
    PR_ARG_PAGE,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t decide_options[] = {
    PR_ARG_REASON_NEEDED,
    {"hash", PR_ARG_TEXT, "HEX", "content_hash of what you have seen: `approval show` prints it (needed to approve)", 0, 0},
    PR_DOOR_PASSWORD_OPTION,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
static const pr_arg_t withdraw_options[] = {
    PR_ARG_REASON_NEEDED,
    {NULL, PR_ARG_NONE, NULL, NULL, 0, 0},
};
/* clang-format on */
static const char *const list_fields[] = {"id",       "state",      "action",   "object",
                                          "amount",   "currency",   "order_no", "asked_by",
                                          "asked_at", "expires_at", NULL};
static const char *const show_fields[] = {
    "id",         "state",        "action",   "object",     "payment_id", "merchant_id",
    "order_no",   "amount",       "currency", "content",    "asked_by",   "asked_at",
    "ask_reason", "expires_at",   "stale",    "decided_by", "decided_at", "decide_reason",
    "result",     "content_hash", NULL};

static int list(pr_console_t *console, const pr_args_t *args)
{
    static const char *const names[] = {"state", "action", "asked-by", "limit", "after", NULL};
    return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_APPROVALS_LIST],
                        pr_door_arguments(args, names), list_fields, "nothing waits");
}

/* {"id": ...}, or NULL: it was told what is wrong. */
static json_t *with_id(const pr_args_t *args, int *code)
{
    int64_t id = 0;
    *code = pr_console_id(args->positional[0], "request", &id);
    return *code == PR_EXIT_OK ? json_pack("{s:I}", "id", (json_int_t)id) : NULL;
}

static int show(pr_console_t *console, const pr_args_t *args)
{
    int code = PR_EXIT_OK;
    json_t *arguments = with_id(args, &code);
    return arguments == NULL ? code
                             : pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_APPROVAL_SHOW],
                                            arguments, show_fields, "");
}

static int decide(pr_console_t *console, const pr_args_t *args, const char *decision)
{
    int code = PR_EXIT_OK;
    json_t *arguments = with_id(args, &code);
    if (arguments != NULL && (code = pr_door_prove(console, args)) == PR_EXIT_OK) {
        json_object_set_new(arguments, "decision", json_string(decision));
        json_object_set_new(arguments, "reason", json_string(pr_args_text(args, "reason")));
        if (pr_args_given(args, "hash")) {
            json_object_set_new(arguments, "content_hash", json_string(pr_args_text(args, "hash")));
        }
        return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_APPROVAL_DECIDE], arguments,
                            show_fields, "");
    }
    json_decref(arguments);
    return code;
}

static int approve(pr_console_t *console, const pr_args_t *args)
{
    return decide(console, args, "approve");
}

static int reject(pr_console_t *console, const pr_args_t *args)
{
    return decide(console, args, "reject");
}

static int withdraw(pr_console_t *console, const pr_args_t *args)
{
    int code = PR_EXIT_OK;
    json_t *arguments = with_id(args, &code);
    if (arguments == NULL) {
        return code;
    }
    json_object_set_new(arguments, "reason", json_string(pr_args_text(args, "reason")));
    return pr_door_call(console, &pr_sql_console[PR_SQL_CONSOLE_APPROVAL_WITHDRAW], arguments,
                        show_fields, "");
}

static int with_reason(const pr_args_t *args, int (*fn)(pr_console_t *, const pr_args_t *))
{
    const char *reason = pr_args_text(args, "reason");
    if (reason == NULL || reason[0] == '\0') {
        return pr_console_usage("--reason is needed: it is written down");
    }
    return pr_console_with(args, fn);
}

static int approval_list(const pr_args_t *args)
{
    return pr_console_with(args, list);
}

static int approval_show(const pr_args_t *args)
{
    return pr_console_with(args, show);
}

static int approval_approve(const pr_args_t *args)
{
    if (!pr_args_given(args, "hash")) {
        return pr_console_usage("--hash is needed: the content_hash that `approval show` prints");
    }
    return with_reason(args, approve);
}

static int approval_reject(const pr_args_t *args)
{
    return with_reason(args, reject);
}

static int approval_withdraw(const pr_args_t *args)
{
    return with_reason(args, withdraw);
}

int pr_approval_main(int argc, char **argv)
{
    static const pr_arg_spec_t list_spec = {
        "approval list [OPTION...]",
        "What was asked for and waits for another person, newest first.", list_options, 0, 0};
    static const pr_arg_spec_t show_spec = {
        "approval show ID", "One request: exactly what will be done, and about what.", NULL, 1, 1};
    static const pr_arg_spec_t approve_spec = {
        "approval approve ID --hash HEX --reason TEXT --operator NAME [--password-file FILE]",
        "Lets it happen, now. Not by whoever asked.", decide_options, 1, 1};
    static const pr_arg_spec_t reject_spec = {
        "approval reject ID --reason TEXT --operator NAME [--password-file FILE]",
        "Refuses it. Not by whoever asked.", decide_options, 1, 1};
    static const pr_arg_spec_t withdraw_spec = {"approval withdraw ID --reason TEXT",
                                                "Takes one's own request back.", withdraw_options,
                                                1, 1};
    static const pr_subcommand_t table[] = {{"list", &list_spec, approval_list},
                                            {"show", &show_spec, approval_show},
                                            {"approve", &approve_spec, approval_approve},
                                            {"reject", &reject_spec, approval_reject},
                                            {"withdraw", &withdraw_spec, approval_withdraw},
                                            {NULL, NULL, NULL}};
    return pr_args_group("approval", table, argc, argv);
}
