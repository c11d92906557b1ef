/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of lib/gateway, as numbers and as texts.
 */
#include "base/alloc.h"
#include "gateway/profile.h"

#include <string.h>

static const char *const operations[PR_OPERATIONS] = {
    "",       "token",        "charge", "capture",   "query",           "find",
    "refund", "query_refund", "close",  "statement", "statement_again", "statement_file",
    "act",    "ask"};
static const char *const statuses[PR_STATUSES] = {
    "",          "PENDING", "SUCCEEDED", "FAILED", "CANCELLED", "REFUNDED", "PARTIALLY_REFUNDED",
    "NOT_FOUND", "UNKNOWN"};
static const char *const actions[PR_ACTIONS] = {"none",     "retry",           "query_first",
                                                "back_off", "longer_interval", "fail_now",
                                                "person",   "stop_channel"};
static const char *const follow_ups[PR_FOLLOW_UPS] = {"none", "capture", "query_refunds"};
static const char *const objects[PR_OBJECTS] = {"none", "payment", "refund", "dispute"};
static const char *const compares[PR_COMPARES] = {"same",   "account",  "number",
                                                  "amount", "currency", "flawed"};

static const char *name_of(const char *const *names, size_t count, size_t value)
{
    return value < count ? names[value] : "?";
}

static size_t value_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (names[i][0] && strcmp(names[i], name) == 0)
            return i;
    return 0;
}

const char *pr_operation_name(pr_operation_t operation)
{
    return name_of(operations, PR_COUNT(operations), operation);
}

const char *pr_status_name(pr_status_t status)
{
    return name_of(statuses, PR_COUNT(statuses), status);
}

const char *pr_action_name(pr_action_t action)
{
    return name_of(actions, PR_COUNT(actions), action);
}

const char *pr_follow_up_name(pr_follow_up_t follow_up)
{
    return name_of(follow_ups, PR_COUNT(follow_ups), follow_up);
}

const char *pr_object_name(pr_object_t object)
{
    return name_of(objects, PR_COUNT(objects), object);
}

const char *pr_compare_name(pr_compare_t result)
{
    return name_of(compares, PR_COUNT(compares), result);
}

pr_operation_t pr_operation_find(const char *name)
{
    return (pr_operation_t)value_of(operations, PR_COUNT(operations), name);
}

pr_status_t pr_status_find(const char *name)
{
    return (pr_status_t)value_of(statuses, PR_COUNT(statuses), name);
}

pr_action_t pr_action_find(const char *name)
{
    return (pr_action_t)value_of(actions, PR_COUNT(actions), name);
}

pr_follow_up_t pr_follow_up_find(const char *name)
{
    return (pr_follow_up_t)value_of(follow_ups, PR_COUNT(follow_ups), name);
}

pr_object_t pr_object_find(const char *name)
{
    return (pr_object_t)value_of(objects, PR_COUNT(objects), name);
}

pr_compare_t pr_compare_find(const char *name)
{
    return (pr_compare_t)value_of(compares, PR_COUNT(compares), name);
}
