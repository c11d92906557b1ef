/* SPDX-License-Identifier: Apache-2.0
 *
 * dead-letter, the chores: sql/queries/dead-letter.
 */
#include "actors/dead-letter/dead_letter_private.h"
#include "base/assert.h"
#include "base/log.h"
#include "sql/dead_letter.h"
#include "sql/migrations.h"

#define TAKE_MAX 32    /* alerts announced in one look */
#define PURGE_MAX 1000 /* rows of a kind deleted in one statement */

static void report(const dead_t *self, pr_rc_t rc, const char *event, const pr_error_t *error)
{
    if (rc == PR_FATAL) {
        pr_actor_fail(self->actor, rc, error);
    } else if (!self->stopping) {
        pr_log_error(PR_LOG_WARN, event, error);
    }
}

static void chore_done(const dead_ref_t *ref, bool good, bool more)
{
    dead_give(ref->dead, &(pr_dead_event_t){.kind = PR_DEAD_CHORE_DONE,
                                            .chore = (pr_chore_t)ref->number,
                                            .good = good,
                                            .more = more});
}

/* The common end of a chore that failed; true when it did. */
static bool has_failed(const dead_ref_t *ref, pr_rc_t rc, const char *event,
                       const pr_error_t *error)
{
    if (rc == PR_OK) {
        return false;
    }
    report(ref->dead, rc, event, error);
    chore_done(ref, false, false);
    return true;
}

static void on_scanned(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const dead_ref_t *ref = arg;
    if (!has_failed(ref, rc, "scan.failed", error)) {
        pr_log_debug("scan.done", "open=%lld", (long long)pr_rows_i64(rows, 0, 0));
        chore_done(ref, true, false);
    }
}

/* id, kind, subject, severity, message, count */
static void on_taken(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const dead_ref_t *ref = arg;
    if (has_failed(ref, rc, "announce.failed", error)) {
        return;
    }
    for (int row = 0; row < pr_rows_count(rows); row++) {
        dead_alert_t alert = {.id = pr_rows_i64(rows, row, 0),
                              .kind = pr_rows_text(rows, row, 1),
                              .subject = pr_rows_text(rows, row, 2),
                              .severity = pr_rows_text(rows, row, 3),
                              .message = pr_rows_text(rows, row, 4),
                              .count = pr_rows_i64(rows, row, 5)};
        dead_send_alert_fact(ref->dead, &alert);
        dead_tell(ref->dead, &alert);
    }
    chore_done(ref, true, pr_rows_count(rows) == TAKE_MAX);
}

static void on_redriven(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const dead_ref_t *ref = arg;
    if (has_failed(ref, rc, "redrive.failed", error)) {
        return;
    }
    int64_t driven = pr_rows_i64(rows, 0, 0);
    if (driven > 0) {
        pr_log_info("redrive.stepped", "driven=%lld open_orders=%d", (long long)driven,
                    pr_rows_i32(rows, 0, 1));
    }
    chore_done(ref, true, false);
}

static void on_partitions(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const dead_ref_t *ref = arg;
    if (has_failed(ref, rc, "partitions.failed", error)) {
        return;
    }
    if (pr_rows_i64(rows, 0, 0) > 0) {
        pr_log_info("partitions.made", "count=%lld", (long long)pr_rows_i64(rows, 0, 0));
    }
    chore_done(ref, true, false);
}

static void on_purged(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const dead_ref_t *ref = arg;
    if (!has_failed(ref, rc, "purge.failed", error)) {
        chore_done(ref, true, pr_rows_i64(rows, 0, 0) >= PURGE_MAX);
    }
}

static void purge(dead_t *self)
{
    dead_ref_t *ref = &self->chore_refs[PR_CHORE_RETENTION];
    pr_params_clear(self->params);
    pr_params_add_i64(self->params, self->retention_ms);
    pr_params_add_i32(self->params, PURGE_MAX);
    if (pr_db_query(self->db, PR_SQL_DEAD_LETTER_PURGE_HISTORY, self->params, on_purged, ref) !=
        PR_OK) {
        chore_done(ref, false, false);
    }
}

static void on_dropped(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const dead_ref_t *ref = arg;
    if (has_failed(ref, rc, "retention.waits", error)) {
        return;
    }
    if (!pr_rows_null(rows, 0, 0)) {
        pr_log_info("retention.dropped", "partition=%s kept=%lld", pr_rows_text(rows, 0, 0),
                    (long long)pr_rows_i64(rows, 0, 1));
        chore_done(ref, true, true);
        return;
    }
    purge(ref->dead); /* all partitions are young enough: now what lives outside them */
}

