/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tap.h"

#include "actor/actor.h"
#include "base/alloc.h"
#include "bus/bus.h"
#include "cli/command.h"
#include "cli/home.h"
#include "cli/tap_filter.h"
#include "cli/tap_line.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 16 << 20, WAIT_MS = 1000, BROKERS_TEXT_MAX = 4096 };

static const char help[] =
    "usage: postrider tap [--kind K] [--merchant M] [--order O] [--json] [--limit N]\n"
    "                     [--config FILE] [--set KEY=VALUE]\n\n"
    "Shows every message on the bus, decoded, until interrupted. Bodies are shown by length and\n"
    "digest, secrets never. --kind: one kind of message (hint, job_batch, outcome_batch,\n"
    "attempt_fact ...). --merchant, --order: what concerns it; a job's outcome and its\n"
    "acknowledgement are found by the job's token. --limit: end after N messages.\n";

typedef struct {
    pr_tap_filter_t filter;
    const char *config;
    const char *overrides[16]; /* "key=value", ends with NULL */
    size_t overrides_count;
    bool as_json;
    unsigned long limit; /* 0 = none */
} tap_t;

/* ---- where the brokers are ---- */

/* The brokers of the topology that `up` started, as "bus.brokers=..."; NULL: none runs here. */
static char *running_brokers(void)
{
    PR_CLEANUP_FREE char *state = pr_home_state_dir();
    PR_CLEANUP_FREE char *path = pr_asprintf("%s/run/env/POSTRIDER_BUS_BROKERS", state);
    FILE *file = fopen(path, "re");
    if (!file) {
        return NULL;
    }
    char text[BROKERS_TEXT_MAX];
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return pr_asprintf("bus.brokers=%s", text);
}

static pr_rc_t load_config(tap_t *self, pr_config_t **config, pr_error_t *error)
{
    PR_CLEANUP_FREE char *running = NULL;
    bool told = self->config || self->overrides_count > 0 || getenv("POSTRIDER_BUS_BROKERS") ||
                getenv("POSTRIDER_CONFIG");
    if (!told) {
        running = running_brokers();
        self->overrides[0] = running; /* read within the call */
    }
    pr_rc_t rc = pr_config_load(self->config, self->overrides, config, error);
    if (!told) {
        self->overrides[0] = NULL;
    }
    return rc;
}

/* One SUB for all brokers. */
static pr_rc_t connect_all(const tap_t *self, const pr_config_t *config, pr_socket_t *socket,
                           pr_error_t *error)
{
    const char *const *brokers;
    int count = pr_config_list(config, "bus.brokers", &brokers);
    for (int i = 0; i < count; i++) {
        PR_CLEANUP_FREE char *address = pr_bus_address(brokers[i], "tap");
        pr_rc_t rc = pr_socket_connect(socket, address, error);
        if (rc != PR_OK) {
            return rc;
        }
        bool nobody = strncmp(address, "ipc://", 6) == 0 && access(address + 6, F_OK) != 0;
        fprintf(stderr, "tap: listening at %s%s\n", address,
                nobody ? ", where no broker is yet" : "");
    }
    /* Outcomes are recognised by the tokens of jobs, so a filter by merchant must see all. */
    bool narrow = self->filter.kind && !self->filter.merchant && !self->filter.order;
    pr_socket_subscribe(socket, narrow ? self->filter.kind : "");
    return PR_OK;
}

/* ---- one message ---- */

