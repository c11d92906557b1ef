/* SPDX-License-Identifier: Apache-2.0
 *
 * One statement into the database: pieces of the file in, rows out by COPY, in one transaction of
 * the caller's, in the memory of one batch.
 *
 *   BEGIN -> recon_begin -> [push -> lib/statement -> COPY]* -> recon_finish -> COMMIT
 *
 * Nothing of a file is seen before the end; whoever dies before leaves nothing. A file that cannot
 * be read to its end is kept as held, without a row (`keep_unreadable`), or not at all. Matching is
 * the database's (recon_match_step).
 *
 * Blocking (lib/db's blocking side): an actor pushes small pieces and turns its loop in between.
 * One thread.
 */
#ifndef PR_RECON_IMPORT_H
#define PR_RECON_IMPORT_H

#include "base/buffer.h"
#include "db/db.h"
#include "statement/statement.h"

typedef struct {
    const char *who;     /* a person, or "reconciler" */
    const char *channel; /* id */
    const char *day;     /* "2026-11-30" */
    const char *kind;    /* which of the day's statements; NULL: the format's name */
    const char *name;    /* as people know it: the file's name */
    const char *source;  /* file, directory, download */
    bool correct;        /* it takes the place of the one that is there */
    bool keep_unreadable;
} pr_recon_import_options_t;

typedef struct {
    int64_t file_id;
    bool held;        /* a person looks first */
    char reason[384]; /* why */
    pr_statement_totals_t totals;
} pr_recon_imported_t;

typedef struct pr_recon_import_t pr_recon_import_t;

/* Begins: takes the day's lock, refuses a statement that is there already. db is in the caller's
 * transaction and stays his; options and spec are borrowed until destroyed.
 * PR_BAD: refused (error says why: PR012 it is here already), or the spec cannot work. */
PR_CHECK pr_rc_t pr_recon_import_new(pr_db_sync_t *db, const pr_recon_import_options_t *options,
                                     const pr_statement_spec_t *spec,
                                     const pr_statement_limits_t *limits, pr_recon_import_t **out,
                                     pr_error_t *error);
void pr_recon_import_destroy(pr_recon_import_t **self);

/* The next piece. PR_OK also after the file was found unreadable (the rest is not looked at); else
 * what the database said: the caller rolls back. */
PR_CHECK pr_rc_t pr_recon_import_push(pr_recon_import_t *self, pr_bytes_t bytes, pr_error_t *error);
/* The end of the file. PR_OK: imported or held, the caller commits. PR_BAD: unreadable (and
 * keep_unreadable is off), or the same bytes are here: the caller rolls back. */
PR_CHECK pr_rc_t pr_recon_import_finish(pr_recon_import_t *self, pr_recon_imported_t *out,
                                        pr_error_t *error);

#endif
