/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles by name from a directory of NAME.yaml: each is read when it is first asked for, once in
 * the life of the process. A file that was bad is read again when it is asked for again.
 */
#ifndef PR_CHANNEL_PROFILE_DIR_H
#define PR_CHANNEL_PROFILE_DIR_H

#include "gateway/gateway.h"

typedef struct pr_profile_dir_t pr_profile_dir_t;

/* path: the setting profiles_dir; "" = profiles/ of the checkout (POSTRIDER_HOME), else the one that
 * was installed beside this program. */
pr_profile_dir_t *pr_profile_dir_new(const char *path);
void pr_profile_dir_destroy(pr_profile_dir_t **self);

/* *out lives as long as self. PR_BAD: the name is none (letters, digits, '-', '_'), there is no such
 * file, or it is no profile; error->text says which and where. */
PR_CHECK pr_rc_t pr_profile_dir_get(pr_profile_dir_t *self, const char *name,
                                    const pr_profile_t **out, pr_error_t *error);

#endif
