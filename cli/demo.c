/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/demo_payments.h"
#include "cli/environment.h"
#include "cli/home.h"
#include "cli/topology.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_MS 120000
#define SANDBOX_MS 10000
#define DEFAULT_RESULTS 2000
#define RESULTS_PER_PAYMENT 2
#define DEFAULT_SECONDS 15
#define MOST_RESULTS 1000000

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

bool pr_demo_interrupted(void)
{
    return interrupted != 0;
}

/* Hours become seconds; timeouts stay real, but short ones show the same story sooner. */
static const char *const settings[] = {
    "time_scale=0.01",
    "retry.notification=list:5s,15s,30s,1m,2m,4m;jitter=10%",
    "max_age=20m",
    "http.connect_timeout=1s",
    "http.tls_timeout=1s",
    "http.first_byte_timeout=1500ms",
    "http.total_timeout=2s",
    "http.allow_plain=true",
    "http.allow_addresses=127.0.0.0/8",
    "ingress.listen=127.0.0.1:0",
    "ingress.wrong_burst=100000", /* here the forger has the gateway's address */
    NULL,
};

static int usage(FILE *out, int code)
{
    (void)fputs(
        "usage: postrider demo [--payments N] [--seconds S] [--json] [--keep]\n\n"
        "Starts a private Postgres, the topology and a sandbox of fifty merchants of every temper; commits\n"
        "N payment results over S seconds, and charges half as many payments through the sandbox's gateway; repairs,\n"
        "drives dead letters again; reports; stops everything.\n\n"
        "  --payments N   results to commit (2000), and twice as many as payments to charge\n"
        "  --seconds S    over how long (15)\n"
        "  --json         the report as one JSON object on stdout\n"
        "  --keep         leave everything running: `postrider down` stops it\n\n"
        "Exit code 0 only if every notification and every payment is accounted for, and the gateway's ledger agrees.\n",
        out);
    return code;
}

static int number(const char *text, int most)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno || end == text || *end || value < 1 || value > most ? -1 : (int)value;
}

static int parse(pr_demo_t *demo, int argc, char **argv)
{
    static const struct option options[] = {
        {"payments", required_argument, NULL, 'p'}, {"seconds", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},           {"keep", no_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'p')
            demo->results = number(optarg, MOST_RESULTS);
        else if (c == 's')
            demo->seconds = number(optarg, 3600);
        else if (c == 'j')
            demo->json = true;
        else if (c == 'k')
            demo->keep = true;
        else
            return usage(c == 'h' ? stdout : stderr, c == 'h' ? PR_EXIT_OK : PR_EXIT_USAGE);
    }
    if (optind < argc || demo->results < 0 || demo->seconds < 0) {
        (void)fputs("postrider demo: --payments takes 1 to 1000000, --seconds 1 to 3600\n", stderr);
        return usage(stderr, PR_EXIT_USAGE);
    }
    return -1;
}

/* ---- the acts ---- */

static pr_rc_t wait_for_sandbox(pr_demo_t *demo, const char *port_file, pr_error_t *error)
{
    int64_t until_ms = pr_clock_mono_ms() + SANDBOX_MS;
    while (!(demo->sandbox = pr_home_read(port_file)) || !*demo->sandbox) {
        pr_free(demo->sandbox);
        demo->sandbox = NULL;
        if (pr_clock_mono_ms() > until_ms)
            return pr_error_set(error, PR_FATAL, "demo", "",
                                "the sandbox does not say where it listens: see %s/log",
                                demo->state_dir);
        poll(NULL, 0, 20);
    }
    return PR_OK;
}

static pr_rc_t start(pr_demo_t *demo, const char *journal, pr_error_t *error)
{
    PR_CLEANUP_FREE char *merchants = pr_asprintf("%s/merchants.json", demo->state_dir);
    PR_CLEANUP_FREE char *port_file = pr_asprintf("%s/sandbox.address", demo->state_dir);
    PR_CLEANUP_FREE char *program = pr_home_program("postrider-sandbox");
    pr_home_remove(demo->state_dir);
    pr_rc_t rc = pr_home_make_dirs(demo->state_dir, error);
    if (rc == PR_OK)
        rc = pr_demo_write_merchants(demo, merchants, error);
    if (rc != PR_OK)
        return rc;
    const char *const argv[] = {program,       "--listen", "127.0.0.1:0", "--port-file", port_file,
                                "--merchants", merchants,  "--journal",   journal,       NULL};
    pr_extra_service_t sandbox = {"sandbox", argv, false};
    pr_topology_options_t options = {
        .state_dir = demo->state_dir, .overrides = settings, .extra = &sandbox, .nextra = 1};
    (void)fprintf(stderr, "starting Postgres, the actors and the sandbox under %s\n",
                  demo->state_dir);
    rc = pr_topology_up(&options, error);
    return rc == PR_OK ? wait_for_sandbox(demo, port_file, error) : rc;
}

