/* SPDX-License-Identifier: Apache-2.0
 *
 * The skeleton as a process: signals, readiness, drain, reload, watchdog, exit codes, health.
 * Each test forks a child that calls pr_actor_main with a toy actor; what the toy does stands in
 * `toy`.
 */
#include "actor/actor.h"
#include "base/alloc.h"
#include "base/clock.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(process, .timeout = 300);

#define PATIENCE_MS 90000 /* matters only when a test fails */
#define STARTED 'S'       /* what the toy writes on its pipe */
#define DRAINING 'D'
#define RELOADED 'R'
#define STOPPED 'X'

/* ---- the toy ---- */

static struct {
    pr_rc_t start_rc;
    bool never_drained;
    bool hangs;     /* the loop stops turning, 200 ms after the start */
    bool fails;     /* pr_actor_fail with PR_AGAIN, at once */
    bool not_ready; /* never says so */
    pr_rc_t reload_rc;
    int pipe; /* where it writes */
    int turns;
    pr_actor_t *actor;
} toy;

static void tell(char what)
{
    cr_assert_eq(write(toy.pipe, &what, 1), 1);
}

static void hang(void *arg, int64_t now_ms)
{
    (void)arg;
    (void)now_ms;
    for (;;)
        pause();
}

static void fail_now(void *arg, int64_t now_ms)
{
    (void)now_ms;
    pr_error_t error;
    pr_actor_fail(arg, pr_error_set(&error, PR_AGAIN, "toy", "", "as wished"), &error);
}

static void count_turn(void *arg, int64_t now_ms)
{
    (void)arg;
    (void)now_ms;
    toy.turns++;
}

static pr_rc_t toy_start(pr_actor_t *actor, void **io, pr_error_t *error)
{
    toy.actor = actor;
    if (toy.start_rc != PR_OK)
        return pr_error_set(error, toy.start_rc, "toy", "", "start refused");
    *io = &toy;
    pr_loop_t *loop = pr_actor_loop(actor);
    int64_t now = pr_loop_now_ms(loop);
    if (toy.hangs)
        pr_loop_add_timer(loop, now + 200, 0, hang, NULL);
    if (toy.fails)
        pr_loop_add_timer(loop, now, 0, fail_now, actor);
    pr_loop_add_turn(loop, count_turn, NULL);
    if (!toy.not_ready)
        pr_actor_ready(actor);
    tell(STARTED);
    return PR_OK;
}

static void toy_drain(void *io, int64_t now_ms)
{
    (void)io;
    (void)now_ms;
    cr_assert(pr_actor_draining(toy.actor));
    tell(DRAINING);
}

static bool toy_drained(void *io)
{
    (void)io;
    return !toy.never_drained;
}

static pr_rc_t toy_reload(void *io, const pr_config_t *config, pr_error_t *error)
{
    (void)io;
    if (toy.reload_rc != PR_OK)
        return pr_error_set(error, toy.reload_rc, "toy", "", "reload refused");
    tell(RELOADED);
    tell((char)pr_config_int(config, "alerts.dead_letters"));
    return PR_OK;
}

static void toy_stop(void **io)
{
    *io = NULL;
    tell(STOPPED);
}

static const pr_actor_spec_t spec = {"toy",       "Plays an actor.", toy_start, toy_drain,
                                     toy_drained, toy_reload,        toy_stop};

/* ---- child and parent ---- */

typedef struct {
    pid_t pid;
    int pipe; /* of the toy */
    char dir[32];
    char log[64];
} child_t;