/* True: it was shown. */
static bool show(tap_t *self, pr_bytes_t frame, pr_buffer_t *text)
{
    pr_error_t error;
    PR_CLEANUP(pr_envelope) Postrider__V1__Envelope *envelope = NULL;
    if (pr_envelope_unpack(frame, &envelope, &error) != PR_OK ||
        pr_envelope_to_json(envelope, text) != PR_OK) {
        fprintf(stderr, "tap: a frame of %zu bytes cannot be shown\n", frame.len);
        return false;
    }
    json_t *json = json_loadb((const char *)text->data, text->len, 0, NULL);
    bool shown = json && pr_tap_filter(&self->filter, json);
    if (shown && self->as_json) {
        json_dumpf(json, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (shown) {
        pr_buffer_clear(text);
        if (pr_tap_line(json, text) == PR_OK) {
            fputs(pr_buffer_text(text), stdout);
        }
    }
    json_decref(json);
    return shown;
}

/* Ends at the limit, or when nobody reads stdout any more. */
static void listen_to(tap_t *self, pr_socket_t *socket)
{
    pr_buffer_t text;
    pr_buffer_init(&text, TEXT_MAX);
    unsigned long shown = 0;
    bool on = true;
    while (on) {
        pr_incoming_t in;
        if (pr_socket_receive(socket, &in) != PR_OK) {
            pr_socket_wait(socket, WAIT_MS);
            continue;
        }
        shown += show(self, in.frame, &text);
        on = fflush(stdout) == 0 && (self->limit == 0 || shown < self->limit);
    }
    pr_buffer_free(&text);
}

static int run(tap_t *self)
{
    pr_error_t error = {0};
    PR_CLEANUP(pr_config) pr_config_t *config = NULL;
    if (load_config(self, &config, &error) != PR_OK) {
        fprintf(stderr, "tap: %s\n", error.text);
        return PR_EXIT_USAGE;
    }
    pr_bus_t *bus = pr_bus_new();
    pr_socket_t *socket = pr_socket_new(bus, PR_SOCKET_SUB, NULL);
    pr_rc_t rc = connect_all(self, config, socket, &error);
    if (rc == PR_OK) {
        listen_to(self, socket);
    } else {
        fprintf(stderr, "tap: %s\n", error.text);
    }
    pr_socket_destroy(&socket);
    pr_bus_destroy(&bus);
    return rc == PR_OK ? PR_EXIT_OK : PR_EXIT_USAGE;
}

/* ---- arguments ---- */

static bool is_kind(const char *name)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(&postrider__v1__envelope__descriptor, name);
    return field && (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF);
}

static void list_kinds(void)
{
    const ProtobufCMessageDescriptor *envelope = &postrider__v1__envelope__descriptor;
    fputs("tap: kinds are", stderr);
    for (unsigned i = 0; i < envelope->n_fields; i++) {
        if (envelope->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
            fprintf(stderr, " %s", envelope->fields[i].name);
        }
    }
    fputc('\n', stderr);
}

static bool take_limit(tap_t *self, const char *value)
{
    char *end = NULL;
    self->limit = strtoul(value, &end, 10);
    return value[0] >= '1' && value[0] <= '9' && *end == '\0';
}

/* False: usage. */
static bool take(tap_t *self, int letter, char *value)
{
    switch (letter) {
    case 'k':
        self->filter.kind = value;
        if (!is_kind(value)) {
            list_kinds();
            return false;
        }
        return true;
    case 'm':
        self->filter.merchant = value;
        return true;
    case 'o':
        self->filter.order = value;
        return true;
    case 'j':
        self->as_json = true;
        return true;
    case 'n':
        return take_limit(self, value);
    case 'c':
        self->config = value;
        return true;
    case 's':
        if (self->overrides_count + 1 == PR_COUNT(self->overrides)) {
            return false;
        }
        self->overrides[self->overrides_count++] = value;
        return true;
    default:
        return false;
    }
}

int pr_tap_main(int argc, char **argv)
{
    static const struct option options[] = {{"kind", required_argument, NULL, 'k'},
                                            {"merchant", required_argument, NULL, 'm'},
                                            {"order", required_argument, NULL, 'o'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"limit", required_argument, NULL, 'n'},
                                            {"config", required_argument, NULL, 'c'},
                                            {"set", required_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    PR_CLEANUP_FREE tap_t *self = PR_NEW(tap_t);
    int letter;
    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (letter == 'h') {
            fputs(help, stdout);
            return PR_EXIT_OK;
        }
        if (!take(self, letter, optarg)) {
            fputs(help, stderr);
            return PR_EXIT_USAGE;
        }
    }
    if (optind != argc) {
        fputs(help, stderr);
        return PR_EXIT_USAGE;
    }
    return run(self);
}
