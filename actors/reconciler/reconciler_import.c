/* SPDX-License-Identifier: Apache-2.0
 *
 * One statement from the directory (or, downloaded, from a file without a name) into the database, a
 * piece a turn of the loop, in one transaction: whatever happens before its end, nothing of it is
 * there.
 *
 *   DIRECTORY/CHANNEL/2026-11-30*     the first by name; hidden files and *.part are not looked at
 */
#include "actors/reconciler/reconciler_private.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/regular_file.h"
#include "recon/spec.h"
#include "sql/recon.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

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
    recon_download_drop(&self->download);
    pr_recon_import_destroy(&self->import);
    pr_db_sync_destroy(&self->import_db); /* and with it the transaction */
    if (self->file != NULL) {
        (void)fclose(self->file);
        self->file = NULL;
    }
    pr_free(self->path);
    self->path = NULL;
    self->digest[0] = '\0';
}

void recon_import_end(recon_io_t *self, bool good)
{
    recon_import_drop(self);
    recon_give(self, &(pr_recon_event_t){.kind = PR_RECON_IMPORT_DONE, .good = good});
}

/* why may stand in what is dropped. */
void recon_import_fail(recon_io_t *self, const char *why)
{
    pr_log(PR_LOG_WARN, "statement.missed", "channel=%s date=%s source=%s text=%s",
           self->day.channel, self->day.day, self->day.source, why);
    recon_missed(self, why);
    recon_import_end(self, false);
}

static void succeed(recon_io_t *self, const pr_recon_imported_t *imported)
{
    pr_log(imported->held ? PR_LOG_WARN : PR_LOG_INFO, "statement.imported",
           "file=%lld channel=%s date=%s rows=%llu bad=%llu held=%d reason=%s",
           (long long)imported->file_id, self->day.channel, self->day.day,
           (unsigned long long)imported->totals.rows, (unsigned long long)imported->totals.bad,
           imported->held, imported->reason);
    pr_actor_count(self->actor, 1);
    recon_import_end(self, !imported->held);
}

/* ---- under way ---- */

/* The connection, and how the channel's statements are read. */
static pr_rc_t prepare(recon_io_t *self, pr_error_t *error)
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
    self->zone_min = rc == PR_OK ? pr_rows_i32(rows, 0, 2) : 0;
    self->what = (pr_recon_import_options_t){.who = "reconciler",
                                             .channel = self->day.channel,
                                             .day = self->day.day,
                                             .kind = kind,
                                             .source = self->day.source,
                                             .correct = self->day.correct};
    return rc;
}

/* Said before anything is fetched or read, not after. */
static pr_rc_t check_unknown(const recon_io_t *self, pr_error_t *error)
{
    PR_CLEANUP(pr_rows) pr_rows_t *rows = NULL;
    pr_params_clear(self->params);
    pr_params_add_text(self->params, self->day.channel);
    pr_params_add_text(self->params, self->day.day);
    pr_params_add_text(self->params, self->what.kind);
    pr_rc_t rc = pr_db_sync_query(self->import_db, pr_sql_recon[PR_SQL_RECON_KNOWN].sql,
                                  self->params, &rows, error);
    if (rc != PR_OK || pr_rows_count(rows) == 0 || self->day.correct) {
        return rc;
    }
    return pr_error_set(error, PR_BAD, "recon", "",
                        "the statement of that day (%s) is here: number %lld, %s; if this one "
                        "corrects it, say so (--correct)",
                        self->what.kind, (long long)pr_rows_i64(rows, 0, 0),
                        pr_rows_text(rows, 0, 1));
}

/* Its transaction with the file begun. */
static void begin_file(recon_io_t *self)
{
    pr_error_t error;
    if (pr_db_sync_query(self->import_db, "BEGIN", NULL, NULL, &error) != PR_OK ||
        pr_recon_import_new(self->import_db, &self->what, &self->spec, NULL, &self->import,
                            &error) != PR_OK) {
        recon_import_fail(self, error.text);
        return;
    }
    pr_loop_again(pr_actor_loop(self->actor));
}

/* What cannot be read was perhaps cut on its way: it is fetched again, not held. */
void recon_import_fetched(recon_io_t *self)
{
    recon_download_drop(&self->download);
    self->path = pr_asprintf("%s-%s", self->day.day, self->what.kind);
    self->what.name = self->path;
    self->what.keep_unreadable = false;
    if (fflush(self->file) != 0 || fseek(self->file, 0, SEEK_SET) != 0) {
        recon_import_fail(self, "the disk takes no more of the file (reconciler.temp_dir)");
        return;
    }
    begin_file(self);
}

static void begin_directory(recon_io_t *self)
{
    if (self->directory[0] == '\0') {
        recon_import_fail(self, "reconciler.directory is not set: say where files are dropped");
        return;
    }
    self->path = find(self);
    if (self->path == NULL) {
        recon_import_fail(self, "no file of that day is in the directory");
        return;
    }
    self->file = pr_open_regular_file(self->path, false); /* others may write into it */
    if (self->file == NULL) {
        recon_import_fail(self, strerrorname_np(errno));
        return;
    }
    const char *slash = strrchr(self->path, '/');
    self->what.name = slash != NULL ? slash + 1 : self->path;
    self->what.keep_unreadable = true;
    begin_file(self);
}

void recon_import_begin(recon_io_t *self)
{
    pr_error_t error;
    if (prepare(self, &error) != PR_OK || check_unknown(self, &error) != PR_OK) {
        recon_import_fail(self, error.text);
    } else if (strcmp(self->day.source, "download") == 0) {
        recon_download_begin(self);
    } else {
        begin_directory(self);
    }
}

static bool is_what_was_said(const recon_io_t *self, const pr_recon_imported_t *imported)
{
    return self->digest[0] == '\0' || strcasecmp(self->digest, imported->totals.plain_sha1) == 0;
}

static void finish(recon_io_t *self)
{
    pr_recon_imported_t imported;
    pr_error_t error;
    pr_rc_t rc = pr_recon_import_finish(self->import, &imported, &error);
    if (rc == PR_OK && !is_what_was_said(self, &imported)) {
        rc = pr_error_set(&error, PR_BAD, "recon", "digest",
                          "the file is not the one that the channel announced (SHA-1 %s, not %s): "
                          "nothing of it is imported",
                          imported.totals.plain_sha1, self->digest);
    }
    if (rc == PR_OK) {
        rc = pr_db_sync_query(self->import_db, "COMMIT", NULL, NULL, &error);
    }
    if (rc != PR_OK) {
        recon_import_fail(self, error.text);
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
        recon_import_fail(self, "the file cannot be read to its end");
    } else if (len == 0) {
        finish(self);
    } else if (pr_recon_import_push(self->import, pr_bytes(self->piece, len), &error) != PR_OK) {
        recon_import_fail(self, error.text);
    } else {
        pr_loop_again(pr_actor_loop(self->actor));
    }
}
