/* SPDX-License-Identifier: Apache-2.0
 *
 * peers: Postrider and what a user would take instead, in turn in each round, on the same Postgres,
 * receiver, bodies and signatures. Each contender is brought in (the others do not run), warmed up,
 * measured by the very functions of the other modes, and taken away. Ratios are of one round:
 * Postrider to each peer, more is better for Postrider.
 */
#include "base/alloc.h"
#include "bench/bench.h"
#include "bench/peer.h"

#include <stdio.h>
#include <string.h>

#define WARM_UP 2000
#define CLIENTS 16
#define SLOW 4 /* slow ones drain a quarter */
#define OURS "postrider"

static const pr_peer_kind_t kinds[] = {
    {"graphile-worker-tuned", "graphile-worker.mjs", "graphile-worker.tuned.json", "peer_graphile",
     false},
    {"graphile-worker-documented", "graphile-worker.mjs", "graphile-worker.documented.json",
     "peer_graphile", true},
    {"pg-boss-tuned", "pg-boss.mjs", "pg-boss.tuned.json", "peer_pgboss", false},
    {"pg-boss-documented", "pg-boss.mjs", "pg-boss.documented.json", "peer_pgboss", true},
    {"naive-scan-batched", "naive-scan.mjs", "naive-scan.batched.json", "peer_naive", false},
    {"naive-scan-single", "naive-scan.mjs", "naive-scan.single.json", "peer_naive", true},
};
#define CONTENDERS ((int)PR_COUNT(kinds) + 1) /* Postrider is the last */

typedef struct peers_t {
    pr_stage_t *stage;
    const pr_bench_plan_t *plan;
    char *dir;
    pr_tally_t tally;
    int group; /* of the tally: one for each piece of work */
    int round_no;
} peers_t;

static const char *name_of(int who)
{
    return who < (int)PR_COUNT(kinds) ? kinds[who].name : OURS;
}

