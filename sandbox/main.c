/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider-sandbox: pretend merchants of every temper on one port, and the journal that judges
 * Postrider. Exit codes: 0 stopped by a signal, 1 failed, 2 usage.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "sandbox/gateway_script.h"
#include "sandbox/listener.h"
#include "sandbox/server.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *listen, *port_file, *spec, *file, *accounts;
    bool json;
    pr_sandbox_options_t sandbox;
    pr_server_options_t server;
} settings_t;

static const struct option options[] = {
    {"listen", required_argument, NULL, 'l'},
    {"port-file", required_argument, NULL, 'p'},
    {"spec", required_argument, NULL, 's'},
    {"merchants", required_argument, NULL, 'm'},
    {"journal", required_argument, NULL, 'j'},
    {"seed", required_argument, NULL, 'r'},
    {"max-ids", required_argument, NULL, 'i'},
    {"max-connections", required_argument, NULL, 'c'},
    {"max-body", required_argument, NULL, 'b'},
    {"strict", no_argument, NULL, 'S'},
    {"gateway-accounts", required_argument, NULL, 'g'},
    {"gateway-journal", required_argument, NULL, 'G'},
    {"webhook-tries", required_argument, NULL, 'w'},
    {"max-orders", required_argument, NULL, 'o'},
    {"json", no_argument, NULL, 'J'},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static void print_help(void)
{
    static const char text[] =
        "usage: postrider-sandbox [OPTION]...\n"
        "Pretend merchants of every temper on one port: POST /m/MERCHANT (temper from the table) or\n"
        "POST /t/TEMPER/MERCHANT (temper from the path); and pretend payment gateways of every\n"
        "profile that is shipped. Prints `listening ADDRESS`.\n\n"
        "  --listen ADDRESS      127.0.0.1:8090; [::1]:0; port 0 = any free one\n"
        "  --port-file FILE      write the address there, too\n"
        "  --spec LIST           m001=prompt,m002=slow:200ms,*=refuse (* = all others; else prompt)\n"
        "  --merchants FILE      JSON: {\"m1\": {\"temper\": \"slow:1s\", \"secrets\": [\"whsec_..\"]}}\n"
        "  --journal FILE        append one JSON line a request (none by default)\n"
        "  --seed N              of the dice of `flaky` (1)\n"
        "  --strict              answer 401 to bad and missing signatures where a secret is known\n"
        "  --max-ids N           notifications remembered, 64 to 128 bytes each (4000000)\n"
        "  --max-connections N   (4096)\n"
        "  --max-body BYTES      of a request (65536)\n"
        "  --gateway-accounts F  JSON: [{\"profile\": \"sandbox\", \"account\": \"a1\"}, ...]\n"
        "  --gateway-journal F   what the gateways did; read again on start (none by default)\n"
        "  --webhook-tries N     of a webhook that is not accepted (8)\n"
        "  --max-orders N        at all gateways (1000000)\n"
        "  --json                print the statistics as JSON on stdout at the end\n"
        "  --version, --help\n\n"
        "Control: GET /control/stats[?merchant=M], GET /control/ledger[?merchant=M&from=N],\n"
        "GET /control/journal[?from=BYTE], POST /control/temper {\"merchant\", \"temper\"},\n"
        "POST /control/secret {\"merchant\", \"secrets\"}, POST /control/reset, GET /healthz;\n"
        "of the gateways /control/gateway/...: sandbox/README.md.\n\n"
        "Tempers:\n";
    const char *usage = NULL, *help = NULL;
    fputs(text, stdout);
    for (size_t i = 0; pr_temper_describe(i, &usage, &help); i++) {
        printf("  %-38s %s\n", usage, help);
    }
    puts("\nScripts of payments, ~CLAUSE~CLAUSE... in an order number or a description:");
    for (size_t i = 0; pr_gate_script_describe(i, &usage, &help); i++) {
        printf("  %-38s %s\n", usage, help);
    }
}

/* 1..max, else false. */
static bool parse_count(const char *text, uint64_t max, uint64_t *out)
{
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return *text >= '0' && *text <= '9' && *end == '\0' && value >= 1 && value <= max;
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, settings_t *out)
{
    int letter;
    while ((letter = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        uint64_t number = 0;
        bool good = true;
        switch (letter) {
        case 'l':
            out->listen = optarg;
            break;
        case 'p':
            out->port_file = optarg;
            break;
        case 's':
            out->spec = optarg;
            break;
        case 'm':
            out->file = optarg;
            break;
        case 'j':
            out->sandbox.journal = optarg;
            break;
        case 'S':
            out->sandbox.strict = true;
            break;
        case 'g':
            out->accounts = optarg;
            break;
        case 'G':
            out->sandbox.gateway.journal = optarg;
            break;
        case 'w':
            good = parse_count(optarg, 100, &number);
            out->sandbox.gateway.webhook_tries = (int)number;
            break;
        case 'o':
            good = parse_count(optarg, 1ULL << 24, &number);
            out->sandbox.gateway.max_orders = number;
            break;
        case 'J':
            out->json = true;
            break;
        case 'r':
            good = parse_count(optarg, UINT64_MAX, &out->sandbox.seed);
            break;
        case 'i':
            good = parse_count(optarg, 1ULL << 31, &number);
            out->sandbox.max_ids = number;
            break;
        case 'c':
            good = parse_count(optarg, 60000, &number);
            out->server.max_connections = (uint32_t)number;
            break;
        case 'b':
            good = parse_count(optarg, 16U << 20, &number);
            out->server.max_body = (uint32_t)number;
            break;
        case 'V':
            puts("postrider-sandbox " PR_VERSION);
            return 0;
        case 'h':
            print_help();
            return 0;
        default:
            good = false;
        }
        if (!good) {
            fputs("postrider-sandbox: bad option or value; see --help\n", stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "postrider-sandbox: unexpected argument %s; see --help\n", argv[optind]);
        return 2;
    }
    return -1;
}

static pr_rc_t load(const settings_t *settings, pr_sandbox_t *sandbox, pr_error_t *error)
{
    pr_rc_t rc = PR_OK;
    if (settings->file) {
        rc = pr_merchants_load_file(sandbox->merchants, settings->file, error);
    }
    if (rc == PR_OK && settings->accounts) {
        rc = pr_gate_load(sandbox->gate, settings->accounts, error);
    }
    if (rc == PR_OK && settings->spec) {
        rc = pr_merchants_load_spec(sandbox->merchants, settings->spec, error);
    }
    return rc;
}

static pr_rc_t serve(settings_t *settings, pr_sandbox_t *sandbox, pr_error_t *error)
{
    char address[PR_ADDRESS_TEXT_MAX];
    pr_rc_t rc = load(settings, sandbox, error);
    if (rc != PR_OK) {
        return rc;
    }
    settings->server.signals = pr_listener_signals();
    rc = pr_listener_open(settings->listen, &settings->server.listener, address, error);
    if (rc != PR_OK) {
        return rc;
    }
    pr_server_t *server = pr_server_new(&settings->server, sandbox);
    rc = pr_listener_announce(address, settings->port_file, error);
    if (rc == PR_OK) {
        rc = pr_server_run(server, error);
    }
    pr_server_destroy(&server);
    if (rc == PR_OK) {
        rc = pr_journal_flush(sandbox->journal, error);
        rc = rc == PR_OK ? pr_gate_flush(sandbox->gate, error) : rc;
    }
    if (rc == PR_OK && settings->json) {
        PR_CLEANUP_FREE char *text = pr_control_stats(sandbox, NULL);
        puts(text);
    }
    return rc;
}

int main(int argc, char **argv)
{
    settings_t settings = {
        .listen = "127.0.0.1:8090",
        .sandbox = {.seed = 1,
                    .max_ids = 4000000,
                    .max_merchants = 100000,
                    .gateway = {.max_orders = 1000000, .webhook_tries = 8}},
        .server = {.listener = -1, .signals = -1, .max_connections = 4096, .max_body = 65536},
    };
    int code = parse(argc, argv, &settings);
    if (code >= 0) {
        return code;
    }
    pr_log_init("sandbox", PR_LOG_INFO);
    pr_error_t error = {0};
    pr_sandbox_t *sandbox = pr_sandbox_new(&settings.sandbox, &error);
    pr_rc_t rc = sandbox ? serve(&settings, sandbox, &error) : PR_FATAL;
    pr_sandbox_destroy(&sandbox);
    if (rc != PR_OK) {
        fprintf(stderr, "postrider-sandbox: %s %s\n", error.text, error.code);
    }
    return rc == PR_OK ? 0 : rc == PR_BAD ? 2 : 1;
}
