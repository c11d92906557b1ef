/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole credit protocol in one process, under random interleavings and losses: a broker
 * (roster), workers (lanes), schedulers (allowance), and between them first-in-first-out queues
 * that a connection loss empties. A reconnected peer has a new route and does not know that it
 * reconnected, as with a ZeroMQ DEALER. Checked throughout: nobody receives or sends beyond its
 * credit. Checked at the end, when all is quiet: no credit has leaked.
 */
#include "base/alloc.h"
#include "core/allowance.h"
#include "core/lanes.h"
#include "core/roster.h"

#include <criterion/criterion.h>

#include <string.h>

TestSuite(credit_world, .timeout = 300);

enum { WORKERS = 3, SCHEDULERS = 2, PEERS = WORKERS + SCHEDULERS, QUEUE = 4096, SLOTS = 21 };

typedef enum { HELLO, BEAT, CREDIT, DEMAND, JOBS, BROKER_HELLO, GRANT } type_t;

typedef struct {
    type_t type;
    uint32_t greeting;
    bool flag; /* hello: again; broker hello: greet_anew; grant: contended */
    uint32_t cls;
    uint32_t jobs;
    uint32_t want[PR_CLASSES];
    uint64_t a[PR_CLASSES];
    uint64_t b[PR_CLASSES];
} message_t;

typedef struct {
    message_t items[QUEUE];
    size_t head, count;
} queue_t;

typedef struct {
    uint32_t route; /* changes when the connection does */
    queue_t up, down;
} link_t;

typedef struct {
    pr_roster_t *roster;
    pr_lanes_t lanes[WORKERS];
    pr_lane_peer_t peer[WORKERS];
    pr_allowance_t allowance[SCHEDULERS];
    uint32_t backlog[SCHEDULERS][PR_CLASSES];
    link_t links[PEERS];
    int64_t now;
    uint64_t seed;
    uint32_t next_route;
    unsigned undeliverable;
    unsigned delivered;
} world_t;

static uint64_t draw(world_t *w) /* xorshift64*, Vigna 2016 */
{
    w->seed ^= w->seed >> 12;
    w->seed ^= w->seed << 25;
    w->seed ^= w->seed >> 27;
    return w->seed * 2685821657736338717u;
}

static uint32_t below(world_t *w, uint32_t n)
{
    return (uint32_t)(draw(w) >> 33) % n;
}

static void put(queue_t *queue, message_t message)
{
    cr_assert_lt(queue->count, QUEUE);
    queue->items[(queue->head + queue->count++) % QUEUE] = message;
}

static bool get(queue_t *queue, message_t *out)
{
    if (queue->count == 0) {
        return false;
    }
    *out = queue->items[queue->head];
    queue->head = (queue->head + 1) % QUEUE;
    queue->count--;
    return true;
}

static pr_bytes_t route_of(const link_t *link)
{
    return pr_bytes(&link->route, sizeof link->route);
}

static link_t *link_by_route(world_t *w, const pr_route_t *route)
{
    for (int i = 0; i < PEERS; i++) {
        if (memcmp(route->bytes, &w->links[i].route, sizeof w->links[i].route) == 0) {
            return &w->links[i];
        }
    }
    return NULL;
}

static void cut(world_t *w, link_t *link)
{
    link->up.count = link->down.count = 0;
    link->route = ++w->next_route;
}

/* ---- the broker ---- */

static void greet_anew(link_t *link)
{
    put(&link->down, (message_t){.type = BROKER_HELLO, .flag = true});
}

static void broker_hello(world_t *w, int who, const message_t *message)
{
    link_t *link = &w->links[who];
    pr_rc_t rc;
    if (who < WORKERS) {
        char id[4] = {'w', (char)('0' + who), 0, 0};
        pr_roster_hello_t hello = {.route = route_of(link),
                                   .id = id,
                                   .kinds = 2,
                                   .greeting = message->greeting,
                                   .again = message->flag};
        rc = pr_roster_worker_hello(w->roster, &hello, w->now, NULL);
    } else {
        uint8_t session[PR_SESSION_BYTES] = {(uint8_t)who};
        uint8_t shards[PR_SHARDS / 8] = {0};
        pr_roster_session_t hello = {.route = route_of(link),
                                     .session = session,
                                     .shards = shards,
                                     .address = "",
                                     .greeting = message->greeting,
                                     .again = message->flag};
        rc = pr_roster_scheduler_hello(w->roster, &hello, w->now, NULL);
    }
    if (rc == PR_LOST) {
        greet_anew(link);
        return;
    }
    put(&link->down, (message_t){.type = BROKER_HELLO, .greeting = message->greeting});
}

