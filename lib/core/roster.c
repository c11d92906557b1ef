/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers, schedulers, shards. How room is divided among schedulers: roster_share.c.
 */
#include "core/roster.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "core/roster_private.h"

#include <string.h>

pr_roster_t *pr_roster_new(int64_t silence_ms)
{
    pr_assert(silence_ms > 0);
    pr_roster_t *self = PR_NEW(pr_roster_t);
    self->silence_ms = silence_ms;
    memset(self->owner, NOBODY, sizeof self->owner);
    return self;
}

void pr_roster_destroy(pr_roster_t **self)
{
    if (*self) {
        pr_free((*self)->workers);
        pr_free((*self)->schedulers);
        pr_free(*self);
        *self = NULL;
    }
}

static pr_route_t route_of(pr_bytes_t bytes)
{
    pr_route_t route = {.len = bytes.len};
    memcpy(route.bytes, bytes.data, bytes.len);
    return route;
}

static bool same_route(const pr_route_t *route, pr_bytes_t bytes)
{
    return route->len == bytes.len && memcmp(route->bytes, bytes.data, bytes.len) == 0;
}

static bool route_fits(pr_bytes_t route)
{
    return route.len > 0 && route.len <= PR_ROSTER_ROUTE_MAX;
}

/* ---- workers ---- */

static pr_roster_worker_t *find_worker(const pr_roster_t *self, pr_bytes_t route)
{
    for (size_t i = 0; i < self->workers_count; i++) {
        if (same_route(&self->workers[i].route, route)) {
            return &self->workers[i];
        }
    }
    return NULL;
}

static void remove_worker(pr_roster_t *self, size_t index)
{
    self->workers_count--;
    memmove(&self->workers[index], &self->workers[index + 1],
            (self->workers_count - index) * sizeof self->workers[0]);
}

/* The same worker on another connection: the old one is dead even if its socket is not. */
static void remove_namesake(pr_roster_t *self, const char *id, pr_bytes_t route)
{
    for (size_t i = 0; i < self->workers_count; i++) {
        pr_roster_worker_t *worker = &self->workers[i];
        if (strcmp(worker->id, id) == 0 && !same_route(&worker->route, route)) {
            remove_worker(self, i);
            return;
        }
    }
}

static pr_roster_worker_t *add_worker(pr_roster_t *self)
{
    if (self->workers_count == PR_ROSTER_WORKERS_MAX) {
        return NULL;
    }
    if (self->workers_count == self->workers_room) {
        self->workers_room = self->workers_room ? self->workers_room * 2 : 8;
        self->workers = pr_realloc(self->workers, self->workers_room, sizeof self->workers[0]);
    }
    return &self->workers[self->workers_count++];
}

static void start_worker(pr_roster_worker_t *worker, const pr_roster_hello_t *hello)
{
    *worker = (pr_roster_worker_t){.route = route_of(hello->route), .greeting = hello->greeting};
    memcpy(worker->id, hello->id, strlen(hello->id));
}

pr_rc_t pr_roster_worker_hello(pr_roster_t *self, const pr_roster_hello_t *hello, int64_t now_ms,
                               bool *fresh)
{
    size_t id_len = strlen(hello->id);
    if (!route_fits(hello->route) || id_len == 0 || id_len > PR_ROSTER_ID_MAX) {
        return PR_BAD;
    }
    remove_namesake(self, hello->id, hello->route);
    pr_roster_worker_t *worker = find_worker(self, hello->route);
    bool starts =
        !worker || worker->greeting != hello->greeting || strcmp(worker->id, hello->id) != 0;
    if (starts && hello->again) {
        return PR_LOST;
    }
    if (!worker && !(worker = add_worker(self))) {
        return PR_BAD;
    }
    if (starts) {
        start_worker(worker, hello);
    }
    worker->kinds = hello->kinds;
    worker->draining = hello->draining;
    worker->heard_at_ms = now_ms;
    if (fresh) {
        *fresh = starts;
    }
    return PR_OK;
}

pr_rc_t pr_roster_worker_credit(pr_roster_t *self, pr_bytes_t route,
                                const uint64_t total[PR_CLASSES], int64_t now_ms)
{
    pr_roster_worker_t *worker = find_worker(self, route);
    if (!worker) {
        return PR_LOST;
    }
    worker->heard_at_ms = now_ms;
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        if (total[cls] > worker->total[cls]) {
            worker->total[cls] = total[cls];
        }
    }
    return PR_OK;
}

