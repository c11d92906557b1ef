/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a process: arguments, settings, signals, start, loop, drain, stop.
 *
 *   STARTING --pr_actor_ready--> READY --TERM, INT--> DRAINING --drained, late, again--> STOPPED
 *      +-------------------------TERM, INT---------------^
 *   any --pr_actor_fail, database cannot go on--> STOPPED with the failure's exit code
 */
#include "actor/actor_private.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define HEALTH_MS 1000
#define SLEEP_MAX_MS 1000

enum { EXIT_CODE_OK = 0, EXIT_CODE_FAILED = 1, EXIT_CODE_CONFIG = 2, EXIT_CODE_CANNOT = 3 };

typedef enum {
    STATE_STARTING = 1,
    STATE_READY,
    STATE_DRAINING,
    STATE_STOPPED,
} state_t;

struct pr_actor_t {
    const pr_actor_spec_t *spec;
    pr_arguments_t arguments;
    pr_config_t *config;
    pr_bus_t *bus;
    pr_loop_t *loop;
    pr_facts_t *facts; /* made when the first fact is sent */
    pr_buffer_t frame; /* the envelope under way */
    void *io;
    char id[65];
    state_t state;
    int exit_code;
    int signal_fd;
    int64_t started_ms;
    int64_t drain_until_ms;
    uint64_t handled;
};

/* ---- small questions ---- */

pr_loop_t *pr_actor_loop(pr_actor_t *self)
{
    return self->loop;
}

pr_bus_t *pr_actor_bus(pr_actor_t *self)
{
    return self->bus;
}

const pr_config_t *pr_actor_config(const pr_actor_t *self)
{
    return self->config;
}

const char *pr_actor_id(const pr_actor_t *self)
{
    return self->id;
}

bool pr_actor_draining(const pr_actor_t *self)
{
    return self->state == STATE_DRAINING;
}

void pr_actor_count(pr_actor_t *self, uint64_t handled)
{
    self->handled += handled;
}

static const char *state_name(state_t state)
{
    switch (state) {
    case STATE_STARTING:
        return "starting";
    case STATE_READY:
        return "ready";
    case STATE_DRAINING:
        return "draining";
    default:
        return "stopped";
    }
}

/* ---- moves ---- */

static void enter(pr_actor_t *self, state_t state)
{
    pr_log_info("actor.state", "from=%s to=%s id=%s", state_name(self->state), state_name(state),
                self->id);
    self->state = state;
}

/* s6 and its like wait for a newline on the descriptor that NOTIFY_FD names. */
static void tell_supervisor(void)
{
    const char *text = getenv("NOTIFY_FD");
    if (text == NULL || strspn(text, "0123456789") != strlen(text) || text[0] == '\0')
        return;
    int fd = (int)strtol(text, NULL, 10);
    if (fd <= STDERR_FILENO)
        return;
    ssize_t ignored = write(fd, "\n", 1);
    (void)ignored;
    close(fd);
    unsetenv("NOTIFY_FD");
}

void pr_actor_ready(pr_actor_t *self)
{
    if (self->state != STATE_STARTING)
        return;
    enter(self, STATE_READY);
    tell_supervisor();
}

void pr_actor_fail(pr_actor_t *self, pr_rc_t rc, const pr_error_t *error)
{
    pr_log_error(PR_LOG_ERROR, "actor.failed", error);
    self->exit_code = rc == PR_FATAL ? EXIT_CODE_CANNOT
                      : rc == PR_BAD ? EXIT_CODE_CONFIG
                                     : EXIT_CODE_FAILED;
    if (self->state != STATE_STOPPED)
        enter(self, STATE_STOPPED);
}

static void begin_drain(pr_actor_t *self, int64_t now_ms)
{
    if (self->state == STATE_DRAINING || self->spec->drain == NULL) {
        enter(self, STATE_STOPPED); /* asked twice: at once */
        return;
    }
    enter(self, STATE_DRAINING);
    self->drain_until_ms = now_ms + pr_config_duration_ms(self->config, "actor.drain_timeout");
    self->spec->drain(self->io, now_ms);
}

