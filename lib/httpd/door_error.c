/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/door_error.h"

#include "base/alloc.h"

#include <string.h>

static const struct {
    const char *sqlstate; /* or its class */
    pr_door_error_t error;
} door_errors[] = {
    {"PR001", {422, "unknown_merchant", true}}, {"PR002", {422, "idempotency_key_reused", true}},
    {"PR003", {400, "invalid_argument", true}}, {"PR004", {422, "unknown_channel", true}},
    {"PR005", {409, "order_taken", true}},      {"PR006", {409, "move_not_allowed", true}},
    {"PR007", {422, "amount_exceeds", true}},   {"PR008", {413, "too_large", true}},
    {"PR009", {403, "not_yours", true}},        {"PR010", {403, "not_allowed", true}},
    {"PR013", {429, "too_many_resends", true}}, {"02000", {404, "not_found", false}},
    {"P0002", {404, "not_found", false}},       {"55P03", {409, "in_progress", false}},
    {"22", {400, "invalid_argument", false}},   {"23", {422, "invalid_argument", false}},
    {"08", {503, "unavailable", false}},        {"40", {503, "unavailable", false}},
    {"53", {503, "unavailable", false}},        {"55", {503, "unavailable", false}},
    {"57", {503, "unavailable", false}},        {"58", {503, "unavailable", false}},
};

pr_door_error_t pr_door_error(const char *sqlstate)
{
    if (sqlstate[0] == '\0')
        return (pr_door_error_t){503, "unavailable", false};
    for (size_t i = 0; i < PR_COUNT(door_errors); i++)
        if (strncmp(sqlstate, door_errors[i].sqlstate, strlen(door_errors[i].sqlstate)) == 0)
            return door_errors[i].error;
    return (pr_door_error_t){500, "internal", false};
}
