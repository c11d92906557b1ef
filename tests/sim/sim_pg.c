/* SPDX-License-Identifier: Apache-2.0
 *
 * Postgres as the protocol uses it: transaction ids and snapshots, one journal, locks that live as long as their backend.
 *
 * Statements of actors are carried out one after the other, each at one instant. Applications' transactions stay open for a
 * while: what they wrote becomes visible with their commit, and a window of the relay meets them in a snapshot's list.
 *
 * Durability: the journal keeps the former bytes of whatever is written; commits are marks in it. A crash goes back to the last
 * mark that was on disk: a commit that waited for the disk takes all before it along; one that did not (synchronous_commit = off)
 * is on disk within 600 ms. A fail-over goes back further, to what the standby had received.
 */
#include "sim_pg.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <inttypes.h>
#include <string.h>

#define MARKS_MAX 20000
#define RUNNING_MAX XIP_MAX
#define WRITER_US (600 * SIM_MS)
#define FIRST_XID 10

tables_t pg;
bool pg_dirty;

typedef struct {
    size_t offset, len;
} entry_t; /* the former bytes stand before it */

typedef struct {
    size_t journal;
    int64_t at_us;
    bool async;
} mark_t;

static uint8_t *journal;
static size_t journal_len, journal_room;
static mark_t marks[MARKS_MAX];
static int nmarks;
static int64_t running[RUNNING_MAX];
static int nrunning;
static int locks[SESSIONS_MAX]; /* pid that holds the session's advisory lock */
static int64_t up_at_us, stalled_until_us, clock_ahead_us, failing_until_us;
static int failing_percent, timeline;

void pg_touch(void *at, size_t len)
{
    size_t offset = (size_t)((uint8_t *)at - (uint8_t *)&pg), need = len + sizeof(entry_t);
    pr_assert(offset + len <= sizeof pg);
    if (offset >= offsetof(tables_t, outbox_count) && offset < offsetof(tables_t, endpoints))
        pg_dirty = true;
    if (journal_len + need > journal_room) {
        journal_room = (journal_room + need) * 2;
        journal = pr_realloc(journal, journal_room, 1);
    }
    entry_t entry = {offset, len};
    memcpy(journal + journal_len, at, len);
    memcpy(journal + journal_len + len, &entry, sizeof entry);
    journal_len += need;
}

static void undo_to(size_t mark)
{
    while (journal_len > mark) {
        entry_t entry;
        memcpy(&entry, journal + journal_len - sizeof entry, sizeof entry);
        journal_len -= sizeof entry + entry.len;
        memcpy((uint8_t *)&pg + entry.offset, journal + journal_len, entry.len);
    }
    pr_assert(journal_len == mark);
}

void pg_commit(bool async)
{
    pr_assert(nmarks < MARKS_MAX);
    if (nmarks > 0 && marks[nmarks - 1].journal == journal_len)
        return; /* it wrote nothing */
    marks[nmarks++] = (mark_t){journal_len, sim->now_us, async};
    sim_check_commit();
}

int sim_pg_mark(void)
{
    return nmarks;
}

/* ---- transaction ids ---- */

static int64_t xid_new(uint8_t state)
{
    pr_assert(pg.next_xid < XIDS_MAX);
    PG_TOUCH(pg.next_xid);
    int64_t xid = pg.next_xid++;
    PG_TOUCH(pg.xids[xid]);
    pg.xids[xid] = state;
    return xid;
}

int64_t pg_xid(void)
{
    return xid_new(XID_COMMITTED);
}

bool pg_committed(int64_t tx)
{
    return pg.xids[tx] == XID_COMMITTED;
}

snapshot_t pg_snapshot(void)
{
    snapshot_t snapshot = {.xmin = pg.next_xid, .xmax = pg.next_xid, .count = nrunning};
    for (int i = 0; i < nrunning; i++) {
        snapshot.xip[i] = running[i];
        if (running[i] < snapshot.xmin)
            snapshot.xmin = running[i];
    }
    return snapshot;
}

bool pg_in_snapshot(int64_t tx, const snapshot_t *snapshot)
{
    if (tx >= snapshot->xmax)
        return false;
    for (int i = 0; i < snapshot->count; i++)
        if (snapshot->xip[i] == tx)
            return false;
    return true;
}

int64_t pg_now_us(void)
{
    return INT64_C(1000000000000) + sim->now_us + clock_ahead_us;
}

/* ---- locks of sessions ---- */

