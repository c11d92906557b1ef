/* SPDX-License-Identifier: Apache-2.0
 *
 * Two connections. Looks, P0's moves and whatever has no higher class beside it go over `db`, which the
 * step knows. Over `bulk` go the moves of a class beside a higher one in traffic: on one connection
 * statements go one after the other, and in a flood of P2 a P0 would wait for a move before its look
 * and another one before its own. `bulk` is used once it has been checked to be the cluster that `db`
 * was checked on; while it is not there such moves go over `db`, in small pieces.
 */
#include "actors/outbox-relay/outbox_relay_io.h"

#include "actors/outbox-relay/outbox_relay.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/log.h"
#include "sql/migrations.h"
#include "sql/outbox_relay.h"

#include <inttypes.h>
#include <string.h>

#define SEVERAL 2         /* rows of one poll_busy: so many that the next has one with 85 % */
#define PIECE 4           /* of relay.batch, beside a higher class in traffic */
#define WHOLE_MOVES 15    /* after a window that move_plain leaves alone: where one is, more are */
#define STATEMENT_MS 8000 /* with PR_DB_SILENCE_MS: a silent Postgres is left within 13 s */

typedef struct relay_t relay_t;

/* What a move's answer needs to know of its question. */
typedef struct {
    relay_t *relay;
    int class_no;
    pr_db_t *db; /* over which it went */
    bool plain;  /* it was move_plain */
} asked_t;

struct relay_t {
    pr_actor_t *actor;
    pr_db_t *db;
    pr_db_t *bulk;
    bool bulk_good; /* the cluster of `bulk` is that of `db` */
    pr_params_t *params;
    pr_relay_t step;
    int timer;
    int64_t batch; /* relay.batch */
    int64_t sysid; /* of the cluster on this connection; from the check */
    asked_t asked[PR_RELAY_CLASSES];
    bool
        beside_higher[PR_RELAY_CLASSES]; /* its next move is one beside a higher class in traffic */
    /* its last move was full, or had several rows: the next one need not be asked for */
    bool sure[PR_RELAY_CLASSES];
    int whole[PR_RELAY_CLASSES]; /* so many moves to come are move_window's at once */
    bool supersedes;             /* as of the last look, some endpoint wants it (N21) */
    char reason[256];            /* why the cluster is refused */
    bool followed;               /* the timeline of this connection is known */
    bool stopping;               /* callbacks of broken-off queries lead to nothing */
};

/* A look whether classes have something to move. */
typedef struct {
    relay_t *relay;
    bool wanted[PR_RELAY_CLASSES];
} peek_t;

static void give(relay_t *self, pr_relay_event_t event);
static void move(relay_t *self, int class_no);
static void check_bulk(relay_t *self);

/* ---- answers ---- */

static void on_session(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    (void)arg;
    (void)rows;
    if (rc != PR_OK) {
        pr_log_error(PR_LOG_WARN, "relay.session_not_set", error); /* slower, not wrong */
    }
}

static void on_followed(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    relay_t *self = arg;
    self->followed = rc == PR_OK; /* if not, the check that comes after it counts as failed */
    if (rc != PR_OK && !self->stopping) {
        pr_log_error(PR_LOG_WARN, "relay.timeline_unknown", error);
    } else if (rc == PR_OK && pr_rows_bool(rows, 0, 0)) {
        pr_log_warn("relay.promoted", "sessions=ended ids=jumped_by_1000000");
    }
}

static void on_checked(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    relay_t *self = arg;
    if (rc != PR_OK || !self->followed) {
        if (rc != PR_OK && !self->stopping) {
            pr_log_error(PR_LOG_WARN, "relay.check_failed", error);
        }
        give(self, (pr_relay_event_t){.kind = PR_RELAY_CLUSTER_UNKNOWN});
        return;
    }
    self->sysid = pr_rows_i64(rows, 0, 0);
    bool good = pr_rows_bool(rows, 0, 1);
    if (!good) {
        const char *reason = pr_rows_text(rows, 0, 2);
        size_t len = strnlen(reason, sizeof self->reason - 1);
        memcpy(self->reason, reason, len);
        self->reason[len] = '\0';
    }
    if (good) {
        pr_actor_ready(self->actor);
        check_bulk(self);
    }
    give(self, (pr_relay_event_t){.kind = good ? PR_RELAY_CLUSTER_GOOD : PR_RELAY_CLUSTER_FOREIGN});
}

/* The same check, of `bulk`: it must have answered like `db`. */
static void on_bulk_checked(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    relay_t *self = arg;
    if (rc != PR_OK) {
        if (!self->stopping) {
            pr_log_error(PR_LOG_WARN, "relay.bulk_unchecked", error);
        }
        return; /* checked again when one of the two connects anew */
    }
    self->bulk_good = pr_rows_bool(rows, 0, 1) && pr_rows_i64(rows, 0, 0) == self->sysid;
}