void dead_db_chore(dead_t *self, pr_chore_t chore)
{
    static const struct {
        int statement;
        pr_db_result_fn *done;
    } table[PR_CHORES] = {
        [PR_CHORE_SCAN] = {PR_SQL_DEAD_LETTER_SCAN_DEAD, on_scanned},
        [PR_CHORE_ANNOUNCE] = {PR_SQL_DEAD_LETTER_TAKE_ALERTS, on_taken},
        [PR_CHORE_REDRIVE] = {PR_SQL_DEAD_LETTER_STEP_REDRIVES, on_redriven},
        [PR_CHORE_PARTITIONS] = {PR_SQL_DEAD_LETTER_ENSURE_PARTITIONS, on_partitions},
        [PR_CHORE_RETENTION] = {PR_SQL_DEAD_LETTER_DROP_HISTORY, on_dropped},
    };
    pr_params_clear(self->params);
    if (chore == PR_CHORE_SCAN) {
        pr_params_add_i64(self->params, self->threshold);
    } else if (chore == PR_CHORE_ANNOUNCE) {
        pr_params_add_i32(self->params, TAKE_MAX);
    } else if (chore != PR_CHORE_REDRIVE) {
        pr_params_add_i64(self->params, self->retention_ms);
    }
    dead_ref_t *ref = &self->chore_refs[chore];
    if (pr_db_query(self->db, table[chore].statement, self->params, table[chore].done, ref) !=
        PR_OK) {
        chore_done(ref, false, false);
    }
}

/* ---- alerts that came as facts: id, fresh, count ---- */

static void on_raised(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const dead_ref_t *ref = arg;
    dead_t *self = ref->dead;
    const pr_alert_entry_t *entry = &self->step.inbox.entries[ref->number];
    if (rc != PR_OK) {
        report(self, rc, "alert.not_written", error);
    } else if (pr_rows_bool(rows, 0, 1)) {
        dead_tell(self, &(dead_alert_t){.id = pr_rows_i64(rows, 0, 0),
                                        .kind = entry->kind,
                                        .subject = entry->subject,
                                        .severity = pr_alert_severity_name(entry->severity),
                                        .message = entry->message,
                                        .count = pr_rows_i64(rows, 0, 2)});
    }
    /* refused for good (PR_BAD): forgotten, or it would come for ever */
    dead_give(self, &(pr_dead_event_t){.kind = PR_DEAD_RAISED,
                                       .slot = ref->number,
                                       .good = rc == PR_OK || rc == PR_BAD});
}

void dead_db_raise(dead_t *self, int slot)
{
    const pr_alert_entry_t *entry = &self->step.inbox.entries[slot];
    pr_params_clear(self->params);
    pr_params_add_text(self->params, entry->kind);
    pr_params_add_text(self->params, entry->subject);
    pr_params_add_text(self->params, pr_alert_severity_name(entry->severity));
    pr_params_add_text(self->params, entry->message);
    if (pr_db_query(self->db, PR_SQL_DEAD_LETTER_ANNOUNCE_ALERT, self->params, on_raised,
                    &self->raise_refs[slot]) != PR_OK) {
        dead_give(self, &(pr_dead_event_t){.kind = PR_DEAD_RAISED, .slot = slot});
    }
}

/* ---- connection ---- */

static void on_ready(void *arg)
{
    dead_t *self = arg;
    pr_actor_ready(self->actor);
    dead_give(self, &(pr_dead_event_t){.kind = PR_DEAD_CONNECTED});
}

static void on_lost(void *arg)
{
    dead_give(arg, &(pr_dead_event_t){.kind = PR_DEAD_DISCONNECTED});
}

void dead_db_open(dead_t *self, const pr_config_t *config)
{
    self->db = pr_db_new(&(pr_db_options_t){.url = pr_config_text(config, "database.url"),
                                            .application_name = "postrider dead-letter",
                                            .role = "postrider_dead_letter",
                                            .statements = pr_sql_dead_letter,
                                            .nstatements = PR_SQL_DEAD_LETTER_COUNT,
                                            .schema_version = pr_migrations_count,
                                            .on_ready = on_ready,
                                            .on_lost = on_lost,
                                            .arg = self});
    pr_loop_add_db(pr_actor_loop(self->actor), self->db);
}