bool pg_locked(int session, int pid)
{
    return locks[session] != 0 && locks[session] == pid;
}

int pg_lock_pid(int session)
{
    return locks[session];
}

void pg_lock(int session, int pid)
{
    locks[session] = pid;
}

void sim_pg_backend_gone(int pid)
{
    for (int i = 0; i < SESSIONS_MAX; i++)
        if (locks[i] == pid)
            locks[i] = 0;
}

/* ---- the server's life ---- */

/* The third endpoint belongs to the second merchant: some notifications have two deliveries, and those of merchant 2 none. */
static void add_endpoint(void)
{
    int64_t xid = pg_xid();
    PG_TOUCH(pg.endpoints_count);
    endpoint_tuple_t *endpoint = &pg.endpoints[pg.endpoints_count++];
    PG_TOUCH(*endpoint);
    int merchant = pg.endpoints_count == 3 ? 1 : pg.endpoints_count - 1;
    *endpoint = (endpoint_tuple_t){.id = pg.endpoints_count,
                                   .tx = xid,
                                   .merchant = merchant,
                                   .shard = (merchant * 61 + 7) % SHARDS,
                                   .active = true};
}

void sim_op_add_endpoint(void)
{
    if (!sim_pg_up() || pg.endpoints_count >= sim->endpoints)
        return;
    add_endpoint();
    sim_trace("people: add endpoint %d", pg.endpoints_count);
    pg_commit(false);
}

void sim_pg_begin(void)
{
    memset(&pg, 0, sizeof pg);
    memset(locks, 0, sizeof locks);
    journal_len = 0;
    nmarks = nrunning = 0;
    up_at_us = stalled_until_us = clock_ahead_us = failing_until_us = 0;
    failing_percent = 0;
    timeline = 1;
    pg.next_xid = FIRST_XID;
    pg.next_outbox_id = 1;
    pg.timeline = 1;
    for (int c = 0; c < SIM_CLASSES; c++) {
        pg.ticks[c].seq = (int64_t)c << CLASS_SHIFT_SIM;
        pg.ticks[c].lo = pg.ticks[c].hi = (snapshot_t){.xmin = 1, .xmax = 1};
    }
    for (int n = 0; n < SHARDS; n++)
        for (int c = 0; c < SIM_CLASSES; c++)
            pg.shards[n].low[c] = (int64_t)c << CLASS_SHIFT_SIM;
    for (int i = sim->endpoints > 3 ? (int)sim_between(3, sim->endpoints) : sim->endpoints; i > 0;
         i--)
        add_endpoint();
    pg_commit(false);
}

void sim_pg_end(void)
{
    pr_free(journal);
    journal = NULL;
    journal_len = journal_room = 0;
}

bool sim_pg_up(void)
{
    return sim->now_us >= up_at_us;
}

int64_t sim_pg_stalled_until_us(void)
{
    return stalled_until_us;
}

void sim_pg_stall(int64_t until_us)
{
    sim_trace("** Postgres stands still for %" PRId64 " ms", (until_us - sim->now_us) / SIM_MS);
    sim_check_fault(until_us);
    stalled_until_us = until_us;
}

void sim_pg_step_clock(int64_t us)
{
    sim_trace("** the clock of Postgres steps ahead by %" PRId64 " ms", us / SIM_MS);
    clock_ahead_us += us;
}

void sim_pg_fail_statements(int percent, int64_t until_us)
{
    sim_trace("** %d %% of all statements fail", percent);
    failing_percent = percent;
    failing_until_us = until_us;
    sim_check_fault(until_us);
}

int pg_real_timeline(void)
{
    return timeline;
}

/* How many marks survive. */
static int surviving(bool fail_over, int64_t lag_us)
{
    int left = nmarks;
    if (fail_over) {
        while (left > 1 && marks[left - 1].at_us > sim->now_us - lag_us)
            left--;
        return left;
    }
    int64_t written_us = sim->now_us - sim_between(0, WRITER_US);
    while (left > 1 && marks[left - 1].async && marks[left - 1].at_us > written_us)
        left--;
    return left;
}