static void broker_jobs(world_t *w, link_t *from, const message_t *message)
{
    pr_rc_t rc = pr_roster_spend(w->roster, route_of(from), message->cls, message->jobs, w->now);
    if (rc == PR_LOST) {
        greet_anew(from);
        return;
    }
    cr_assert_eq(rc, PR_OK, "an honest scheduler was found overdrawn");
    uint32_t left = message->jobs;
    const pr_roster_worker_t *worker;
    while (left > 0 && (worker = pr_roster_choose(w->roster, message->cls, 2)) != NULL) {
        uint64_t room = pr_roster_worker_room(worker, message->cls);
        uint32_t part = room < left ? (uint32_t)room : left;
        link_t *link = link_by_route(w, &worker->route);
        if (!link) { /* the socket would say PR_LOST */
            pr_route_t route = worker->route;
            pr_roster_worker_gone(w->roster, pr_bytes(route.bytes, route.len));
            continue;
        }
        pr_roster_sent(w->roster, worker, message->cls, part);
        put(&link->down, (message_t){.type = JOBS, .cls = message->cls, .jobs = part});
        left -= part;
    }
    w->undeliverable += left;
}

static void broker_step(world_t *w, int who)
{
    link_t *link = &w->links[who];
    message_t message;
    if (!get(&link->up, &message)) {
        return;
    }
    pr_rc_t rc = PR_OK;
    switch (message.type) {
    case HELLO:
        broker_hello(w, who, &message);
        break;
    case BEAT:
        rc = pr_roster_worker_heard(w->roster, route_of(link), w->now);
        break;
    case CREDIT:
        rc = pr_roster_worker_credit(w->roster, route_of(link), message.a, w->now);
        break;
    case DEMAND: {
        pr_roster_demand_t demand;
        memcpy(demand.want, message.want, sizeof demand.want);
        memcpy(demand.sent, message.a, sizeof demand.sent);
        memcpy(demand.returned, message.b, sizeof demand.returned);
        rc = pr_roster_demand(w->roster, route_of(link), &demand, w->now);
        break;
    }
    default:
        broker_jobs(w, link, &message);
        break;
    }
    if (rc == PR_LOST) {
        greet_anew(link);
    }
}

static void broker_grants(world_t *w)
{
    pr_roster_gone_t gone;
    while (pr_roster_expire(w->roster, w->now, &gone)) {
    }
    pr_roster_share(w->roster, below(w, 4) == 0); /* all: once in four */
    for (size_t i = 0; i < pr_roster_schedulers(w->roster); i++) {
        const pr_roster_scheduler_t *scheduler = pr_roster_scheduler_at(w->roster, i);
        link_t *link = link_by_route(w, &scheduler->route);
        if (!link || !scheduler->unsaid) {
            continue;
        }
        message_t message = {.type = GRANT, .flag = scheduler->contended};
        memcpy(message.a, scheduler->granted, sizeof message.a);
        put(&link->down, message);
        pr_roster_said(w->roster, i, true);
    }
}

/* ---- a worker ---- */

static void worker_offer(world_t *w, int who)
{
    pr_lane_peer_t *peers[1] = {&w->peer[who]};
    bool changed[1];
    if (pr_lanes_offer(&w->lanes[who], peers, 1, below(w, 4) == 0, changed)) {
        message_t message = {.type = CREDIT};
        memcpy(message.a, w->peer[who].total, sizeof message.a);
        put(&w->links[who].up, message);
    }
}

static void worker_greet(world_t *w, int who)
{
    put(&w->links[who].up,
        (message_t){.type = HELLO, .greeting = pr_lane_peer_greet(&w->peer[who])});
}

