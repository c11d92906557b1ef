/* SPDX-License-Identifier: Apache-2.0
 *
 * What reconciler_io.c (life, chores) and reconciler_import.c (one file in) share. Nobody else
 * includes this.
 */
#ifndef PR_RECONCILER_PRIVATE_H
#define PR_RECONCILER_PRIVATE_H

#include "actor/actor.h"
#include "actors/reconciler/reconciler.h"
#include "channel/profile_dir.h"
#include "recon/import.h"

#include <stdio.h>

#define RECON_CHANNEL_MAX 56
#define RECON_WORD_MAX 64
#define RECON_DAY_MAX 10

/* A day whose statement is to be fetched. */
typedef struct {
    char channel[RECON_CHANNEL_MAX + 1];
    char day[RECON_DAY_MAX + 1];
    char source[RECON_WORD_MAX + 1]; /* directory | download */
    char format[RECON_WORD_MAX + 1]; /* "" = the profile's */
} recon_day_t;

typedef struct recon_io_t recon_io_t;

typedef struct {
    recon_io_t *io;
    pr_recon_chore_t chore;
} recon_ref_t;

struct recon_io_t {
    pr_actor_t *actor;
    pr_recon_t step;
    pr_db_t *db;
    pr_params_t *params;
    int timer;
    bool stopping;
    pr_profile_dir_t *profiles;
    char *url;       /* database.url */
    char *directory; /* reconciler.directory; "" = none */
    int64_t keep_calls_ms, keep_webhooks_ms, keep_statements_ms;
    recon_ref_t refs[PR_RECON_CHORES];
    int64_t matching; /* file of the match step under way */
    recon_day_t days[PR_RECON_DUE_MAX];
    int nday, next_day;
    /* the import under way */
    recon_day_t day;
    FILE *file; /* NULL: none */
    char *path;
    pr_db_sync_t *import_db;
    pr_recon_import_t *import;
    pr_recon_import_options_t what;
    pr_statement_spec_t spec;
    uint8_t *piece;
};

/* reconciler_io.c */
void recon_give(recon_io_t *self, const pr_recon_event_t *event);
/* The day's statement has not come, or not in order: it is tried again at its time. */
void recon_missed(recon_io_t *self, const char *why);

/* reconciler_import.c */
void recon_import_begin(recon_io_t *self); /* of self->day */
void recon_import_turn(recon_io_t *self);  /* one piece; nothing when none is under way */
void recon_import_drop(recon_io_t *self);  /* gives up what is under way: it leaves nothing */

#endif
