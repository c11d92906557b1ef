/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider migrate: brings a database to this build's schema. Forward only, one transaction a
 * migration, one migrate at a time; what is applied stands in postrider.schema_version. Safe to
 * repeat.
 *
 * The URL's user must own postrider_owner's rights and be able to create roles: a superuser, or
 * who ran the first migration. Refused, with nothing changed: a database that a newer build has
 * migrated, and a migration whose file is not the one that was applied.
 */
#ifndef PR_CLI_MIGRATE_H
#define PR_CLI_MIGRATE_H

#include "db/db.h"

/* The command. Exit code: 0 done, 1 failed or refused, 2 usage. */
int pr_migrate_main(int argc, char **argv);

#define PR_MIGRATIONS_MAX 1000

typedef struct {
    int before; /* migrations that the database had */
    int applied;
    const char *names[PR_MIGRATIONS_MAX]; /* of the `applied` new ones, in order */
} pr_migrate_result_t;

/* Applies what is missing. *result is valid after a failure too: what was committed until then. */
PR_CHECK pr_rc_t pr_migrate_apply(pr_db_sync_t *db, pr_migrate_result_t *result, pr_error_t *error);
/* Makes the login when it is missing and grants it every actor's role. */
PR_CHECK pr_rc_t pr_migrate_grant_login(pr_db_sync_t *db, const char *login, pr_error_t *error);

#endif
