/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that others put there are opened without trusting what they are: a pipe would hold the whole process until somebody
 * writes into it, a link may lead to what whoever put it there must not read.
 */
#ifndef PR_BASE_REGULAR_FILE_H
#define PR_BASE_REGULAR_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* For reading; owned by the caller. NULL with errno: EISDIR a directory, ENOTSUP a pipe, a device or a socket, ELOOP a link where
 * links are not followed, and what open(2) says. */
FILE *pr_open_regular_file(const char *path, bool follow_link);

#endif