static child_t start_with(const char *const *arguments)
{
    child_t child = {.dir = "/tmp/pr-toy-XXXXXX"};
    cr_assert_not_null(mkdtemp(child.dir));
    snprintf(child.log, sizeof child.log, "%s/log", child.dir);
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    child.pid = fork();
    cr_assert(child.pid >= 0);
    if (child.pid > 0) {
        close(ends[1]);
        child.pipe = ends[0];
        return child;
    }
    close(ends[0]);
    toy.pipe = ends[1];
    int log = open(child.log, O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(log, STDERR_FILENO);
    dup2(log, STDOUT_FILENO);
    char brokers[64];
    snprintf(brokers, sizeof brokers, "bus.brokers=ipc://%s/b1", child.dir);
    char *argv[16] = {"toy", "--set", brokers};
    int argc = 3;
    for (; arguments != NULL && *arguments != NULL; arguments++)
        argv[argc++] = (char *)(uintptr_t)*arguments;
    exit(pr_actor_main(&spec, argc, argv));
}

static child_t start(void)
{
    return start_with(NULL);
}

/* The next byte the toy wrote; 0 when the patience or the child ended. */
static char hear(const child_t *child)
{
    struct pollfd item = {.fd = child->pipe, .events = POLLIN};
    char what = 0;
    if (poll(&item, 1, PATIENCE_MS) != 1 || read(child->pipe, &what, 1) != 1)
        return 0;
    return what;
}

/* Exit code, or -signal. */
static int end_of(child_t *child)
{
    int64_t until = pr_clock_mono_ms() + PATIENCE_MS;
    int status = 0;
    while (waitpid(child->pid, &status, WNOHANG) == 0) {
        if (pr_clock_mono_ms() > until) {
            kill(child->pid, SIGKILL);
            waitpid(child->pid, &status, 0);
            return 1000;
        }
        poll(NULL, 0, 5);
    }
    close(child->pipe);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static char *log_of(const child_t *child)
{
    FILE *file = fopen(child->log, "r");
    char *text = pr_calloc(65536, 1);
    if (file != NULL) {
        size_t got = fread(text, 1, 65535, file);
        text[got] = '\0';
        fclose(file);
    }
    return text;
}

static void expect_log(const child_t *child, const char *wanted)
{
    char *text = log_of(child);
    cr_expect(strstr(text, wanted) != NULL, "no \"%s\" in:\n%s", wanted, text);
    pr_free(text);
}

static void forget(child_t *child)
{
    remove(child->log);
    char path[64];
    snprintf(path, sizeof path, "%s/c.yaml", child->dir);
    remove(path);
    remove(child->dir);
}

/* ---- stopping ---- */

Test(process, sigterm_drains_and_exits_with_0)
{
    child_t child = start();
    cr_assert_eq(hear(&child), STARTED);
    kill(child.pid, SIGTERM);
    cr_expect_eq(hear(&child), DRAINING);
    cr_expect_eq(hear(&child), STOPPED);
    cr_expect_eq(end_of(&child), 0);
    expect_log(&child, "event=actor.state from=ready to=draining");
    forget(&child);
}

Test(process, sigint_is_the_same)
{
    child_t child = start();
    cr_assert_eq(hear(&child), STARTED);
    kill(child.pid, SIGINT);
    cr_expect_eq(hear(&child), DRAINING);
    cr_expect_eq(end_of(&child), 0);
    forget(&child);
}

Test(process, a_drain_that_never_ends_is_cut)
{
    toy.never_drained = true;
    child_t child = start_with((const char *const[]){"--set", "actor.drain_timeout=300ms", NULL});
    cr_assert_eq(hear(&child), STARTED);
    int64_t before = pr_clock_mono_ms();
    kill(child.pid, SIGTERM);
    cr_expect_eq(end_of(&child), 0);
    int64_t took = pr_clock_mono_ms() - before;
    cr_expect(took >= 300 && took < 25000, "%lld ms", (long long)took);
    expect_log(&child, "event=actor.drain_timeout");
    forget(&child);
}

Test(process, asked_twice_it_stops_at_once)
{
    toy.never_drained = true;
    child_t child = start_with((const char *const[]){"--set", "actor.drain_timeout=1h", NULL});
    cr_assert_eq(hear(&child), STARTED);
    kill(child.pid, SIGTERM);
    cr_assert_eq(hear(&child), DRAINING);
    kill(child.pid, SIGTERM);
    cr_expect_eq(hear(&child), STOPPED);
    cr_expect_eq(end_of(&child), 0);
    forget(&child);
}

/* ---- exit codes ---- */

Test(process, exit_codes_say_what_happened)
{
    static const struct {
        const char *sentence;
        const char *arguments[4];
        pr_rc_t start_rc;
        bool fails;
        int wanted;
        const char *says;
    } cases[] = {
        {"help", {"--help"}, PR_OK, false, 0, "Plays an actor."},
        {"version", {"--version"}, PR_OK, false, 0, "postrider-toy "},
        {"check", {"--check-config"}, PR_OK, false, 0, ""},
        {"dump", {"--dump-config"}, PR_OK, false, 0, "total_timeout: 10s"},
        {"documentation", {"--dump-docs"}, PR_OK, false, 0, "| `lease`"},
        {"an unknown option", {"--frobnicate"}, PR_OK, false, 2, "frobnicate"},
        {"an argument too many", {"now"}, PR_OK, false, 2, "unexpected argument now"},
        {"a bad setting", {"--set", "lease=5"}, PR_OK, false, 2, "lease"},
        {"a bad level", {"--log-level", "loud"}, PR_OK, false, 2, "log.level"},
        {"a missing file", {"--config", "/nonexistent.yaml"}, PR_OK, false, 2, "/nonexistent.yaml"},
        {"a bad id", {"--id", "a/b"}, PR_OK, false, 2, "--id"},
        {"start says bad", {NULL}, PR_BAD, false, 2, "start refused"},
        {"start says fatal", {NULL}, PR_FATAL, false, 3, "start refused"},
        {"start says again", {NULL}, PR_AGAIN, false, 1, "start refused"},
        {"a failure later", {NULL}, PR_OK, true, 1, "as wished"},
    };
    for (size_t i = 0; i < PR_COUNT(cases); i++) {
        toy.start_rc = cases[i].start_rc;
        toy.fails = cases[i].fails;
        child_t child = start_with(cases[i].arguments);
        int code = end_of(&child);
        cr_expect_eq(code, cases[i].wanted, "%s: %d", cases[i].sentence, code);
        expect_log(&child, cases[i].says);
        forget(&child);
    }
}

Test(process, an_id_of_ones_own_gets_a_random_end)
{
    child_t child = start_with((const char *const[]){"--id", "scheduler-1", NULL});
    cr_assert_eq(hear(&child), STARTED);
    kill(child.pid, SIGTERM);
    cr_expect_eq(end_of(&child), 0);
    expect_log(&child, "id=scheduler-1-");
    forget(&child);
}

/* ---- readiness ---- */

Test(process, readiness_is_one_newline_on_the_named_descriptor)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    char number[16];
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("NOTIFY_FD", number, 1);
    child_t child = start();
    close(ends[1]);
    cr_assert_eq(hear(&child), STARTED);
    char text[4] = "";
    cr_expect_eq(read(ends[0], text, sizeof text), 1);
    cr_expect_eq(text[0], '\n');
    cr_expect_eq(read(ends[0], text, sizeof text), 0, "closed behind it");
    kill(child.pid, SIGTERM);
    cr_expect_eq(end_of(&child), 0);
    forget(&child);
}

Test(process, an_actor_that_is_not_ready_does_not_say_so)
{
    toy.not_ready = true;
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    char number[16];
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("NOTIFY_FD", number, 1);
    child_t child = start();
    close(ends[1]);
    cr_assert_eq(hear(&child), STARTED);
    kill(child.pid, SIGTERM);
    cr_expect_eq(end_of(&child), 0);
    char byte;
    cr_expect_eq(read(ends[0], &byte, 1), 0);
    forget(&child);
}

/* ---- reload ---- */

static void write_config(const child_t *child, const char *yaml)
{
    char path[64];
    snprintf(path, sizeof path, "%s/c.yaml", child->dir);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(yaml, file);
    fclose(file);
}

/* The file must be there before the child: a directory of its own, named to the child by
 * argument. */
static child_t start_with_file(char dir[], const char *yaml)
{
    cr_assert_not_null(mkdtemp(dir));
    child_t place = {0};
    snprintf(place.dir, sizeof place.dir, "%s", dir);
    write_config(&place, yaml);
    static char path[64];
    snprintf(path, sizeof path, "%s/c.yaml", dir);
    child_t child = start_with((const char *const[]){"--config", path, NULL});
    cr_assert_eq(hear(&child), STARTED);
    return child;
}

static void rewrite(const char *dir, const char *yaml)
{
    child_t place = {0};
    snprintf(place.dir, sizeof place.dir, "%s", dir);
    write_config(&place, yaml);
}

static void wait_for_log(const child_t *child, const char *wanted)
{
    int64_t until = pr_clock_mono_ms() + PATIENCE_MS;
    bool found = false;
    while (!found && pr_clock_mono_ms() < until) {
        char *text = log_of(child);
        found = strstr(text, wanted) != NULL;
        pr_free(text);
        poll(NULL, 0, 10);
    }
    expect_log(child, wanted);
}

Test(process, sighup_takes_all_or_nothing)
{
    char dir[] = "/tmp/pr-conf-XXXXXX";
    child_t child = start_with_file(dir, "alerts: {dead_letters: 10}\n");

    rewrite(dir, "alerts: {dead_letters: 11}\nlease: 3m\n");
    kill(child.pid, SIGHUP);
    cr_expect_eq(hear(&child), RELOADED);
    cr_expect_eq(hear(&child), 11);
    wait_for_log(&child, "event=config.needs_restart key=lease");
    wait_for_log(&child, "event=config.reloaded");

    rewrite(dir, "alerts: {dead_letters: 12}\nleas: 3m\n");
    kill(child.pid, SIGHUP);
    wait_for_log(&child, "c.yaml:2: unknown key leas");

    rewrite(dir, "alerts: {dead_letters: 13}\n");
    kill(child.pid, SIGHUP);
    cr_expect_eq(hear(&child), RELOADED, "12 was never told");
    cr_expect_eq(hear(&child), 13);

    kill(child.pid, SIGTERM);
    cr_expect_eq(end_of(&child), 0);
    forget(&child);
    rewrite(dir, "");
    child_t place = {0};
    snprintf(place.dir, sizeof place.dir, "%s", dir);
    snprintf(place.log, sizeof place.log, "%s/log", dir);
    forget(&place);
}

/* ---- watchdog ---- */

Test(process, a_loop_that_hangs_is_aborted)
{
    toy.hangs = true;
    child_t child = start_with((const char *const[]){"--set", "actor.watchdog=1s", NULL});
    cr_assert_eq(hear(&child), STARTED);
    int64_t before = pr_clock_mono_ms();
    cr_expect_eq(end_of(&child), -SIGABRT);
    int64_t took = pr_clock_mono_ms() - before;
    cr_expect(took > 900 && took < 30000, "%lld ms", (long long)took);
    expect_log(&child, "event=watchdog.abort");
    forget(&child);
}

Test(process, a_stopped_process_is_not_taken_for_a_hanging_one)
{
    child_t child = start_with((const char *const[]){"--set", "actor.watchdog=1s", NULL});
    cr_assert_eq(hear(&child), STARTED);
    kill(child.pid, SIGSTOP);
    int64_t until = pr_clock_mono_ms() + 2500; /* the stop itself is what is tested */
    while (pr_clock_mono_ms() < until)
        poll(NULL, 0, 100);
    kill(child.pid, SIGCONT);
    kill(child.pid, SIGTERM);
    cr_expect_eq(end_of(&child), 0);
    forget(&child);
}

/* ---- health ---- */

Test(process, health_goes_out_each_second_as_a_fact)
{
    child_t child = start();
    cr_assert_eq(hear(&child), STARTED);
    char address[64];
    snprintf(address, sizeof address, "ipc://%s/b1.facts", child.dir);
    pr_bus_t *bus = pr_bus_new();
    pr_socket_t *facts = pr_socket_new(bus, PR_SOCKET_PULL, NULL);
    pr_error_t error = {0};
    cr_assert(pr_socket_bind(facts, address, &error) == PR_OK, "%s", error.text);

    int heard = 0;
    int64_t until = pr_clock_mono_ms() + PATIENCE_MS;
    while (heard < 2 && pr_clock_mono_ms() < until) {
        pr_incoming_t in;
        Postrider__V1__Envelope *envelope = NULL;
        if (pr_socket_receive(facts, &in) != PR_OK) {
            poll(NULL, 0, 10);
            continue;
        }
        cr_assert(pr_envelope_unpack(in.frame, &envelope, &error) == PR_OK, "%s", error.text);
        cr_expect_str_eq(pr_envelope_kind(envelope), "actor_health");
        cr_expect_str_eq(envelope->actor_health->actor, "toy");
        cr_expect_str_eq(envelope->actor_health->state, "ready");
        cr_expect_eq(envelope->actor_health->pid, (uint32_t)child.pid);
        cr_expect(strncmp(envelope->sender, "toy-", 4) == 0, "%s", envelope->sender);
        pr_envelope_destroy(&envelope);
        heard++;
    }
    cr_expect_eq(heard, 2);
    kill(child.pid, SIGTERM);
    cr_expect_eq(end_of(&child), 0);
    pr_socket_destroy(&facts);
    pr_bus_destroy(&bus);
    forget(&child);
}
