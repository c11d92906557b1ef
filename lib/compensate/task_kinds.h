/* SPDX-License-Identifier: Apache-2.0
 *
 * What a compensator's configuration says about kinds of tasks (setting tasks.file, docs/tasks.md):
 * how often and when a run is repeated, what goes to a person at once, and the HTTP handlers. A
 * handler is a profile (lib/gateway) with the operation act, and maybe ask, an address, and
 * parameters: templates, signatures and the rules of success are the gateways' own. An application
 * adds a kind by writing two files; no C.
 *
 *   delivery:
 *     retry: "list:1m,3m,10m,30m,1h"       when (the last repeats); C4
 *     limit: 3                             tries at most, then a person
 *     person: [OUT_OF_STOCK, unknown]      codes that go to a person at once; unknown: no answer to
 *                                          an act that may have had its effect
 *     handler: {profile: task, base_url: "https://shop.internal", ca_file: FILE,
 *               parameters: {path: deliver, secret: {file: FILE}}}
 *     second: {after: 2, profile: ...}     instead, once so many tries have failed; {after: 2, own:
 *                                          true}: Postrider's own act for this kind
 *
 * A kind that is not named has C4's list; what is done for it by whom, the database says (table
 * task_kind). Immutable once read. Secrets are wiped with it.
 */
#ifndef PR_COMPENSATE_TASK_KINDS_H
#define PR_COMPENSATE_TASK_KINDS_H

#include "channel/profile_dir.h"

#define PR_TASK_KINDS_MAX 64
#define PR_TASK_RETRY_TEXT "list:1m,3m,10m,30m,1h;jitter=10%" /* C4 */
#define PR_TASK_LIMIT 10
#define PR_TASK_PERSON_MAX 32 /* codes */

typedef struct {
    const pr_profile_t *profile; /* of the directory */
    pr_channel_t *channel;       /* the profile with its parameters */
    char *base_url;
    char *ca_pem; /* NULL: the system's */
    bool asks;    /* the profile has ask */
} pr_task_handler_t;

typedef struct {
    char *name;
    pr_retry_policy_t retry; /* scaled */
    bool has_limit;
    int limit;
    char *person[PR_TASK_PERSON_MAX];
    int person_count;
    pr_task_handler_t *handler; /* NULL: what Postrider itself does, if anything */
    int second_after;           /* 0: there is no second */
    pr_task_handler_t *second;  /* NULL with second_after: Postrider's own act */
} pr_task_kind_t;

typedef struct {
    int count;
    pr_task_kind_t *kinds[PR_TASK_KINDS_MAX];
    pr_task_kind_t other; /* every kind that is not named */
} pr_task_kinds_t;

/* text: the file's bytes; file: its name in messages. Profiles are read from dir, which must live
 * as long as *out. PR_BAD: error->text is "FILE:LINE: what is wrong; what is wanted". */
PR_CHECK pr_rc_t pr_task_kinds_parse(const char *file, pr_bytes_t text, pr_profile_dir_t *dir,
                                     double time_scale, pr_task_kinds_t **out, pr_error_t *error);
/* The same from a path; "" = no kinds are named. */
PR_CHECK pr_rc_t pr_task_kinds_load(const char *path, pr_profile_dir_t *dir, double time_scale,
                                    pr_task_kinds_t **out, pr_error_t *error);
void pr_task_kinds_destroy(pr_task_kinds_t **self);

/* Never NULL. */
const pr_task_kind_t *pr_task_kinds_find(const pr_task_kinds_t *self, const char *name);

/* For tasks_configure() in the database; the caller's string. */
char *pr_task_kinds_json(const pr_task_kinds_t *self);

#endif