static void worker_step(world_t *w, int who)
{
    pr_lane_peer_t *peer = &w->peer[who];
    message_t message;
    if (!get(&w->links[who].down, &message)) {
        return;
    }
    if (message.type == BROKER_HELLO && message.flag) {
        worker_greet(w, who);
    } else if (message.type == BROKER_HELLO) {
        (void)pr_lane_peer_answered(peer, message.greeting);
    } else if (message.type == JOBS) {
        pr_lane_peer_received(peer, message.cls, message.jobs);
        cr_assert(!peer->live || peer->received[message.cls] <= peer->total[message.cls],
                  "a worker received more than it agreed to");
        for (uint32_t i = 0; i < message.jobs; i++) {
            pr_lanes_take(&w->lanes[who], message.cls);
            w->delivered++;
        }
    }
    worker_offer(w, who);
}

static void worker_work(world_t *w, int who, bool all)
{
    pr_lanes_t *lanes = &w->lanes[who];
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        while (lanes->held[cls] > 0 && (all || below(w, 3) > 0)) {
            pr_lanes_finish(lanes, cls, false);
            pr_lanes_forget(lanes);
        }
    }
    worker_offer(w, who);
}

/* ---- a scheduler ---- */

static void say_demand(world_t *w, int which)
{
    message_t message = {.type = DEMAND};
    const pr_allowance_t *allowance = &w->allowance[which];
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        message.want[cls] = w->backlog[which][cls];
        message.a[cls] = allowance->sent[cls];
        message.b[cls] = allowance->returned[cls];
    }
    put(&w->links[WORKERS + which].up, message);
}

static void scheduler_greet(world_t *w, int which)
{
    uint32_t number = pr_allowance_greet(&w->allowance[which]);
    put(&w->links[WORKERS + which].up, (message_t){.type = HELLO, .greeting = number});
}

static void scheduler_send(world_t *w, int which)
{
    pr_allowance_t *allowance = &w->allowance[which];
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        uint64_t room = pr_allowance_room(allowance, cls);
        uint32_t jobs = w->backlog[which][cls] < room ? w->backlog[which][cls] : (uint32_t)room;
        if (jobs > 0) {
            pr_allowance_send(allowance, cls, jobs, w->now);
            w->backlog[which][cls] -= jobs;
            put(&w->links[WORKERS + which].up, (message_t){.type = JOBS, .cls = cls, .jobs = jobs});
        }
    }
}

static void scheduler_step(world_t *w, int which)
{
    pr_allowance_t *allowance = &w->allowance[which];
    message_t message;
    if (!get(&w->links[WORKERS + which].down, &message)) {
        return;
    }
    if (message.type == BROKER_HELLO && message.flag) {
        scheduler_greet(w, which);
    } else if (message.type == BROKER_HELLO) {
        (void)pr_allowance_answered(allowance, message.greeting);
    } else {
        pr_allowance_granted(allowance, message.a, message.flag, w->now);
    }
    scheduler_send(w, which);
}

static void tick(world_t *w)
{
    w->now += 25;
    for (int i = 0; i < WORKERS; i++) {
        put(&w->links[i].up, (message_t){.type = BEAT});
        if (w->now % PR_LANES_COOL_MS == 0) {
            pr_lanes_cool(&w->lanes[i]);
        }
        if (!w->peer[i].live && w->now % 1000 == 0) {
            worker_greet(w, i);
        }
    }
    for (int i = 0; i < SCHEDULERS; i++) {
        pr_allowance_t *allowance = &w->allowance[i];
        if (!allowance->live && w->now % 1000 == 0) {
            scheduler_greet(w, i);
        } else if (allowance->live && below(w, 2) > 0) {
            put(&w->links[WORKERS + i].up,
                (message_t){.type = HELLO, .greeting = allowance->greeting, .flag = true});
        }
        (void)pr_allowance_give_back(allowance, w->now);
        say_demand(w, i);
    }
}

static void settle(world_t *w)
{
    memset(w->backlog, 0, sizeof w->backlog);
    for (int round = 0; round < 400; round++) {
        tick(w);
        for (int i = 0; i < PEERS; i++) {
            while (w->links[i].up.count > 0) {
                broker_step(w, i);
            }
        }
        broker_grants(w);
        for (int i = 0; i < WORKERS; i++) {
            while (w->links[i].down.count > 0) {
                worker_step(w, i);
            }
            worker_work(w, i, true);
        }
        for (int i = 0; i < SCHEDULERS; i++) {
            while (w->links[WORKERS + i].down.count > 0) {
                scheduler_step(w, i);
            }
        }
    }
}