/* A new connection, before it moves anything: it need not wait for the disk, and which cluster is it? */
static bool ask_cluster(relay_t *self, pr_db_t *db, pr_db_result_fn *on_answer)
{
    return pr_db_query(db, PR_SQL_OUTBOX_RELAY_SET_SESSION, self->params, on_session, self) ==
               PR_OK &&
           pr_db_query(db, PR_SQL_OUTBOX_RELAY_CHECK_CLUSTER, self->params, on_answer, self) ==
               PR_OK;
}

static void check_bulk(relay_t *self)
{
    self->bulk_good = false;
    pr_params_clear(self->params);
    if (pr_db_ready(self->bulk)) {
        (void)!ask_cluster(self, self->bulk, on_bulk_checked);
    }
}

static void on_superseded(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const relay_t *self = arg;
    if (rc != PR_OK &&
        !self->stopping) { /* the older ones are sent as well: allowed, if unwanted */
        pr_log_error(PR_LOG_WARN, "relay.supersede_failed", error);
    } else if (rc == PR_OK && pr_rows_i32(rows, 0, 0) > 0) {
        pr_log_debug("relay.superseded", "jobs=%d", pr_rows_i32(rows, 0, 0));
    }
}

static void supersede(relay_t *self, pr_db_t *db, int64_t last_seq, int jobs)
{
    pr_params_clear(self->params);
    pr_params_add_i64(self->params, last_seq - jobs);
    pr_params_add_i64(self->params, last_seq);
    if (pr_db_query(db, PR_SQL_OUTBOX_RELAY_SUPERSEDE, self->params, on_superseded, self) !=
        PR_OK) {
        pr_log_limited(PR_LOG_WARN, "relay.supersede_failed", "busy", "jobs=%d", jobs);
    }
}

/* columns: moved, jobs, last_seq, more, ok, and plain of move_plain */
static void on_moved(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    const asked_t *asked = arg;
    relay_t *self = asked->relay;
    if (asked->plain && rc == PR_OK && pr_rows_count(rows) > 0 && !pr_rows_bool(rows, 0, 5)) {
        self->whole[asked->class_no] = WHOLE_MOVES;
        if (!self->stopping) {
            move(self, asked->class_no); /* the step hears of one move */
        }
        return;
    }
    pr_relay_event_t event = {.kind = PR_RELAY_FAILED, .class_no = asked->class_no};
    if (rc == PR_FATAL) {
        pr_actor_fail(self->actor, rc, error);
    } else if (rc != PR_OK && !self->stopping) {
        pr_log_error(rc == PR_AGAIN ? PR_LOG_WARN : PR_LOG_ERROR, "relay.move_failed", error);
    }
    if (rc == PR_OK && (pr_rows_count(rows) == 0 || !pr_rows_bool(rows, 0, 4))) {
        event.kind = PR_RELAY_REFUSED;
        self->bulk_good = false; /* until `db` has been checked again */
    } else if (rc == PR_OK) {
        event.kind = PR_RELAY_MOVED;
        event.moved = pr_rows_i32(rows, 0, 0);
        event.last_seq = pr_rows_i64(rows, 0, 2);
        event.full = pr_rows_bool(rows, 0, 3);
        self->sure[event.class_no] = event.full || event.moved >= SEVERAL;
        pr_actor_count(self->actor, (uint64_t)event.moved);
        if (self->supersedes && pr_rows_i32(rows, 0, 1) > 0) {
            supersede(self, asked->db, event.last_seq, pr_rows_i32(rows, 0, 1));
        }
        if (event.moved > 0) {
            pr_log_debug("relay.moved", "class=%d rows=%lld jobs=%d last_seq=%lld", event.class_no,
                         (long long)event.moved, pr_rows_i32(rows, 0, 1),
                         (long long)event.last_seq);
        }
    }
    give(self, event);
}

static void on_peeked(void *arg, pr_rc_t rc, const pr_rows_t *rows, const pr_error_t *error)
{
    peek_t *peek = arg;
    relay_t *self = peek->relay;
    bool named[PR_RELAY_CLASSES] = {false};
    if (rc == PR_FATAL) {
        pr_actor_fail(self->actor, rc, error);
    } else if (rc != PR_OK && !self->stopping) {
        pr_log_error(PR_LOG_WARN, "relay.peek_failed", error);
    }
    for (int row = 0; rc == PR_OK && row < pr_rows_count(rows); row++) {
        int class_no = pr_rows_i16(rows, row, 0);
        pr_assert(class_no >= 0 && class_no < PR_RELAY_CLASSES);
        named[class_no] = true;
        self->supersedes = pr_rows_bool(rows, row, 1);
    }
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        if (peek->wanted[i] && rc != PR_OK) {
            give(self, (pr_relay_event_t){.kind = PR_RELAY_FAILED, .class_no = i});
        } else if (peek->wanted[i] && named[i]) {
            move(self, i);
        } else if (peek->wanted[i]) {
            give(self, (pr_relay_event_t){.kind = PR_RELAY_MOVED, .class_no = i});
        }
    }
    pr_free(peek);
}