static pr_rc_t connect_both(pr_demo_t *demo, pr_error_t *error)
{
    pr_home_adopt_from(demo->state_dir);
    const char *url = getenv("POSTRIDER_DATABASE_URL");
    pr_rc_t rc = pr_db_sync_connect(url, "postrider_console", &demo->operator_db, error);
    if (rc == PR_OK)
        rc = pr_db_sync_connect(url, "postrider_app", &demo->app, error);
    if (rc == PR_OK) /* stands for the application's own schema; ends with the connection */
        rc = pr_db_sync_query(
            demo->app,
            "CREATE TEMPORARY TABLE demo_payment (id bigint GENERATED ALWAYS AS IDENTITY, "
            "merchant_id text, order_no text, amount_minor bigint)",
            NULL, NULL, error);
    return rc;
}

static pr_rc_t play(pr_demo_t *demo, const char *journal, pr_demo_verdict_t *verdict,
                    pr_error_t *error)
{
    pr_rc_t rc = start(demo, journal, error);
    if (rc == PR_OK)
        rc = connect_both(demo, error);
    if (rc == PR_OK)
        rc = pr_demo_add_merchants(demo, error);
    if (rc == PR_OK)
        rc = pr_demo_add_channel(demo, error);
    if (rc == PR_OK)
        rc = pr_demo_traffic(demo, error);
    if (rc == PR_OK)
        rc = pr_demo_settle(demo, "settling", false, SETTLE_MS, error);
    if (rc == PR_OK) {
        (void)fputs(
            "        the operator: merchants have repaired their servers; endpoints are enabled, dead letters "
            "driven again\n",
            stderr);
        rc = pr_demo_repair(demo, &verdict->redriven, error);
    }
    if (rc == PR_OK)
        rc = pr_demo_settle(demo, "repaired", true, SETTLE_MS, error);
    return rc;
}

/* How often breakers opened and closed: the scheduler's log has a line for each move. */
static void count_trips(const pr_demo_t *demo, pr_demo_verdict_t *verdict)
{
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/log/scheduler.log", demo->state_dir);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    char line[2048];
    while (fgets(line, sizeof line, file)) {
        if (!strstr(line, "event=breaker.moved"))
            continue;
        verdict->breaker_trips += strstr(line, "from=closed to=open") != NULL;
        verdict->breaker_closed += strstr(line, "from=half_open to=closed") != NULL;
    }
    (void)fclose(file);
}

static int finish(pr_demo_t *demo, const char *journal, pr_rc_t rc, pr_demo_verdict_t *verdict,
                  pr_error_t *error)
{
    bool played = rc == PR_OK;
    if (!played)
        (void)fprintf(stderr, "postrider demo: %s\n", error->text);
    /* a story that did not end is judged all the same: what waits is `pending` */
    if (demo->operator_db) {
        pr_rc_t judged = pr_demo_judge(demo, journal, verdict, error);
        if (judged != PR_OK)
            (void)fprintf(stderr, "postrider demo: %s\n", error->text);
        count_trips(demo, verdict);
        verdict->seconds = (double)(pr_clock_mono_ms() - demo->started_ms) / 1000.0;
        if (judged == PR_OK)
            pr_demo_report(demo, verdict);
        played = played && judged == PR_OK;
    }
    return played && pr_demo_clean(verdict) ? PR_EXIT_OK : PR_EXIT_FAILED;
}

static void end(pr_demo_t *demo)
{
    pr_error_t error;
    pr_db_sync_destroy(&demo->app);
    pr_db_sync_destroy(&demo->operator_db);
    if (demo->keep && !interrupted)
        (void)fprintf(stderr,
                      "\nleft running under %s: POSTRIDER_STATE=%s postrider status, ... down\n",
                      demo->state_dir, demo->state_dir);
    else if (pr_topology_down(demo->state_dir, &error) != PR_OK)
        (void)fprintf(stderr, "postrider demo: %s\n", error.text);
    pr_map_destroy(&demo->by_id);
    pr_free(demo->deliveries);
    pr_free(demo->payments);
    pr_free(demo->sandbox);
}

int pr_demo_main(int argc, char **argv)
{
    pr_demo_t demo = {.results = DEFAULT_RESULTS, .seconds = DEFAULT_SECONDS};
    int code = parse(&demo, argc, argv);
    if (code >= 0)
        return code;
    pr_environment_forget();
    PR_CLEANUP_FREE char *home = pr_home_state_dir();
    PR_CLEANUP_FREE char *state = pr_asprintf("%s/demo", home);
    PR_CLEANUP_FREE char *journal = pr_asprintf("%s/sandbox.journal", state);
    demo.state_dir = state;
    if (pr_topology_running(state)) {
        (void)fprintf(
            stderr,
            "postrider demo: one is running already: POSTRIDER_STATE=%s postrider down stops it\n",
            state);
        return PR_EXIT_FAILED;
    }
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    demo.started_ms = pr_clock_mono_ms();
    demo.wanted = (demo.results + RESULTS_PER_PAYMENT - 1) / RESULTS_PER_PAYMENT;
    demo.deliveries = pr_calloc((size_t)demo.results, sizeof *demo.deliveries);
    demo.payments = pr_calloc((size_t)demo.wanted, sizeof *demo.payments);
    demo.by_id = pr_map_new((size_t)demo.results, pr_random_u64());
    pr_demo_cast(&demo);
    pr_demo_verdict_t verdict = {0};
    pr_error_t error = {.text = ""};
    pr_rc_t rc = play(&demo, journal, &verdict, &error);
    code = finish(&demo, journal, rc, &verdict, &error);
    end(&demo);
    return code;
}
