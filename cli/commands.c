/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands, and how a name is found in it.
 */
#include "cli/alert.h"
#include "cli/approval.h"
#include "cli/audit.h"
#include "cli/bench.h"
#include "cli/breaker.h"
#include "cli/channel.h"
#include "cli/check.h"
#include "cli/command.h"
#include "cli/dead.h"
#include "cli/demo.h"
#include "cli/endpoint.h"
#include "cli/exception.h"
#include "cli/key.h"
#include "cli/merchant.h"
#include "cli/migrate.h"
#include "cli/operator.h"
#include "cli/order.h"
#include "cli/payment.h"
#include "cli/recon.h"
#include "cli/submit.h"
#include "cli/supervise.h"
#include "cli/tap.h"
#include "cli/task.h"
#include "cli/webhook.h"

#include <stddef.h>
#include <string.h>

#define NAME_MAX_BYTES 32
#define NEAR_ENOUGH 2 /* edits: one letter wrong or two swapped */

const pr_command_t pr_commands[] = {
    {"demo", "the whole story on this machine, within a minute", pr_demo_main},
    {"up", "start the topology on this machine, supervised", pr_up_main},
    {"down", "stop it gracefully", pr_down_main},
    {"status", "actors with pid, uptime and state; queue figures", pr_status_main},
    {"restart", "replace one actor while the rest runs", pr_restart_main},
    {"migrate", "create or upgrade schema and roles; safe to repeat", pr_migrate_main},
    {"tap", "every message on the bus, decoded, live", pr_tap_main},
    {"merchant", "who is told, where and how: add list show set rotate-secret test",
     pr_merchant_main},
    {"endpoint", "a merchant's addresses: list enable disable", pr_endpoint_main},
    {"channel", "payment gateways: add list show set pause resume check-profile", pr_channel_main},
    {"payment", "submit track list show refund cancel poll report", pr_payment_main},
    {"order", "everything known of an order, on one timeline", pr_order_main},
    {"task", "what waits for a person: list show resolve close", pr_task_main},
    {"webhook", "what gateways sent: list show redrive", pr_webhook_main},
    {"recon", "statements of channels against our payments: run list show differences set",
     pr_recon_main},
    {"key", "keys for HTTP: create revoke list", pr_key_main},
    {"exception", "everything that waits for a person: list summary resolve", pr_exception_main},
    {"approval", "what takes two people: list show approve reject withdraw", pr_approval_main},
    {"operator", "who may do what: list add set password disable enable tokens token revoke-token",
     pr_operator_main},
    {"audit", "what people did, and whether the log of it is whole: list verify export",
     pr_audit_main},
    {"submit", "enqueue one notification, for trying things", pr_submit_main},
    {"dead", "dead letters: list show redrive close", pr_dead_main},
    {"breaker", "circuit breakers: list reset force-open force-close", pr_breaker_main},
    {"alert", "alerts: list test resolve", pr_alert_main},
    {"check", "whether what must always hold does hold", pr_check_main},
    {"bench", "measurements: drain steady enqueue dead-merchant crash", pr_bench_command},
    {NULL, NULL, NULL},
};

const pr_command_t *pr_command_find(const char *name)
{
    for (const pr_command_t *command = pr_commands; command->name != NULL; command++) {
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance; both at most NAME_MAX_BYTES. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_BYTES + 1];
    size_t len_b = strlen(b);
    for (size_t j = 0; j <= len_b; j++) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= len_b; j++) {
            size_t above = row[j];
            size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = min3(row[j] + 1, row[j - 1] + 1, diagonal + change);
            diagonal = above;
        }
    }
    return row[len_b];
}

const char *pr_command_nearest(const char *typed)
{
    const char *nearest = NULL;
    size_t best = NEAR_ENOUGH + 1;
    if (strlen(typed) > NAME_MAX_BYTES) {
        return NULL;
    }
    for (const pr_command_t *command = pr_commands; command->name != NULL; command++) {
        size_t edits = distance(typed, command->name);
        if (edits < best) {
            best = edits;
            nearest = command->name;
        }
    }
    return nearest;
}