void sim_pg_crash(int64_t down_us, bool fail_over, int64_t lag_us)
{
    int left = surviving(fail_over, lag_us);
    sim_trace("** Postgres %s, %d commits are lost; back in %" PRId64 " ms",
              fail_over ? "fails over" : "crashes", nmarks - left, down_us / SIM_MS);
    sim_check_fault(sim->now_us + down_us);
    sim_db_server_down();
    undo_to(marks[left - 1].journal);
    nmarks = left;
    for (int i = 0; i < nrunning; i++)
        if (running[i] < pg.next_xid)
            pg.xids[running[i]] = XID_ABORTED;
    for (int64_t xid = FIRST_XID; xid < pg.next_xid; xid++)
        if (pg.xids[xid] == XID_RUNNING)
            pg.xids[xid] = XID_ABORTED;
    nrunning = 0;
    memset(locks, 0, sizeof locks);
    timeline += fail_over;
    up_at_us = sim->now_us + down_us;
    stalled_until_us = 0;
    sim_check_pg_crash(fail_over);
}

/* ---- rows ---- */

outbox_row_t *pg_outbox(int64_t id)
{
    for (int i = 0; i < pg.outbox_count; i++)
        if (pg.outbox[i].id == id)
            return &pg.outbox[i];
    return NULL;
}

endpoint_tuple_t *pg_endpoint(int64_t id)
{
    return id > 0 && id <= pg.endpoints_count ? &pg.endpoints[id - 1] : NULL;
}

dead_row_t *pg_dead(int64_t outbox_id, int64_t endpoint)
{
    for (int i = 0; i < pg.dead_count; i++)
        if (pg.dead[i].outbox_id == outbox_id && pg.dead[i].endpoint == endpoint)
            return &pg.dead[i];
    return NULL;
}

bool pg_is_cancelled(int64_t outbox_id, int64_t endpoint)
{
    for (int i = 0; i < pg.cancelled_count; i++)
        if (pg.cancelled[i].outbox_id == outbox_id && pg.cancelled[i].endpoint == endpoint)
            return true;
    return false;
}

bool pg_moved(const outbox_row_t *row)
{
    const tick_row_t *tick = &pg.ticks[row->class_no];
    if (!tick->more)
        return pg_in_snapshot(row->tx, &tick->hi);
    return pg_in_snapshot(row->tx, &tick->lo) ||
           (pg_in_snapshot(row->tx, &tick->hi) &&
            (row->tx < tick->dt || (row->tx == tick->dt && row->id <= tick->di)));
}

int pg_session(const uint8_t id[16])
{
    for (int i = 0; i < pg.sessions_count; i++)
        if (memcmp(pg.sessions[i].id, id, 16) == 0)
            return i;
    return -1;
}

void pg_job_delete(job_row_t *job)
{
    PG_TOUCH(job->used);
    job->used = false;
}

void pg_dead_add(int64_t outbox_id, int64_t endpoint, int tries, bool expired)
{
    dead_row_t *dead = pg_dead(outbox_id, endpoint);
    if (!dead) {
        pr_assert(pg.dead_count < DEAD_MAX);
        PG_TOUCH(pg.dead_count);
        dead = &pg.dead[pg.dead_count++];
    }
    PG_TOUCH(*dead);
    *dead = (dead_row_t){outbox_id, endpoint, pg_now_us(), DEAD_OPEN, tries, expired};
}

void pg_cancelled_add(int64_t outbox_id, int64_t endpoint)
{
    if (pg_is_cancelled(outbox_id, endpoint))
        return;
    pr_assert(pg.cancelled_count < CANCELLED_MAX);
    PG_TOUCH(pg.cancelled_count);
    cancelled_row_t *row = &pg.cancelled[pg.cancelled_count++];
    PG_TOUCH(*row);
    *row = (cancelled_row_t){outbox_id, endpoint, pg.next_xid - 1};
}

int64_t pg_outbox_add(const outbox_row_t *row)
{
    if (pg.outbox_count == OUTBOX_MAX)
        return 0;
    PG_TOUCH(pg.outbox_count);
    PG_TOUCH(pg.next_outbox_id);
    outbox_row_t *place = &pg.outbox[pg.outbox_count++];
    PG_TOUCH(*place);
    *place = *row;
    place->at_us = pg_now_us();
    place->id = pg.next_outbox_id++;
    if (place->version == 0)
        place->version = place->id;
    return place->id;
}

/* ---- applications and people ---- */

int sim_app_begin(void)
{
    if (!sim_pg_up() || nrunning == RUNNING_MAX)
        return -1;
    int64_t xid = xid_new(XID_RUNNING);
    running[nrunning++] = xid;
    return (int)xid;
}

static bool is_running(int transaction)
{
    for (int i = 0; i < nrunning; i++)
        if (running[i] == transaction)
            return true;
    return false;
}