pr_rc_t pr_roster_worker_heard(pr_roster_t *self, pr_bytes_t route, int64_t now_ms)
{
    pr_roster_worker_t *worker = find_worker(self, route);
    if (!worker) {
        return PR_LOST;
    }
    worker->heard_at_ms = now_ms;
    return PR_OK;
}

void pr_roster_worker_gone(pr_roster_t *self, pr_bytes_t route)
{
    pr_roster_worker_t *worker = find_worker(self, route);
    if (worker) {
        remove_worker(self, (size_t)(worker - self->workers));
    }
}

uint64_t pr_roster_worker_room(const pr_roster_worker_t *worker, uint32_t cls)
{
    pr_assert(cls < PR_CLASSES);
    return worker->draining ? 0 : worker->total[cls] - worker->sent[cls];
}

/* A total from the wire may be anything: the sum stops at the top instead of wrapping. */
static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t pr_roster_room(const pr_roster_t *self, uint32_t cls)
{
    uint64_t room = 0;
    for (size_t i = 0; i < self->workers_count; i++) {
        room = add(room, pr_roster_worker_room(&self->workers[i], cls));
    }
    return room;
}

const pr_roster_worker_t *pr_roster_choose(pr_roster_t *self, uint32_t cls, uint32_t kinds)
{
    const pr_roster_worker_t *best = NULL;
    uint64_t best_room = 0;
    self->turn++;
    for (size_t i = 0; i < self->workers_count; i++) {
        const pr_roster_worker_t *worker = &self->workers[(i + self->turn) % self->workers_count];
        uint64_t room = pr_roster_worker_room(worker, cls);
        if (room > best_room && (worker->kinds & kinds) == kinds) {
            best = worker;
            best_room = room;
        }
    }
    return best;
}

void pr_roster_sent(pr_roster_t *self, const pr_roster_worker_t *worker, uint32_t cls,
                    uint32_t jobs)
{
    pr_assert(jobs <= pr_roster_worker_room(worker, cls));
    self->workers[worker - self->workers].sent[cls] += jobs;
}

void pr_roster_unsent(pr_roster_t *self, pr_bytes_t route, uint32_t cls, uint32_t jobs)
{
    pr_roster_worker_t *worker = find_worker(self, route);
    if (worker) {
        pr_assert(cls < PR_CLASSES && worker->sent[cls] >= jobs);
        worker->sent[cls] -= jobs;
    }
}

size_t pr_roster_workers(const pr_roster_t *self)
{
    return self->workers_count;
}

const pr_roster_worker_t *pr_roster_worker_at(const pr_roster_t *self, size_t index)
{
    pr_assert(index < self->workers_count);
    return &self->workers[index];
}

const pr_roster_worker_t *pr_roster_worker_by_id(const pr_roster_t *self, const char *id)
{
    for (size_t i = 0; i < self->workers_count; i++) {
        if (strcmp(self->workers[i].id, id) == 0) {
            return &self->workers[i];
        }
    }
    return NULL;
}

const pr_roster_worker_t *pr_roster_worker_by_route(const pr_roster_t *self, pr_bytes_t route)
{
    return find_worker(self, route);
}

/* ---- schedulers and their shards ---- */

static pr_roster_scheduler_t *find_scheduler(const pr_roster_t *self, pr_bytes_t route)
{
    for (size_t i = 0; i < self->schedulers_count; i++) {
        if (same_route(&self->schedulers[i].route, route)) {
            return &self->schedulers[i];
        }
    }
    return NULL;
}

static bool claims(const pr_roster_scheduler_t *scheduler, uint32_t shard)
{
    return scheduler->shards[shard / 8] >> (shard % 8) & 1;
}

/* Some scheduler that still claims the shard, or NOBODY. */
static uint8_t heir(const pr_roster_t *self, uint32_t shard)
{
    for (size_t i = 0; i < self->schedulers_count; i++) {
        if (claims(&self->schedulers[i], shard)) {
            return (uint8_t)i;
        }
    }
    return NOBODY;
}