/* ---- effects ---- */

/* An empty move costs four times what a look at all classes does, so we look first: an idle relay,
 * and a class without traffic beside one with, cost little. Where rows are all but certain the look
 * would only be a round trip more. */
static void peek(relay_t *self, const bool wanted[PR_RELAY_CLASSES])
{
    peek_t *look = PR_NEW(peek_t);
    look->relay = self;
    memcpy(look->wanted, wanted, sizeof look->wanted);
    pr_params_clear(self->params);
    if (pr_db_query(self->db, PR_SQL_OUTBOX_RELAY_PEEK_WINDOWS, self->params, on_peeked, look) ==
        PR_OK) {
        return;
    }
    pr_free(look);
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        if (wanted[i]) {
            give(self, (pr_relay_event_t){.kind = PR_RELAY_FAILED, .class_no = i});
        }
    }
}

static void check_cluster(relay_t *self)
{
    pr_params_clear(self->params);
    if (pr_db_query(self->db, PR_SQL_OUTBOX_RELAY_FOLLOW_TIMELINE, self->params, on_followed,
                    self) != PR_OK ||
        !ask_cluster(self, self->db, on_checked)) {
        give(self, (pr_relay_event_t){.kind = PR_RELAY_CLUSTER_UNKNOWN});
    }
}

/* The usual window goes by the statement that knows only of it: two thirds of the cost. */
static void move(relay_t *self, int class_no)
{
    asked_t *asked = &self->asked[class_no];
    asked->plain = self->whole[class_no] == 0;
    if (!asked->plain) {
        self->whole[class_no]--;
    }
    pr_params_clear(self->params);
    pr_params_add_i16(self->params, (int16_t)class_no);
    pr_params_add_i64(self->params, self->sysid);
    bool bulk = self->beside_higher[class_no] && self->bulk_good;
    bool few = self->beside_higher[class_no] && !bulk;
    int64_t piece = self->batch / PIECE > 0 ? self->batch / PIECE : 1;
    pr_params_add_i64(self->params, few ? piece : self->batch);
    asked->db = bulk ? self->bulk : self->db;
    int statement = asked->plain ? PR_SQL_OUTBOX_RELAY_MOVE_PLAIN : PR_SQL_OUTBOX_RELAY_MOVE_WINDOW;
    if (pr_db_query(asked->db, statement, self->params, on_moved, asked) != PR_OK) {
        give(self, (pr_relay_event_t){.kind = PR_RELAY_FAILED, .class_no = class_no});
    }
}

static void send_hint(relay_t *self, const int64_t last_seq[PR_RELAY_CLASSES])
{
    int64_t seqs[PR_RELAY_CLASSES];
    memcpy(seqs, last_seq, sizeof seqs);
    Postrider__V1__Hint hint = POSTRIDER__V1__HINT__INIT;
    hint.n_last_seq = PR_RELAY_CLASSES;
    hint.last_seq = seqs;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_HINT;
    envelope.hint = &hint;
    pr_actor_send_fact(self->actor, &envelope);
}

static void refuse_cluster(relay_t *self)
{
    pr_error_t error;
    pr_rc_t rc = pr_error_set(&error, PR_FATAL, "relay", "rebase",
                              "%s. Nothing is handed over until then: stop the other actors, run "
                              "`postrider migrate --rebase`, start again",
                              self->reason);
    pr_actor_fail(self->actor, rc, &error);
}

static void perform(relay_t *self, const pr_relay_action_t *action, bool wanted[PR_RELAY_CLASSES])
{
    switch (action->kind) {
    case PR_RELAY_ACTION_NONE:
        break;
    case PR_RELAY_CHECK:
        check_cluster(self);
        break;
    case PR_RELAY_MOVE:
        self->beside_higher[action->class_no] = action->beside_higher;
        if (self->sure[action->class_no]) {
            move(self, action->class_no);
        } else {
            wanted[action->class_no] = true;
        }
        break;
    case PR_RELAY_HINT:
        send_hint(self, action->last_seq);
        break;
    case PR_RELAY_STOP:
        refuse_cluster(self);
        break;
    }
}

