/* SPDX-License-Identifier: Apache-2.0 */
#include "actor/actor_private.h"
#include "base/clock.h"

#include <criterion/criterion.h>

#include <poll.h>
#include <string.h>
#include <unistd.h>

TestSuite(loop, .timeout = 300);

/* What ran, in its order: one letter a handler. */
static char ran[256];
static pr_loop_t *loop;
static int other_fd = -1;

static void note(char letter)
{
    size_t len = strlen(ran);
    if (len + 1 < sizeof ran)
        ran[len] = letter;
}

static void run_a(void *arg, int64_t now_ms)
{
    cr_expect_eq(now_ms, pr_loop_now_ms(loop), "one reading a turn");
    (void)arg;
    note('a');
}

static void run_letter(void *arg, int64_t now_ms)
{
    (void)now_ms;
    note(*(const char *)arg);
}

static void turn(int64_t max_sleep_ms)
{
    pr_error_t error;
    cr_assert(pr_loop_turn(loop, max_sleep_ms, &error) == PR_OK);
}

static void setup(void)
{
    loop = pr_loop_new();
}

static void teardown(void)
{
    pr_loop_destroy(&loop);
    cr_expect_null(loop);
}

Test(loop, timers_then_inputs_then_turns, .init = setup, .fini = teardown)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "x", 1), 1);
    pr_loop_add_turn(loop, run_letter, "t");
    pr_loop_add_turn(loop, run_letter, "u");
    pr_loop_add_fd(loop, ends[0], POLLIN, run_letter, "f");
    pr_loop_add_timer(loop, 0, 0, run_letter, "m");
    turn(1000);
    cr_expect_str_eq(ran, "mftu");
    close(ends[0]);
    close(ends[1]);
}

Test(loop, an_input_with_something_left_is_served_again_without_sleep, .init = setup,
     .fini = teardown)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "x", 1), 1);
    pr_loop_add_fd(loop, ends[0], POLLIN, run_letter, "f"); /* reads nothing: all is left over */
    int64_t before = pr_clock_mono_ms();
    for (int i = 0; i < 5; i++)
        turn(60000);
    cr_expect_str_eq(ran, "fffff");
    cr_expect_lt(pr_clock_mono_ms() - before, 30000);
    close(ends[0]);
    close(ends[1]);
}

Test(loop, every_ready_input_is_served_in_one_turn, .init = setup, .fini = teardown)
{
    int a[2], b[2];
    cr_assert(pipe(a) == 0 && pipe(b) == 0);
    cr_assert(write(a[1], "x", 1) == 1 && write(b[1], "x", 1) == 1);
    pr_loop_add_fd(loop, a[0], POLLIN, run_letter, "1");
    pr_loop_add_fd(loop, b[0], POLLIN, run_letter, "2");
    turn(1000);
    cr_expect_str_eq(ran, "12");
    for (int i = 0; i < 2; i++) {
        close(a[i]);
        close(b[i]);
    }
}

static void remove_other(void *arg, int64_t now_ms)
{
    (void)arg;
    (void)now_ms;
    note('r');
    pr_loop_remove_fd(loop, other_fd);
}

Test(loop, an_input_removed_by_another_is_not_served_any_more, .init = setup, .fini = teardown)
{
    int a[2], b[2];
    cr_assert(pipe(a) == 0 && pipe(b) == 0);
    cr_assert(write(a[1], "x", 1) == 1 && write(b[1], "x", 1) == 1);
    pr_loop_add_fd(loop, a[0], POLLIN, remove_other, NULL);
    pr_loop_add_fd(loop, b[0], POLLIN, run_letter, "2");
    other_fd = b[0];
    turn(1000);
    cr_expect_str_eq(ran, "r");
    pr_loop_add_fd(loop, b[0], POLLIN, run_letter, "3");
    turn(1000);
    cr_expect_str_eq(ran, "rr", "the first removed it again");
    for (int i = 0; i < 2; i++) {
        close(a[i]);
        close(b[i]);
    }
}

