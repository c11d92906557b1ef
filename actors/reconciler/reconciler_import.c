/* SPDX-License-Identifier: Apache-2.0
 *
 * One statement from the directory into the database, a piece a turn of the loop, in one
 * transaction: whatever happens before its end, nothing of it is there.
 *
 *   DIRECTORY/CHANNEL/2026-11-30*     the first by name; hidden files and *.part are not looked at
 */
#include "actors/reconciler/reconciler_private.h"
#include "base/alloc.h"
#include "base/log.h"
#include "recon/spec.h"
#include "sql/recon.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#define PIECE_BYTES (256u << 10)

/* ---- finding ---- */

static bool fits(const char *name, const char *day)
{
    size_t len = strlen(name);
    return strncmp(name, day, RECON_DAY_MAX) == 0 &&
           !(len > 5 && strcmp(name + len - 5, ".part") == 0);
}

/* The caller's path; NULL: none is there. */
static char *find(const recon_io_t *self)
{
    PR_CLEANUP_FREE char *folder = pr_asprintf("%s/%s", self->directory, self->day.channel);
    PR_CLEANUP_FREE char *found = NULL;
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return NULL;
    }
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        if (fits(e->d_name, self->day.day) && (found == NULL || strcmp(e->d_name, found) < 0)) {
            pr_free(found);
            found = pr_strdup(e->d_name);
        }
    }
    (void)closedir(entries);
    return found != NULL ? pr_asprintf("%s/%s", folder, found) : NULL;
}

/* ---- the end of an import ---- */

void recon_import_drop(recon_io_t *self)
{
    pr_recon_import_destroy(&self->import);
    pr_db_sync_destroy(&self->import_db); /* and with it the transaction */
    if (self->file != NULL) {
        (void)fclose(self->file);
        self->file = NULL;
    }
    pr_free(self->path);
    self->path = NULL;
}

static void fail(recon_io_t *self, const char *why)
{
    pr_log(PR_LOG_WARN, "statement.missed", "channel=%s date=%s source=%s text=%s",
           self->day.channel, self->day.day, self->day.source, why);
    recon_import_drop(self);
    recon_missed(self, why);
    recon_give(self, &(pr_recon_event_t){.kind = PR_RECON_IMPORT_DONE});
}

static void succeed(recon_io_t *self, const pr_recon_imported_t *imported)
{
    pr_log(imported->held ? PR_LOG_WARN : PR_LOG_INFO, "statement.imported",
           "file=%lld channel=%s date=%s rows=%llu bad=%llu held=%d reason=%s",
           (long long)imported->file_id, self->day.channel, self->day.day,
           (unsigned long long)imported->totals.rows, (unsigned long long)imported->totals.bad,
           imported->held, imported->reason);
    recon_import_drop(self);
    pr_actor_count(self->actor, 1);
    recon_give(self, &(pr_recon_event_t){.kind = PR_RECON_IMPORT_DONE, .good = !imported->held});
}

/* ---- under way ---- */

/* How the channel's statements are read, and the connection's transaction with the file begun. */
static pr_rc_t open_import(recon_io_t *self, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_rc_t rc = pr_db_sync_connect(self->url, "postrider_reconciler", &self->import_db, error);
    if (rc == PR_OK) {
        pr_params_clear(self->params);
        pr_params_add_text(self->params, self->day.channel);
        pr_params_add_text(self->params, self->day.day);
        rc = pr_db_sync_query(self->import_db, pr_sql_recon[PR_SQL_RECON_SETTINGS].sql,
                              self->params, &rows, error);
    }
    if (rc == PR_OK && pr_rows_count(rows) == 0) {
        return pr_error_set(error, PR_BAD, "recon", "", "there is no channel %s",
                            self->day.channel);
    }
    const char *kind = NULL;
    if (rc == PR_OK) {
        rc = pr_recon_spec_of(self->profiles, pr_rows_text(rows, 0, 0), self->day.format,
                              pr_rows_i32(rows, 0, 2), &self->spec, &kind, error);
    }
    if (rc == PR_OK) {
        rc = pr_db_sync_query(self->import_db, "BEGIN", NULL, NULL, error);
    }
    const char *slash = strrchr(self->path, '/');
    self->what = (pr_recon_import_options_t){.who = "reconciler",
                                             .channel = self->day.channel,
                                             .day = self->day.day,
                                             .kind = kind,
                                             .name = slash != NULL ? slash + 1 : self->path,
                                             .source = self->day.source,
                                             .keep_unreadable = true};
    return rc == PR_OK ? pr_recon_import_new(self->import_db, &self->what, &self->spec, NULL,
                                             &self->import, error)
                       : rc;
}

void recon_import_begin(recon_io_t *self)
{
    pr_error_t error;
    if (strcmp(self->day.source, "directory") != 0) {
        fail(self, "it is not in a directory: fetching is not built in, drop it there");
        return;
    }
    if (self->directory[0] == '\0') {
        fail(self, "reconciler.directory is not set");
        return;
    }
    self->path = find(self);
    if (self->path == NULL) {
        fail(self, "no file of that day is in the directory");
        return;
    }
    self->file = fopen(self->path, "rbe");
    if (self->file == NULL) {
        fail(self, strerrorname_np(errno));
        return;
    }
    if (open_import(self, &error) != PR_OK) {
        fail(self, error.text);
        return;
    }
    pr_loop_again(pr_actor_loop(self->actor));
}

static void finish(recon_io_t *self)
{
    pr_recon_imported_t imported;
    pr_error_t error;
    if (pr_recon_import_finish(self->import, &imported, &error) != PR_OK ||
        pr_db_sync_query(self->import_db, "COMMIT", NULL, NULL, &error) != PR_OK) {
        fail(self, error.text);
        return;
    }
    succeed(self, &imported);
}

void recon_import_turn(recon_io_t *self)
{
    pr_error_t error;
    if (self->import == NULL) {
        return;
    }
    if (self->piece == NULL) {
        self->piece = pr_calloc(PIECE_BYTES, 1);
    }
    size_t len = fread(self->piece, 1, PIECE_BYTES, self->file);
    if (len == 0 && ferror(self->file)) {
        fail(self, "the file cannot be read to its end");
    } else if (len == 0) {
        finish(self);
    } else if (pr_recon_import_push(self->import, pr_bytes(self->piece, len), &error) != PR_OK) {
        fail(self, error.text);
    } else {
        pr_loop_again(pr_actor_loop(self->actor));
    }
}