static void remove_scheduler(pr_roster_t *self, size_t index)
{
    self->schedulers_count--;
    memmove(&self->schedulers[index], &self->schedulers[index + 1],
            (self->schedulers_count - index) * sizeof self->schedulers[0]);
    for (uint32_t shard = 0; shard < PR_SHARDS; shard++) {
        uint8_t owner = self->owner[shard];
        if (owner == index) {
            self->owner[shard] = heir(self, shard);
        } else if (owner != NOBODY && owner > index) {
            self->owner[shard]--;
        }
    }
}

/* Takes what this hello claims newly, lets go what it no longer claims. A refreshed claim takes
 * nothing back from a newer claimant: an owner that was stopped and does not know it yet says so
 * every second. */
static void move_shards(pr_roster_t *self, size_t index, const uint8_t *shards)
{
    pr_roster_scheduler_t *scheduler = &self->schedulers[index];
    pr_roster_scheduler_t before = *scheduler;
    memcpy(scheduler->shards, shards, sizeof scheduler->shards);
    for (uint32_t shard = 0; shard < PR_SHARDS; shard++) {
        bool now = claims(scheduler, shard);
        if (now && !claims(&before, shard)) {
            self->owner[shard] = (uint8_t)index;
        } else if (!now && self->owner[shard] == index) {
            self->owner[shard] = heir(self, shard);
        }
    }
}

static pr_roster_scheduler_t *add_scheduler(pr_roster_t *self)
{
    if (self->schedulers_count == PR_ROSTER_SCHEDULERS_MAX) {
        return NULL;
    }
    if (self->schedulers_count == self->schedulers_room) {
        self->schedulers_room = self->schedulers_room ? self->schedulers_room * 2 : 4;
        self->schedulers =
            pr_realloc(self->schedulers, self->schedulers_room, sizeof self->schedulers[0]);
    }
    pr_roster_scheduler_t *scheduler = &self->schedulers[self->schedulers_count++];
    *scheduler = (pr_roster_scheduler_t){0};
    return scheduler;
}

/* The same session on another connection: its old one is dead. */
static void remove_old_route(pr_roster_t *self, const pr_roster_session_t *hello)
{
    for (size_t i = 0; i < self->schedulers_count; i++) {
        pr_roster_scheduler_t *scheduler = &self->schedulers[i];
        if (memcmp(scheduler->session, hello->session, PR_SESSION_BYTES) == 0 &&
            !same_route(&scheduler->route, hello->route)) {
            remove_scheduler(self, i);
            return;
        }
    }
}

static void start_scheduler(pr_roster_scheduler_t *scheduler, const pr_roster_session_t *hello)
{
    pr_roster_scheduler_t fresh = {
        .route = route_of(hello->route), .greeting = hello->greeting, .unsaid = true};
    memcpy(fresh.session, hello->session, PR_SESSION_BYTES);
    memcpy(fresh.shards, scheduler->shards, sizeof fresh.shards);
    *scheduler = fresh;
}

pr_rc_t pr_roster_scheduler_hello(pr_roster_t *self, const pr_roster_session_t *hello,
                                  int64_t now_ms, bool *fresh)
{
    size_t address_len = strlen(hello->address);
    if (!route_fits(hello->route) || address_len > PR_ROSTER_ADDRESS_MAX) {
        return PR_BAD;
    }
    remove_old_route(self, hello);
    pr_roster_scheduler_t *scheduler = find_scheduler(self, hello->route);
    bool starts = !scheduler || scheduler->greeting != hello->greeting ||
                  memcmp(scheduler->session, hello->session, PR_SESSION_BYTES) != 0;
    if (starts && hello->again) {
        return PR_LOST;
    }
    if (!scheduler && !(scheduler = add_scheduler(self))) {
        return PR_BAD;
    }
    if (starts) {
        start_scheduler(scheduler, hello);
    }
    memcpy(scheduler->address, hello->address, address_len + 1);
    scheduler->heard_at_ms = now_ms;
    move_shards(self, (size_t)(scheduler - self->schedulers), hello->shards);
    if (fresh) {
        *fresh = starts;
    }
    return PR_OK;
}

void pr_roster_session_ended(pr_roster_t *self, const uint8_t session[PR_SESSION_BYTES])
{
    for (size_t i = 0; i < self->schedulers_count; i++) {
        if (memcmp(self->schedulers[i].session, session, PR_SESSION_BYTES) == 0) {
            remove_scheduler(self, i);
            return;
        }
    }
}