static world_t *world_new(uint64_t seed)
{
    static const uint32_t SHARES[PR_CLASSES] = {20, 10, 5};
    world_t *w = PR_NEW(world_t);
    w->seed = seed;
    w->roster = pr_roster_new(2000);
    for (int i = 0; i < PEERS; i++) {
        w->links[i].route = ++w->next_route;
    }
    for (int i = 0; i < WORKERS; i++) {
        pr_lanes_init(&w->lanes[i], SLOTS, SHARES, 10);
        worker_greet(w, i);
    }
    for (int i = 0; i < SCHEDULERS; i++) {
        scheduler_greet(w, i);
    }
    return w;
}

static void random_step(world_t *w, bool losses)
{
    uint32_t which = below(w, 100);
    if (which < 40) {
        broker_step(w, (int)below(w, PEERS));
    } else if (which < 60) {
        worker_step(w, (int)below(w, WORKERS));
    } else if (which < 75) {
        scheduler_step(w, (int)below(w, SCHEDULERS));
    } else if (which < 83) {
        broker_grants(w);
    } else if (which < 90) {
        worker_work(w, (int)below(w, WORKERS), false);
    } else if (which < 96) {
        uint32_t scheduler = below(w, SCHEDULERS);
        w->backlog[scheduler][below(w, PR_CLASSES)] += below(w, 30);
        scheduler_send(w, (int)scheduler);
    } else if (which < 99 || !losses) {
        tick(w);
    } else if (below(w, 4) > 0) {
        cut(w, &w->links[below(w, PEERS)]);
    } else { /* the broker is killed: everybody's queues with it */
        pr_roster_destroy(&w->roster);
        w->roster = pr_roster_new(2000);
        for (int i = 0; i < PEERS; i++) {
            cut(w, &w->links[i]);
        }
    }
    for (int i = 0; i < PEERS; i++) { /* a queue that nobody reads is a high-water mark */
        if (w->links[i].up.count > QUEUE / 2 || w->links[i].down.count > QUEUE / 2) {
            cut(w, &w->links[i]);
        }
    }
}

static void check_quiet(const world_t *w)
{
    cr_assert_eq(pr_roster_workers(w->roster), WORKERS);
    cr_assert_eq(pr_roster_schedulers(w->roster), SCHEDULERS);
    for (uint32_t cls = 0; cls < PR_CLASSES; cls++) {
        uint64_t room = 0, held = 0, open = 0;
        for (int i = 0; i < WORKERS; i++) {
            room += pr_lanes_room(&w->lanes[i], cls);
        }
        for (int i = 0; i < SCHEDULERS; i++) {
            held += pr_allowance_room(&w->allowance[i], cls);
            open += pr_roster_open(pr_roster_scheduler_at(w->roster, (size_t)i), cls);
        }
        cr_expect_eq(pr_roster_room(w->roster, cls), room, "class %u: workers leak", cls);
        cr_expect_eq(open, held, "class %u: broker and schedulers disagree", cls);
        cr_expect_geq(open + 1, room, "class %u: %lu of %lu granted", cls, open, room);
        cr_expect_leq(open, room, "class %u", cls);
    }
}

static void world_destroy(world_t **w)
{
    pr_roster_destroy(&(*w)->roster);
    pr_free(*w);
    *w = NULL;
}

Test(credit_world, losses_leak_nothing_and_nobody_exceeds_its_credit)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        world_t *w = world_new(seed * 0x9e3779b97f4a7c15u);
        for (int i = 0; i < 20000; i++) {
            random_step(w, true);
        }
        cr_assert_gt(w->delivered, 100, "seed %lu did nothing", seed);
        settle(w);
        check_quiet(w);
        world_destroy(&w);
    }
}

Test(credit_world, without_losses_every_job_finds_a_worker)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        world_t *w = world_new(seed * 0x2545f4914f6cdd1du);
        for (int i = 0; i < 20000; i++) {
            random_step(w, false);
        }
        cr_assert_eq(w->undeliverable, 0, "a granted job found no room");
        settle(w);
        check_quiet(w);
        world_destroy(&w);
    }
}
