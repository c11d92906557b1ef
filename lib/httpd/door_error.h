/* SPDX-License-Identifier: Apache-2.0
 *
 * What an error of a door in SQL is over HTTP. Pure.
 */
#ifndef PR_HTTPD_DOOR_ERROR_H
#define PR_HTTPD_DOOR_ERROR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t status;
    const char *code; /* of the problem */
    bool told;        /* the door's own words may be passed on */
} pr_door_error_t;

/* sqlstate "": the connection was lost, or there is none. */
pr_door_error_t pr_door_error(const char *sqlstate);

#endif
