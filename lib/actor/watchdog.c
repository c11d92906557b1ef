/* SPDX-License-Identifier: Apache-2.0
 *
 * Aborts a process whose loop does not turn. A timer of the kernel ticks ten times within the
 * limit; ten ticks without a turn between them end it. Ticks, not time, are counted, because a
 * process that was stopped (SIGSTOP, a suspended machine) gets one tick at its waking however
 * long it slept: being stopped is not hanging.
 */
#include "actor/actor_private.h"
#include "base/assert.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICKS 10

static timer_t timer;
static bool running;
static volatile sig_atomic_t ticks;

/* Async-signal-safe calls only. */
static void on_tick(int number)
{
    (void)number;
    if (++ticks < TICKS)
        return;
    static const char text[] = "level=error event=watchdog.abort text=\"the loop does not turn\"\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    abort();
}

void pr_watchdog_start(int64_t limit_ms)
{
    if (limit_ms <= 0)
        return;
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    int rc = sigaction(SIGALRM, &action, NULL);
    pr_assert(rc == 0);

    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    rc = timer_create(CLOCK_MONOTONIC, &event, &timer);
    pr_assert(rc == 0);
    int64_t tick_ms = limit_ms / TICKS > 0 ? limit_ms / TICKS : 1;
    struct timespec each = {.tv_sec = tick_ms / 1000, .tv_nsec = tick_ms % 1000 * 1000000};
    struct itimerspec period = {.it_interval = each, .it_value = each};
    rc = timer_settime(timer, 0, &period, NULL);
    pr_assert(rc == 0);
    running = true;
}

void pr_watchdog_kick(void)
{
    ticks = 0;
}

void pr_watchdog_stop(void)
{
    if (running)
        timer_delete(timer);
    running = false;
}