static void check_drain(pr_actor_t *self, int64_t now_ms)
{
    if (self->state != STATE_DRAINING)
        return;
    if (self->spec->drained == NULL || self->spec->drained(self->io)) {
        enter(self, STATE_STOPPED);
    } else if (now_ms >= self->drain_until_ms) {
        pr_log_warn("actor.drain_timeout", "after_ms=%" PRId64,
                    pr_config_duration_ms(self->config, "actor.drain_timeout"));
        enter(self, STATE_STOPPED);
    }
}

/* ---- reload: all or nothing ---- */

static void apply_log_level(const pr_actor_t *self)
{
    pr_log_init(self->spec->name, pr_log_level_parse(pr_config_text(self->config, "log.level")));
}

static void reload(pr_actor_t *self)
{
    PR_CLEANUP(pr_config) pr_config_t *fresh = NULL;
    pr_error_t error;
    if (pr_config_load(self->arguments.config, self->arguments.overrides, &fresh, &error) !=
        PR_OK) {
        pr_log_error(PR_LOG_ERROR, "config.refused", &error);
        return;
    }
    int index = -1;
    while ((index = pr_config_next_fixed_difference(self->config, fresh, index + 1)) >= 0)
        pr_log_warn("config.needs_restart", "key=%s", pr_settings[index].key);

    pr_config_swap_reloadable(self->config, fresh);
    if (self->spec->reload != NULL && self->spec->reload(self->io, self->config, &error) != PR_OK) {
        pr_config_swap_reloadable(self->config, fresh);
        pr_log_error(PR_LOG_ERROR, "config.refused", &error);
        return;
    }
    apply_log_level(self);
    pr_log_info("config.reloaded", "file=%s",
                self->arguments.config != NULL ? self->arguments.config : "");
}

/* ---- signals: blocked for all threads, read like any other input ---- */

static void on_signal(void *arg, int64_t now_ms)
{
    pr_actor_t *self = arg;
    struct signalfd_siginfo info;
    while (read(self->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        pr_log_info("actor.signal", "number=%d from_pid=%d", (int)info.ssi_signo,
                    (int)info.ssi_pid);
        if (info.ssi_signo == SIGHUP)
            reload(self);
        else if (self->state != STATE_STOPPED)
            begin_drain(self, now_ms);
    }
}

/* Before the first thread (ZeroMQ's, curl's), so that they inherit the mask. */
static void block_signals(pr_actor_t *self)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    int rc = sigprocmask(SIG_BLOCK, &set, NULL);
    pr_assert(rc == 0);
    self->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    pr_assert(self->signal_fd >= 0);
}

/* ---- messages ---- */

static pr_bytes_t pack(pr_actor_t *self, Postrider__V1__Envelope *envelope)
{
    const uint64_t random[2] = {pr_random_u64(), pr_random_u64()};
    pr_envelope_pack(envelope, self->id, pr_clock_wall_us(), random, &self->frame);
    return pr_buffer_bytes(&self->frame);
}

pr_rc_t pr_actor_send(pr_actor_t *self, pr_socket_t *socket, pr_bytes_t route_or_topic,
                      Postrider__V1__Envelope *envelope)
{
    return pr_socket_send(socket, route_or_topic, pack(self, envelope));
}

void pr_actor_send_fact(pr_actor_t *self, Postrider__V1__Envelope *envelope)
{
    if (self->facts == NULL)
        self->facts = pr_facts_new(self->bus, self->config);
    pr_facts_send(self->facts, pack(self, envelope));
}