static bool wanted(const char *const *list, const char *name)
{
    if (!list || !list[0])
        return true;
    for (int i = 0; list[i]; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static bool takes_part(const peers_t *self, int who)
{
    return who == (int)PR_COUNT(kinds) || wanted(self->plan->only, kinds[who].name);
}

/* ---- coming and going ---- */

static pr_rc_t enter(peers_t *self, int who, pr_error_t *error)
{
    pr_stage_t *stage = self->stage;
    if (who < (int)PR_COUNT(kinds)) {
        pr_rc_t rc = pr_peer_enter(stage, self->dir, &kinds[who], error);
        return rc != PR_OK ? rc : pr_stage_let_go(stage, error);
    }
    pr_rc_t rc = pr_stage_use_database(stage, "postrider", error);
    return rc != PR_OK ? rc : pr_stage_start_actors(stage, error);
}

static pr_rc_t leave(peers_t *self, pr_error_t *error)
{
    bool peer = self->stage->peer != NULL;
    pr_peer_leave(self->stage);
    return peer ? PR_OK : pr_stage_stop_actors(self->stage, error);
}

static pr_rc_t warm_up(peers_t *self, pr_error_t *error)
{
    int64_t count = self->plan->count < WARM_UP ? self->plan->count : WARM_UP;
    pr_load_plan_t load = {.count = count, .group = ++self->group};
    pr_rc_t rc = pr_load_fill(self->stage, &load, &self->tally, error);
    return rc != PR_OK ? rc
                       : pr_load_settle(self->stage, &self->tally, self->group, PR_BENCH_LOOK_MS,
                                        PR_BENCH_SETTLE_MS, error);
}

/* ---- the measures ---- */

typedef pr_rc_t measure_fn(peers_t *self, int who, json_t *out, pr_error_t *error);

static pr_rc_t drain(peers_t *self, int who, json_t *out, pr_error_t *error)
{
    bool slow = who < (int)PR_COUNT(kinds) && kinds[who].slow;
    int64_t count = self->plan->count / (slow ? SLOW : 1);
    pr_rc_t rc = warm_up(self, error);
    return rc != PR_OK
               ? rc
               : pr_bench_drain_once(self->stage, count, ++self->group, &self->tally, out, error);
}

static pr_rc_t steady(peers_t *self, int who, json_t *out, pr_error_t *error)
{
    (void)who;
    pr_rc_t rc = warm_up(self, error);
    return rc != PR_OK ? rc
                       : pr_bench_steady_once(self->stage, self->plan, ++self->group, &self->tally,
                                              out, error);
}

/* Nobody delivers meanwhile. */
static pr_rc_t enqueue(peers_t *self, int who, json_t *out, pr_error_t *error)
{
    double per_s = 0;
    pr_rc_t rc = self->stage->peer ? pr_stage_hold(self->stage, error)
                                   : pr_stage_stop_actors(self->stage, error);
    rc = rc != PR_OK ? rc
                     : pr_bench_enqueue_once(self->stage, CLIENTS, self->plan->seconds / 2 + 1,
                                             &per_s, error);
    (void)json_object_set_new(out, "rate_per_s", json_real(per_s));
    (void)fprintf(stderr, "  %s: %.0f transactions/s\n", name_of(who), per_s);
    return rc;
}

static pr_rc_t dead_merchant(peers_t *self, int who, json_t *out, pr_error_t *error)
{
    (void)who;
    pr_rc_t rc = warm_up(self, error);
    self->group += 4;
    rc = rc != PR_OK ? rc
                     : pr_bench_dead_once(self->stage, self->plan, self->group - 3, 0, &self->tally,
                                          out, error);
    return rc != PR_OK ? rc
                       : pr_bench_dead_once(self->stage, self->plan, self->group - 1,
                                            self->round_no + 1, &self->tally, out, error);
}

static const struct {
    const char *name;
    measure_fn *fn;
    const char *compared; /* the key of the ratios; NULL: no ratios */
    bool less_is_better;
} measures[] = {{"drain", drain, "rate_per_s", false},
                {"steady", steady, "p99_ms", true},
                {"enqueue", enqueue, "rate_per_s", false},
                {"dead-merchant", dead_merchant, "healthy_p99_ms", true}};

/* ---- rounds ---- */

/* Another one begins each time. */
static pr_rc_t play_round(peers_t *self, int measure, json_t *round, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    for (int i = 0; i < CONTENDERS && rc == PR_OK; i++) {
        int who = (i + self->round_no) % CONTENDERS;
        if (!takes_part(self, who))
            continue;
        (void)fprintf(stderr, "  %s, round %d: %s\n", measures[measure].name, self->round_no + 1,
                      name_of(who));
        json_t *out = json_object();
        (void)json_object_set_new(round, name_of(who), out);
        rc = enter(self, who, error);
        rc = rc != PR_OK ? rc : measures[measure].fn(self, who, out, error);
        rc = rc != PR_OK ? rc : leave(self, error);
    }
    return rc;
}

static void set_ratios(json_t *round, int measure, json_t *ratios)
{
    const char *key = measures[measure].compared, *name;
    double ours = json_number_value(json_object_get(json_object_get(round, OURS), key));
    json_t *each;
    json_object_foreach(round, name, each)
    {
        double theirs = json_number_value(json_object_get(each, key));
        bool less = measures[measure].less_is_better;
        double ratio = ours > 0 && theirs > 0 ? less ? theirs / ours : ours / theirs : 0;
        if (strcmp(name, OURS) != 0)
            (void)json_object_set_new(ratios, name, json_real(ratio));
    }
}

/* {"drain": {"postrider": medians, .., "ratios": {PEER: median, PEER_min, PEER_max}, "rounds"}} */
static void report_measure(json_t *rounds, int measure, json_t *report)
{
    json_t *out = json_object(), *all = json_array(), *medians = json_object(), *value;
    const char *name;
    size_t i;
    json_array_foreach(rounds, i, value)
    {
        json_t *ratios = json_object();
        set_ratios(value, measure, ratios);
        (void)json_array_append_new(all, ratios);
    }
    pr_report_medians(rounds, out);
    pr_report_medians(all, medians);
    json_object_foreach(json_array_get(all, 0), name, value) pr_report_spread(all, name, medians);
    (void)json_object_set_new(out, "ratios", medians);
    (void)json_object_set(out, "rounds", rounds);
    (void)json_object_set_new(report, measures[measure].name, out);
    json_decref(all);
}

static pr_rc_t play(peers_t *self, int measure, json_t *report, pr_error_t *error)
{
    json_t *rounds = json_array();
    pr_rc_t rc = PR_OK;
    for (self->round_no = 0; self->round_no < self->plan->rounds && rc == PR_OK; self->round_no++) {
        json_t *round = json_object();
        (void)json_array_append_new(rounds, round);
        rc = play_round(self, measure, round, error);
    }
    if (rc == PR_OK)
        report_measure(rounds, measure, report);
    json_decref(rounds);
    return rc;
}

static pr_rc_t set_up_all(peers_t *self, pr_error_t *error)
{
    pr_rc_t rc = pr_stage_stop_actors(self->stage, error);
    for (size_t i = 0; i < PR_COUNT(kinds) && rc == PR_OK; i++)
        if (i == 0 || strcmp(kinds[i].database, kinds[i - 1].database) != 0)
            rc = pr_peer_setup(self->stage, self->dir, &kinds[i], error);
    return rc;
}

static void report_losses(const peers_t *self, json_t *report)
{
    pr_tally_sum_t sum = pr_tally_sum(&self->tally, -1);
    (void)json_object_set_new(report, "committed", json_integer(sum.committed));
    (void)json_object_set_new(report, "not_received", json_integer(sum.lost)); /* theirs, too */
    (void)json_object_set_new(report, "repeated", json_integer(sum.repeated));
}

pr_rc_t pr_bench_peers(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                       pr_error_t *error)
{
    peers_t self = {.stage = stage, .plan = plan};
    int64_t each = plan->count + plan->rate_per_s * plan->seconds;
    pr_tally_init(&self.tally, CONTENDERS * plan->rounds * (4 * each + 4LL * WARM_UP));
    pr_rc_t rc = pr_peer_install(&self.dir, error);
    rc = rc != PR_OK ? rc : set_up_all(&self, error);
    for (size_t i = 0; i < PR_COUNT(measures) && rc == PR_OK; i++)
        if (wanted(plan->measures, measures[i].name))
            rc = play(&self, (int)i, report, error);
    rc = rc != PR_OK ? rc : pr_stage_dump(stage, error);
    rc = rc != PR_OK ? rc : pr_tally_read(&self.tally, stage->receiver_dump, error);
    report_losses(&self, report);
    pr_tally_free(&self.tally);
    pr_free(self.dir);
    return rc;
}