Test(loop, a_timer_once_and_a_timer_again_and_again, .init = setup, .fini = teardown)
{
    int64_t start = pr_clock_mono_ms();
    int once = pr_loop_add_timer(loop, start + 20, 0, run_letter, "o");
    pr_loop_add_timer(loop, start + 50, 50, run_letter, "p");
    while (strlen(ran) < 5)
        turn(1000);
    cr_expect_str_eq(ran, "opppp");
    cr_expect_geq(pr_clock_mono_ms() - start, 145, "not sooner than each is due");
    cr_expect_geq(pr_clock_mono_ms() / 50 - start / 50, 3,
                  "the second to fourth at multiples of 50");

    ran[0] = '\0';
    memset(ran, 0, sizeof ran);
    pr_loop_timer_at(loop, once, 0);
    turn(1000);
    cr_expect_eq(ran[0], 'o', "re-armed");
}

Test(loop, it_sleeps_until_the_nearest_timer_and_not_longer_than_told, .init = setup,
     .fini = teardown)
{
    int64_t before = pr_clock_mono_ms();
    turn(60);
    int64_t took = pr_clock_mono_ms() - before;
    cr_expect(took >= 55 && took < 30000, "%lld", (long long)took);

    int timer = pr_loop_add_timer(loop, pr_clock_mono_ms() + 40, 0, run_a, NULL);
    before = pr_clock_mono_ms();
    turn(60000);
    took = pr_clock_mono_ms() - before;
    cr_expect(took >= 35 && took < 30000, "%lld", (long long)took);
    cr_expect_str_eq(ran, "a");

    pr_loop_timer_at(loop, timer, INT64_MAX);
    before = pr_clock_mono_ms();
    turn(50);
    cr_expect_geq(pr_clock_mono_ms() - before, 45, "disarmed");
}

Test(loop, asked_for_another_turn_it_does_not_sleep, .init = setup, .fini = teardown)
{
    int64_t before = pr_clock_mono_ms();
    pr_loop_again(loop);
    turn(60000);
    cr_expect_lt(pr_clock_mono_ms() - before, 30000);
    before = pr_clock_mono_ms();
    turn(50);
    cr_expect_geq(pr_clock_mono_ms() - before, 45, "once");
}

static void on_socket(void *arg, int64_t now_ms)
{
    (void)now_ms;
    pr_incoming_t in;
    if (pr_socket_receive(arg, &in) == PR_OK) /* one a turn: a budget */
        note(in.frame.data[0] == '1' ? '1' : '2');
}

Test(loop, a_socket_with_a_budget_gives_one_message_a_turn, .init = setup, .fini = teardown)
{
    pr_bus_t *bus = pr_bus_new();
    pr_socket_t *pull = pr_socket_new(bus, PR_SOCKET_PULL, NULL);
    pr_socket_t *push = pr_socket_new(bus, PR_SOCKET_PUSH, NULL);
    char address[64];
    snprintf(address, sizeof address, "ipc:///tmp/pr-loop-%d", (int)getpid());
    pr_error_t error = {0};
    cr_assert(pr_socket_bind(pull, address, &error) == PR_OK, "%s", error.text);
    cr_assert(pr_socket_connect(push, address, &error) == PR_OK, "%s", error.text);
    pr_loop_add_socket(loop, pull, on_socket, pull);

    int64_t until = pr_clock_mono_ms() + 60000;
    for (const char *what = "12"; *what != '\0'; what++) {
        while (pr_socket_send(push, pr_bytes(NULL, 0), pr_bytes(what, 1)) != PR_OK &&
               pr_clock_mono_ms() < until)
            poll(NULL, 0, 5);
    }
    while (strlen(ran) < 2 && pr_clock_mono_ms() < until)
        turn(100);
    cr_expect_str_eq(ran, "12");
    pr_loop_remove_socket(loop, pull);
    pr_socket_destroy(&push);
    pr_socket_destroy(&pull);
    pr_bus_destroy(&bus);
}
