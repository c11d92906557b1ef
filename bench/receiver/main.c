/* SPDX-License-Identifier: Apache-2.0
 *
 * postrider-receiver: the fast counting receiver of the bench. Exit codes: 0 stopped by a signal,
 * 1 failed, 2 usage.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "bench/receiver/receiver.h"
#include "sandbox/listener.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const char *listen, *port_file;
    char *hang; /* owned; receiver.hang borrows it */
    bool json;
    pr_receiver_options_t receiver;
} settings_t;

static const struct option options[] = {
    {"listen", required_argument, NULL, 'l'},
    {"port-file", required_argument, NULL, 'p'},
    {"dump", required_argument, NULL, 'd'},
    {"expect", required_argument, NULL, 'e'},
    {"max-ids", required_argument, NULL, 'i'},
    {"max-connections", required_argument, NULL, 'c'},
    {"hang-percent", required_argument, NULL, 'H'},
    {"hang", required_argument, NULL, 'n'},
    {"json", no_argument, NULL, 'J'},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static const char help[] =
    "usage: postrider-receiver [OPTION]...\n"
    "Answers every POST with 200 SUCCESS and keeps first receipt and count of each notification.\n"
    "Prints `listening ADDRESS`. GET /control/stats gives the counts as JSON.\n\n"
    "  --listen ADDRESS     127.0.0.1:8091; [::1]:0; port 0 = any free one\n"
    "  --port-file FILE     write the address there, too\n"
    "  --dump FILE          write the record there at the end and at SIGUSR1: 32 bytes a row (16 id,\n"
    "                       int64 first receipt in us since 1970, uint32 count, uint32 flags: bit 0\n"
    "                       = its merchant hangs), little-endian, renamed into place when whole\n"
    "  --expect N           ids that fit without growing (1000000)\n"
    "  --max-ids N          ids at most, 64 to 128 bytes each (16000000)\n"
    "  --max-connections N  (8192)\n"
    "  --hang-percent P     this share of the merchants (by hash of NAME in /m/NAME) never answers\n"
    "  --hang NAMES         m1,m7: these never answer\n"
    "  --json               print the counts as JSON on stdout at the end\n"
    "  --version, --help\n";

static bool parse_count(const char *text, unsigned long long max, unsigned long long *out)
{
    char *end = NULL;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && *out <= max;
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, settings_t *out)
{
    int letter;
    while ((letter = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        unsigned long long number = 0;
        bool good = true;
        switch (letter) {
        case 'l':
            out->listen = optarg;
            break;
        case 'p':
            out->port_file = optarg;
            break;
        case 'd':
            out->receiver.dump = optarg;
            break;
        case 'e':
            good = parse_count(optarg, 1ULL << 31, &number);
            out->receiver.expected_ids = number;
            break;
        case 'i':
            good = parse_count(optarg, 1ULL << 31, &number) && number > 0;
            out->receiver.max_ids = number;
            break;
        case 'c':
            good = parse_count(optarg, 60000, &number) && number > 0;
            out->receiver.max_connections = (uint32_t)number;
            break;
        case 'H':
            good = parse_count(optarg, 100, &number);
            out->receiver.hang_permille = (uint32_t)number * 10;
            break;
        case 'n':
            pr_free(out->hang);
            out->hang = pr_asprintf(",%s,", optarg);
            out->receiver.hang = out->hang;
            break;
        case 'J':
            out->json = true;
            break;
        case 'V':
            puts("postrider-receiver " PR_VERSION);
            return 0;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            good = false;
        }
        if (!good) {
            fputs("postrider-receiver: bad option or value; see --help\n", stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "postrider-receiver: unexpected argument %s; see --help\n", argv[optind]);
        return 2;
    }
    return -1;
}

static void print_counts(const pr_receiver_counts_t *counts)
{
    printf("{\"requests\":%" PRIu64 ",\"distinct\":%" PRIu64 ",\"repeated\":%" PRIu64
           ",\"hung\":%" PRIu64 ",\"unnamed\":%" PRIu64 ",\"refused\":%" PRIu64
           ",\"first_us\":%" PRId64 ",\"last_us\":%" PRId64 "}\n",
           counts->requests, counts->distinct, counts->repeated, counts->hung, counts->unnamed,
           counts->refused, counts->first_us, counts->last_us);
}

static pr_rc_t serve(settings_t *settings, pr_error_t *error)
{
    char address[PR_ADDRESS_TEXT_MAX];
    settings->receiver.signals = pr_listener_signals();
    pr_rc_t rc = pr_listener_open(settings->listen, &settings->receiver.listener, address, error);
    if (rc != PR_OK) {
        return rc;
    }
    pr_receiver_t *receiver = pr_receiver_new(&settings->receiver);
    rc = pr_listener_announce(address, settings->port_file, error);
    if (rc == PR_OK) {
        rc = pr_receiver_run(receiver, error);
    }
    if (rc == PR_OK && settings->json) {
        pr_receiver_counts_t counts = pr_receiver_counts(receiver);
        print_counts(&counts);
    }
    pr_receiver_destroy(&receiver);
    return rc;
}

int main(int argc, char **argv)
{
    settings_t settings = {
        .listen = "127.0.0.1:8091",
        .receiver = {.max_connections = 8192, .expected_ids = 1000000, .max_ids = 16000000},
    };
    int code = parse(argc, argv, &settings);
    if (code >= 0) {
        pr_free(settings.hang);
        return code;
    }
    pr_log_init("receiver", PR_LOG_INFO);
    pr_error_t error = {0};
    pr_rc_t rc = serve(&settings, &error);
    pr_free(settings.hang);
    if (rc != PR_OK) {
        fprintf(stderr, "postrider-receiver: %s %s\n", error.text, error.code);
    }
    return rc == PR_OK ? 0 : rc == PR_BAD ? 2 : 1;
}
