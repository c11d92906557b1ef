/* SPDX-License-Identifier: Apache-2.0
 *
 * enqueue: what a notification costs the application's own transaction. pgbench, prepared
 * statements, BEGIN .. COMMIT with two inserts: the payment's row, and beside it either a row of an
 * outbox table of the application's own, or enqueue_notification. 1 and 16 clients, the two kinds
 * in turn, median of the rounds. The actors are stopped: nothing but the enqueueing is measured.
 */
#include "base/alloc.h"
#include "bench/bench.h"
#include "cli/home.h"
#include "cli/process.h"
#include "cli/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The same transaction but for one line. ~400 bytes of body in both. */
static const char head[] = "\\set merchant random(0, %d)\n"
                           "BEGIN;\n"
                           "INSERT INTO bench.payment (merchant_id, order_no, amount_minor, "
                           "currency, state) VALUES ('m' || :merchant, 'E-1', 5800, 'CNY', "
                           "'succeeded');\n";
static const char plain[] =
    "INSERT INTO bench.outbox (merchant_id, event, body) VALUES ('m' || :merchant, "
    "'payment.succeeded', jsonb_build_object('notify_id', gen_random_uuid(), 'event', "
    "'payment.succeeded', 'merchant_id', 'm' || :merchant, 'order_no', 'E-1', 'payment_id', null, "
    "'amount', 5800, 'currency', 'CNY', 'status', 'succeeded', 'version', 1, 'occurred_at', now(), "
    "'livemode', true, 'failure', null, 'extra', '{}'::jsonb, 'data', jsonb_build_object('method', "
    "'card', 'captured', true, "
    "'reference', '4200002026113012345678901234')));\n";
static const char peer[] = "SELECT peer.enqueue('m' || :merchant, 'E-1', 5800);\n";
static const char enqueue[] =
    "SELECT postrider.enqueue_notification('m' || :merchant, 'E-1', 'payment.succeeded', "
    "jsonb_build_object('method', 'card', 'captured', true, "
    "'reference', '4200002026113012345678901234'), amount_minor => 5800, currency => "
    "'CNY');\n";

static char *find_pgbench(void)
{
    const char *bin = getenv("PR_PG_BIN");
    for (int version = 30; !bin && version >= 15; version--) {
        PR_CLEANUP_FREE char *path = pr_asprintf("/usr/lib/postgresql/%d/bin/pgbench", version);
        if (access(path, X_OK) == 0)
            return PR_STEAL(path);
    }
    return bin ? pr_asprintf("%s/pgbench", bin) : pr_strdup("pgbench");
}

/* One run; transactions a second, without the time to connect. */
static pr_rc_t run(pr_stage_t *stage, const char *script, int clients, int64_t seconds, double *tps,
                   pr_error_t *error)
{
    PR_CLEANUP_FREE char *pgbench = find_pgbench();
    PR_CLEANUP_FREE char *clients_text = pr_asprintf("%d", clients);
    PR_CLEANUP_FREE char *seconds_text = pr_asprintf("%lld", (long long)seconds);
    const char *const argv[] = {pgbench,      "-n",   "-M", "prepared",     "-c",
                                clients_text, "-j",   "1",  "-T",           seconds_text,
                                "-f",         script, "--", stage->app_url, NULL};
    pr_buffer_t out;
    pr_buffer_init(&out, 65536);
    pr_rc_t rc = pr_process_capture(argv, &out, NULL, error);
    const char *at = rc == PR_OK ? strstr(pr_buffer_text(&out), "\ntps = ") : NULL;
    if (at)
        *tps = strtod(at + strlen("\ntps = "), NULL);
    else if (rc == PR_OK)
        rc = pr_error_set(error, PR_FATAL, "bench", "", "pgbench gives no tps");
    pr_buffer_free(&out);
    return rc != PR_OK ? rc : pr_bench_wait_ms(0, error);
}

static pr_rc_t write_script(const pr_stage_t *stage, const char *name, const char *line,
                            char **path, pr_error_t *error)
{
    PR_CLEANUP_FREE char *first = pr_asprintf(head, stage->options.merchants - 1);
    PR_CLEANUP_FREE char *text = pr_asprintf("%s%sCOMMIT;\n", first, line);
    *path = pr_asprintf("%s/%s.pgbench", stage->state_dir, name);
    return pr_home_write(*path, text, 0644, error);
}

pr_rc_t pr_bench_enqueue_once(pr_stage_t *stage, int clients, int64_t seconds, double *per_s,
                              pr_error_t *error)
{
    PR_CLEANUP_FREE char *script = NULL;
    pr_rc_t rc = write_script(stage, "enqueue", stage->peer ? peer : enqueue, &script, error);
    (void)setenv("PGOPTIONS", "-c role=postrider_app", 1);
    rc = rc != PR_OK ? rc : run(stage, script, clients, seconds, per_s, error);
    (void)unsetenv("PGOPTIONS");
    return rc;
}

/* Everything that would take CPU beside it: the actors. */
static pr_rc_t stop_actors(pr_stage_t *stage, pr_error_t *error)
{
    pr_service_names_t names;
    pr_rc_t rc = PR_OK;
    pr_topology_services(stage->state_dir, &names);
    for (int i = 0; i < names.count && rc == PR_OK; i++)
        rc = pr_stage_stop(stage, names.name[i], error);
    return rc;
}

static pr_rc_t with_clients(pr_stage_t *stage, const pr_bench_plan_t *plan, int clients,
                            const char *plain_script, const char *enqueue_script, json_t *report,
                            pr_error_t *error)
{
    json_t *rounds = json_array();
    pr_rc_t rc = PR_OK;
    for (int i = 0; i < plan->rounds && rc == PR_OK; i++) {
        double without = 0, with = 0;
        rc = run(stage, plain_script, clients, plan->seconds, &without, error);
        rc = rc != PR_OK ? rc : run(stage, enqueue_script, clients, plan->seconds, &with, error);
        (void)fprintf(stderr, "  %2d clients, round %d: plain %.0f/s, enqueue %.0f/s\n", clients,
                      i + 1, without, with);
        (void)json_array_append_new(rounds, json_pack("{s:f, s:f, s:f}", "plain_per_s", without,
                                                      "enqueue_per_s", with, "ratio",
                                                      without > 0 ? with / without : 0.0));
    }
    json_t *medians = json_object();
    pr_report_medians(rounds, medians);
    (void)json_object_set_new(medians, "rounds", rounds);
    (void)json_object_set_new(report, clients == 1 ? "clients_1" : "clients_16", medians);
    return rc;
}

pr_rc_t pr_bench_enqueue(pr_stage_t *stage, const pr_bench_plan_t *plan, json_t *report,
                         pr_error_t *error)
{
    PR_CLEANUP_FREE char *plain_script = NULL;
    PR_CLEANUP_FREE char *enqueue_script = NULL;
    pr_rc_t rc = stop_actors(stage, error);
    rc = rc != PR_OK ? rc : write_script(stage, "plain", plain, &plain_script, error);
    rc = rc != PR_OK ? rc : write_script(stage, "enqueue", enqueue, &enqueue_script, error);
    (void)setenv("PGOPTIONS", "-c role=postrider_app", 1);
    static const int clients[] = {1, 16};
    for (size_t i = 0; i < PR_COUNT(clients) && rc == PR_OK; i++)
        rc = with_clients(stage, plan, clients[i], plain_script, enqueue_script, report, error);
    (void)unsetenv("PGOPTIONS");
    return rc;
}