void pr_roster_scheduler_gone(pr_roster_t *self, pr_bytes_t route)
{
    pr_roster_scheduler_t *scheduler = find_scheduler(self, route);
    if (scheduler) {
        remove_scheduler(self, (size_t)(scheduler - self->schedulers));
    }
}

uint64_t pr_roster_open(const pr_roster_scheduler_t *scheduler, uint32_t cls)
{
    pr_assert(cls < PR_CLASSES);
    return scheduler->granted[cls] - scheduler->used[cls] - scheduler->returned[cls];
}

/* Raises *count to what the peer claims, at most by what is open. */
static void claim(uint64_t *count, uint64_t claimed, uint64_t open)
{
    if (claimed > *count) {
        uint64_t more = claimed - *count;
        *count += more < open ? more : open;
    }
}

pr_rc_t pr_roster_demand(pr_roster_t *self, pr_bytes_t route, const pr_roster_demand_t *demand,
                         int64_t now_ms)
{
    pr_roster_scheduler_t *scheduler = find_scheduler(self, route);
    if (!scheduler) {
        return PR_LOST;
    }
    scheduler->heard_at_ms = now_ms;
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        /* A batch that we dropped as malformed was sent all the same. */
        claim(&scheduler->used[cls], demand->sent[cls], pr_roster_open(scheduler, cls));
        claim(&scheduler->returned[cls], demand->returned[cls], pr_roster_open(scheduler, cls));
        scheduler->want[cls] = demand->want[cls];
    }
    return PR_OK;
}

pr_rc_t pr_roster_spend(pr_roster_t *self, pr_bytes_t route, uint32_t cls, uint32_t jobs,
                        int64_t now_ms)
{
    pr_roster_scheduler_t *scheduler = find_scheduler(self, route);
    if (!scheduler) {
        return PR_LOST;
    }
    scheduler->heard_at_ms = now_ms;
    if (jobs > pr_roster_open(scheduler, cls)) {
        return PR_BAD;
    }
    scheduler->used[cls] += jobs;
    return PR_OK;
}

void pr_roster_said(pr_roster_t *self, size_t index, bool said)
{
    pr_assert(index < self->schedulers_count);
    self->schedulers[index].unsaid = !said;
}

size_t pr_roster_schedulers(const pr_roster_t *self)
{
    return self->schedulers_count;
}

const pr_roster_scheduler_t *pr_roster_scheduler_at(const pr_roster_t *self, size_t index)
{
    pr_assert(index < self->schedulers_count);
    return &self->schedulers[index];
}

const pr_roster_scheduler_t *pr_roster_scheduler_by_route(const pr_roster_t *self, pr_bytes_t route)
{
    return find_scheduler(self, route);
}

const pr_roster_scheduler_t *pr_roster_owner(const pr_roster_t *self, uint32_t shard)
{
    pr_assert(shard < PR_SHARDS);
    return self->owner[shard] == NOBODY ? NULL : &self->schedulers[self->owner[shard]];
}

/* ---- both ---- */

static bool silent(const pr_roster_t *self, int64_t heard_at_ms, int64_t now_ms)
{
    return now_ms - heard_at_ms >= self->silence_ms;
}

bool pr_roster_expire(pr_roster_t *self, int64_t now_ms, pr_roster_gone_t *gone)
{
    *gone = (pr_roster_gone_t){0};
    for (size_t i = 0; i < self->workers_count; i++) {
        const pr_roster_worker_t *worker = &self->workers[i];
        if (silent(self, worker->heard_at_ms, now_ms)) {
            gone->worker = true;
            gone->route = worker->route;
            memcpy(gone->id, worker->id, sizeof gone->id);
            remove_worker(self, i);
            return true;
        }
    }
    for (size_t i = 0; i < self->schedulers_count; i++) {
        const pr_roster_scheduler_t *scheduler = &self->schedulers[i];
        if (silent(self, scheduler->heard_at_ms, now_ms)) {
            gone->route = scheduler->route;
            pr_hex(pr_bytes(scheduler->session, PR_SESSION_BYTES), gone->id);
            remove_scheduler(self, i);
            return true;
        }
    }
    return false;
}