int64_t sim_app_enqueue(int transaction, int merchant, int order, int class_no)
{
    if (!is_running(transaction))
        return 0;
    outbox_row_t row = {
        .tx = transaction, .class_no = class_no, .merchant = merchant, .order = order};
    for (int i = 0; i < 2; i++) {
        uint64_t bits = sim_random();
        memcpy(row.notify_id + 8 * i, &bits, 8);
    }
    return pg_outbox_add(&row);
}

void sim_app_end(int transaction, bool commit)
{
    for (int i = 0; i < nrunning; i++) {
        if (running[i] != transaction)
            continue;
        running[i] = running[--nrunning];
        PG_TOUCH(pg.xids[transaction]);
        pg.xids[transaction] = commit ? XID_COMMITTED : XID_ABORTED;
        pg_commit(false);
        return;
    }
}

/* postrider.cancel_notification */
void sim_app_cancel(int64_t outbox_id)
{
    if (!sim_pg_up())
        return;
    int64_t xid = pg_xid();
    outbox_row_t *row = pg_outbox(outbox_id);
    if (!row || !pg_committed(row->tx) || row->kind != 0)
        return;
    sim_trace("app: cancels outbox %" PRId64, outbox_id);
    bool follow = false;
    for (int i = 0; i < pg.outbox_count; i++) {
        outbox_row_t *other = &pg.outbox[i];
        bool same = other->id == outbox_id || (other->kind == 1 && other->ref_id == outbox_id);
        if (!same || !pg_committed(other->tx) || pg_moved(other) || other->cancel)
            continue;
        PG_TOUCH(other->cancel);
        other->cancel = true;
        follow = true;
    }
    if (follow) {
        outbox_row_t after = *row;
        after.tx = xid;
        after.kind = 2;
        after.cancel = false;
        after.version = 0;
        after.ref_id = outbox_id;
        (void)pg_outbox_add(&after);
    }
    for (int i = 0; i < pg.jobs_count; i++) {
        job_row_t *job = &pg.jobs[i];
        if (job->used && job->outbox_id == outbox_id) {
            pg_job_delete(job);
            pg_cancelled_add(outbox_id, job->endpoint);
        }
    }
    pg_commit(false);
}

/* postrider.redrive_letters */
int pg_redrive(int64_t before_us)
{
    int driven = 0;
    int64_t xid = pg_xid();
    for (int i = 0; i < pg.dead_count; i++) {
        dead_row_t *dead = &pg.dead[i];
        const outbox_row_t *row = pg_outbox(dead->outbox_id);
        if (dead->state != DEAD_OPEN || dead->at_us > before_us || !row ||
            pg.outbox_count + 40 > OUTBOX_MAX)
            continue;
        outbox_row_t again = *row;
        again.tx = xid;
        again.kind = 1;
        again.version = row->version;
        again.ref_id = row->id;
        again.ref_endpoint = dead->endpoint;
        again.cancel = false;
        if (pg_outbox_add(&again) == 0)
            continue;
        PG_TOUCH(dead->state);
        dead->state = DEAD_REDRIVEN;
        driven++;
    }
    return driven;
}

void sim_op_redrive(bool at_a_rate)
{
    if (!sim_pg_up())
        return;
    if (at_a_rate) {
        PG_TOUCH(pg.redrive_since_us);
        pg.redrive_since_us = pg_now_us();
    } else {
        int driven = pg_redrive(INT64_MAX);
        sim_trace("people: drive %d dead letters again", driven);
    }
    pg_commit(false);
}

/* A person sees that an endpoint is off, and that takes a while: schedulers have seen it long before. */
void sim_op_enable_all(void)
{
    for (int i = 0; i < pg.endpoints_count; i++) {
        endpoint_tuple_t *endpoint = &pg.endpoints[i];
        if (endpoint->active || sim->now_us - endpoint->off_us < 3 * SIM_SECOND)
            continue;
        sim_trace("people: enable endpoint %" PRId64, endpoint->id);
        int64_t xid = pg_xid();
        PG_TOUCH(*endpoint);
        endpoint->active = true;
        endpoint->tx = xid;
    }
    pg_commit(false);
}

/* ---- statements fail at times ---- */

/* True: this one does. */
bool sim_pg_statement_fails(pr_error_t *error)
{
    if (sim->now_us >= failing_until_us || !sim_chance(failing_percent))
        return false;
    static const char *const codes[] = {"57014", "40P01", "53100", "55P03"};
    (void)pr_error_set(error, PR_AGAIN, "db", codes[sim_between(0, 3)], "fails as planned");
    return true;
}
