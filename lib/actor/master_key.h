/* SPDX-License-Identifier: Apache-2.0
 *
 * The master key from its file (setting master_key_file), for processes that open sealed secrets.
 */
#ifndef PR_ACTOR_MASTER_KEY_H
#define PR_ACTOR_MASTER_KEY_H

#include "base/error.h"
#include "sign/seal.h"

/* path: the setting. PR_BAD: not set, unreadable or malformed; error->text says what to do. The
 * caller wipes *out. */
PR_CHECK pr_rc_t pr_master_key_load(const char *path, pr_master_key_t *out, pr_error_t *error);

#endif
