/* SPDX-License-Identifier: Apache-2.0
 *
 * What reconciler_io.c (life, chores), reconciler_import.c (one file in) and reconciler_download.c
 * (the file from its channel) share. Nobody else includes this.
 */
#ifndef PR_RECONCILER_PRIVATE_H
#define PR_RECONCILER_PRIVATE_H

#include "actor/actor.h"
#include "actors/reconciler/reconciler.h"
#include "channel/profile_dir.h"
#include "recon/fetch.h"
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
    bool correct;                    /* it takes the place of the one that is there */
} recon_day_t;

typedef struct recon_io_t recon_io_t;
typedef struct recon_download_t recon_download_t;

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
    int zone_min; /* of that day, where the channel is */
    uint8_t *piece;
    recon_download_t *download; /* NULL: none */
    int download_timer;
    char digest[130]; /* what the channel says that the file is; "" = nothing */
};

/* reconciler_io.c */
void recon_give(recon_io_t *self, const pr_recon_event_t *event);
/* The day's statement has not come, or not in order: it is tried again at its time. */
void recon_missed(recon_io_t *self, const char *why);

/* reconciler_import.c */
void recon_import_begin(recon_io_t *self); /* of self->day */
void recon_import_turn(recon_io_t *self);  /* one piece; nothing when none is under way */
void recon_import_drop(recon_io_t *self);  /* gives up what is under way: it leaves nothing */
/* The one under way is over: why it has not come, or good (it is in, and is to be matched). */
void recon_import_fail(recon_io_t *self, const char *why);
void recon_import_end(recon_io_t *self, bool good);
void recon_import_fetched(recon_io_t *self); /* self->file has it all */

/* reconciler_download.c */
/* Of self->day, with self->import_db and self->what: ends in recon_import_fetched, _end or _fail. */
void recon_download_begin(recon_io_t *self);
void recon_download_turn(recon_download_t *self, int64_t now_ms);
int64_t recon_download_deadline_ms(const recon_download_t *self);
void recon_download_drop(recon_download_t **self);

#endif