static void give(relay_t *self, pr_relay_event_t event)
{
    if (self->stopping) {
        return;
    }
    pr_relay_action_t actions[PR_RELAY_ACTIONS_MAX];
    int count =
        pr_relay_step(&self->step, &event, pr_loop_now_ms(pr_actor_loop(self->actor)), actions);
    bool wanted[PR_RELAY_CLASSES] = {false};
    for (int i = 0; i < count; i++) {
        perform(self, &actions[i], wanted);
    }
    if (wanted[0] || wanted[1] || wanted[2]) {
        peek(self, wanted);
    }
    pr_loop_timer_at(pr_actor_loop(self->actor), self->timer, pr_relay_deadline_ms(&self->step));
}

/* ---- the loop's calls ---- */

static void on_timer(void *arg, int64_t now_ms)
{
    (void)now_ms;
    give(arg, (pr_relay_event_t){.kind = PR_RELAY_TICK});
}

static void on_ready(void *arg)
{
    relay_t *self = arg;
    give(self, (pr_relay_event_t){.kind = PR_RELAY_CONNECTED});
}

static void on_lost(void *arg)
{
    relay_t *self = arg;
    memset(self->sure, 0, sizeof self->sure);
    give(self, (pr_relay_event_t){.kind = PR_RELAY_DISCONNECTED});
    if (!self->stopping && pr_db_ready(self->bulk)) {
        pr_db_reset(self->bulk); /* where `db` goes next it is to go too */
    }
}

static void on_bulk_ready(void *arg)
{
    relay_t *self = arg;
    if (self->step.checked) {
        check_bulk(self);
    }
}

static void on_bulk_lost(void *arg)
{
    relay_t *self = arg;
    self->bulk_good = false;
}

static void stop(void **io)
{
    relay_t *self = *io;
    if (self == NULL) {
        return;
    }
    self->stopping = true;
    pr_db_t **connections[] = {&self->db, &self->bulk};
    for (size_t i = 0; i < PR_COUNT(connections); i++) {
        if (*connections[i] != NULL) {
            pr_loop_remove_db(pr_actor_loop(self->actor), *connections[i]);
            pr_db_destroy(connections[i]);
        }
    }
    pr_params_destroy(&self->params);
    pr_free(self);
    *io = NULL;
}

static pr_rc_t start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    const pr_config_t *config = pr_actor_config(actor);
    pr_relay_policy_t policy = {.busy_ms = pr_config_duration_ms(config, "relay.poll_busy"),
                                .idle_ms = pr_config_duration_ms(config, "relay.poll_idle"),
                                .scan_ms = pr_config_duration_ms(config, "relay.scan")};
    if (policy.busy_ms > policy.idle_ms || policy.idle_ms > policy.scan_ms) {
        return pr_error_set(error, PR_BAD, "config", "",
                            "relay.poll_busy <= relay.poll_idle <= relay.scan must hold, but they "
                            "are %" PRId64 ", %" PRId64 " and %" PRId64 " ms",
                            policy.busy_ms, policy.idle_ms, policy.scan_ms);
    }
    relay_t *self = PR_NEW(relay_t);
    *io = self;
    self->actor = actor;
    self->batch = pr_config_int(config, "relay.batch");
    self->params = pr_params_new();
    for (int i = 0; i < PR_RELAY_CLASSES; i++) {
        self->asked[i] = (asked_t){.relay = self, .class_no = i};
    }
    pr_relay_init(&self->step, &policy);
    self->timer = pr_loop_add_timer(pr_actor_loop(actor), INT64_MAX, 0, on_timer, self);
    pr_db_options_t options = {.url = pr_config_text(config, "database.url"),
                               .application_name = "postrider outbox-relay",
                               .role = "postrider_relay",
                               .index_plans = true,
                               .statement_timeout_ms = STATEMENT_MS,
                               .statements = pr_sql_outbox_relay,
                               .nstatements = PR_SQL_OUTBOX_RELAY_COUNT,
                               .schema_version = pr_migrations_count,
                               .on_ready = on_ready,
                               .on_lost = on_lost,
                               .arg = self};
    self->db = pr_db_new(&options);
    options.application_name = "postrider outbox-relay bulk";
    options.on_ready = on_bulk_ready;
    options.on_lost = on_bulk_lost;
    self->bulk = pr_db_new(&options);
    pr_loop_add_db(pr_actor_loop(actor), self->db);
    pr_loop_add_db(pr_actor_loop(actor), self->bulk);
    return PR_OK;
}

static void drain(void *io, int64_t now_ms)
{
    (void)now_ms;
    give(io, (pr_relay_event_t){.kind = PR_RELAY_DRAIN});
}

static bool drained(void *io)
{
    const relay_t *self = io;
    return pr_relay_drained(&self->step);
}

const pr_actor_spec_t pr_relay_spec = {
    .name = "outbox-relay",
    .summary = "Turns committed outbox rows into jobs, in commit order, each exactly once.",
    .start = start,
    .drain = drain,
    .drained = drained,
    .stop = stop,
};