static void send_health(void *arg, int64_t now_ms)
{
    pr_actor_t *self = arg;
    Postrider__V1__ActorHealth health = POSTRIDER__V1__ACTOR_HEALTH__INIT;
    health.actor =
        (char *)(uintptr_t)self->spec->name; /* protobuf-c knows no const; it only reads */
    health.pid = (uint32_t)getpid();
    health.state = (char *)(uintptr_t)state_name(self->state);
    health.uptime_ms = (uint64_t)(now_ms - self->started_ms);
    health.handled = self->handled;
    health.version = (char *)(uintptr_t)PR_VERSION;
    Postrider__V1__Envelope envelope = POSTRIDER__V1__ENVELOPE__INIT;
    envelope.body_case = POSTRIDER__V1__ENVELOPE__BODY_ACTOR_HEALTH;
    envelope.actor_health = &health;
    pr_actor_send_fact(self, &envelope);
}

/* ---- life ---- */

/* "notifier-HOST-4711-9f3a": the random end makes it this life's own, whatever pids come back. */
static void make_id(pr_actor_t *self)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    unsigned random = (unsigned)(pr_random_u64() & 0xffff);
    if (self->arguments.id != NULL)
        snprintf(self->id, sizeof self->id, "%s-%04x", self->arguments.id, random);
    else
        snprintf(self->id, sizeof self->id, "%s-%.24s-%d-%04x", self->spec->name, host,
                 (int)getpid(), random);
}

static pr_rc_t start(pr_actor_t *self, pr_error_t *error)
{
    self->started_ms = pr_clock_mono_ms();
    self->state = STATE_STARTING;
    block_signals(self);
    make_id(self);
    pr_buffer_init(&self->frame, PR_WIRE_FRAME_MAX);
    self->bus = pr_bus_new();
    self->loop = pr_loop_new();
    pr_loop_add_fd(self->loop, self->signal_fd, POLLIN, on_signal, self);
    pr_loop_add_timer(self->loop, self->started_ms, HEALTH_MS, send_health, self);
    pr_watchdog_start(pr_config_duration_ms(self->config, "actor.watchdog"));
    pr_log_info("actor.start", "id=%s version=%s config=%s", self->id, PR_VERSION,
                self->arguments.config != NULL ? self->arguments.config : "");
    return self->spec->start(self, &self->io, error);
}

static void run(pr_actor_t *self)
{
    pr_error_t error;
    while (self->state != STATE_STOPPED) {
        pr_watchdog_kick();
        pr_rc_t rc = pr_loop_turn(self->loop, SLEEP_MAX_MS, &error);
        if (rc != PR_OK)
            pr_actor_fail(self, rc, &error);
        check_drain(self, pr_loop_now_ms(self->loop));
    }
}

static void stop(pr_actor_t *self)
{
    if (self->io != NULL && self->spec->stop != NULL)
        self->spec->stop(&self->io);
    pr_facts_destroy(&self->facts);
    pr_loop_destroy(&self->loop);
    pr_bus_destroy(&self->bus);
    pr_buffer_free(&self->frame);
    close(self->signal_fd);
    pr_watchdog_stop();
    pr_log_info("actor.stop", "exit=%d handled=%" PRIu64, self->exit_code, self->handled);
}

/* -1: go on; else the exit code. */
static int read_settings(pr_actor_t *self)
{
    pr_error_t error;
    if (pr_config_load(self->arguments.config, self->arguments.overrides, &self->config, &error) !=
        PR_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_CODE_CONFIG;
    }
    if (self->arguments.dump)
        pr_config_dump(self->config, stdout);
    return self->arguments.dump || self->arguments.check ? EXIT_CODE_OK : -1;
}

int pr_actor_main(const pr_actor_spec_t *spec, int argc, char **argv)
{
    pr_actor_t self = {.spec = spec, .signal_fd = -1};
    pr_log_init(spec->name, PR_LOG_INFO);
    int code = pr_arguments_read(&self.arguments, spec, argc, argv);
    if (code < 0)
        code = read_settings(&self);
    if (code < 0) {
        apply_log_level(&self);
        pr_error_t error;
        pr_rc_t rc = start(&self, &error);
        if (rc == PR_OK)
            run(&self);
        else
            pr_actor_fail(&self, rc, &error);
        stop(&self);
        code = self.exit_code;
    }
    pr_config_destroy(&self.config);
    pr_free(self.arguments.log_level);
    return code;
}
