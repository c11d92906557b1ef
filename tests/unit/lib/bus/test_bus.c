/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/clock.h"
#include "bus/bus.h"
#include "wire/envelope.h"

#include <criterion/criterion.h>
#include <zmq.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(bus, .timeout = 300);

static char dir[64];
static char endpoint[128];
static pr_bus_t *bus;

static void setup(void)
{
    snprintf(dir, sizeof dir, "/tmp/prbus.XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(endpoint, sizeof endpoint, "ipc://%s/s", dir);
    bus = pr_bus_new();
}

static void teardown(void)
{
    pr_bus_destroy(&bus);
    unlink(endpoint + 6);
    rmdir(dir);
}

/* Waits for a message; fails the test after five seconds. */
static pr_incoming_t expect(pr_socket_t *socket)
{
    pr_incoming_t in;
    zmq_pollitem_t item = {.socket = pr_socket_native(socket), .events = ZMQ_POLLIN};
    int64_t end = pr_clock_mono_ms() + 60000;
    while (pr_socket_receive(socket, &in) != PR_OK) {
        cr_assert_lt(pr_clock_mono_ms(), end, "nothing came");
        zmq_poll(&item, 1, 50);
    }
    return in;
}

static void send_soon(pr_socket_t *socket, pr_bytes_t to, const char *text)
{
    int64_t end = pr_clock_mono_ms() + 60000;
    while (pr_socket_send(socket, to, pr_bytes_text(text)) != PR_OK) {
        cr_assert_lt(pr_clock_mono_ms(), end, "'%s' never left", text);
        poll(NULL, 0, 5);
    }
}

static pr_socket_t *bound(pr_socket_type_t type)
{
    pr_socket_t *socket = pr_socket_new(bus, type, NULL);
    pr_error_t error = {0};
    cr_assert_eq(pr_socket_bind(socket, endpoint, &error), PR_OK, "%s", error.text);
    return socket;
}

static pr_socket_t *connected(pr_socket_type_t type, const char *identity)
{
    pr_socket_t *socket = pr_socket_new(bus, type, identity);
    cr_assert_eq(pr_socket_connect(socket, endpoint, NULL), PR_OK);
    return socket;
}

static bool is(pr_bytes_t bytes, const char *text)
{
    return pr_bytes_equal(bytes, pr_bytes_text(text));
}

Test(bus, router_and_dealer_talk, .init = setup, .fini = teardown)
{
    pr_socket_t *router = bound(PR_SOCKET_ROUTER);
    pr_socket_t *dealer = connected(PR_SOCKET_DEALER, "alice");
    send_soon(dealer, (pr_bytes_t){0}, "hello");
    pr_incoming_t in = expect(router);
    cr_assert(is(in.route, "alice") && is(in.frame, "hello"));
    send_soon(router, in.route, "back");
    cr_assert(is(expect(dealer).frame, "back"));
    pr_socket_destroy(&dealer);
    pr_socket_destroy(&dealer);
    pr_socket_destroy(&router);
}

Test(bus, a_router_tells_when_the_peer_is_gone, .init = setup, .fini = teardown)
{
    pr_socket_t *router = bound(PR_SOCKET_ROUTER);
    cr_assert_eq(pr_socket_send(router, pr_bytes_text("nobody"), pr_bytes_text("x")), PR_LOST);
    pr_socket_t *dealer = connected(PR_SOCKET_DEALER, "bob");
    send_soon(dealer, (pr_bytes_t){0}, "hello");
    (void)expect(router);
    pr_socket_destroy(&dealer);
    int64_t end = pr_clock_mono_ms() + 60000;
    while (pr_socket_send(router, pr_bytes_text("bob"), pr_bytes_text("x")) != PR_LOST) {
        cr_assert_lt(pr_clock_mono_ms(), end);
        poll(NULL, 0, 5);
    }
    pr_socket_destroy(&router);
}

Test(bus, nothing_queues_for_a_peer_that_is_not_there, .init = setup, .fini = teardown)
{
    pr_socket_t *dealer = connected(PR_SOCKET_DEALER, NULL);
    pr_socket_t *push = connected(PR_SOCKET_PUSH, NULL);
    cr_assert_eq(pr_socket_send(dealer, (pr_bytes_t){0}, pr_bytes_text("x")), PR_AGAIN);
    cr_assert_eq(pr_socket_send(push, (pr_bytes_t){0}, pr_bytes_text("x")), PR_AGAIN);
    pr_socket_destroy(&dealer);
    pr_socket_destroy(&push);
}

Test(bus, a_full_peer_gives_again_and_loses_nothing, .init = setup, .fini = teardown)
{
    pr_socket_t *router = bound(PR_SOCKET_ROUTER);
    pr_socket_t *dealer = connected(PR_SOCKET_DEALER, "slow");
    send_soon(dealer, (pr_bytes_t){0}, "hello");
    (void)expect(router);
    char text[4096];
    memset(text, 'x', sizeof text);
    unsigned sent = 0;
    pr_rc_t rc = PR_OK;
    while (sent < 100000 && (rc = pr_socket_send(router, pr_bytes_text("slow"),
                                                 pr_bytes(text, sizeof text))) == PR_OK) {
        sent++;
    }
    cr_assert_eq(rc, PR_AGAIN, "memory is bounded");
    for (unsigned i = 0; i < sent; i++) {
        cr_assert_eq(expect(dealer).frame.len, sizeof text);
    }
    pr_socket_destroy(&dealer);
    pr_socket_destroy(&router);
}

Test(bus, topics_filter_and_subscriptions_are_seen, .init = setup, .fini = teardown)
{
    pr_socket_t *xpub = bound(PR_SOCKET_XPUB);
    pr_socket_t *sub = connected(PR_SOCKET_SUB, NULL);
    pr_socket_subscribe(sub, "hint");
    pr_incoming_t in = expect(xpub);
    cr_assert(pr_bytes_equal(in.frame, pr_bytes("\1hint", 5)));
    send_soon(xpub, pr_bytes_text("alert"), "no");
    send_soon(xpub, pr_bytes_text("hint"), "yes");
    in = expect(sub);
    cr_assert(is(in.route, "hint") && is(in.frame, "yes"));
    pr_socket_destroy(&sub);
    in = expect(xpub);
    cr_assert(pr_bytes_equal(in.frame, pr_bytes("\0hint", 5)), "the last leaver is told");
    pr_socket_destroy(&xpub);
}

Test(bus, messages_of_another_shape_are_dropped_and_counted, .init = setup, .fini = teardown)
{
    pr_socket_t *router = bound(PR_SOCKET_ROUTER);
    pr_socket_t *dealer = connected(PR_SOCKET_DEALER, "odd");
    send_soon(dealer, (pr_bytes_t){0}, "first");
    (void)expect(router);
    void *raw = pr_socket_native(dealer);
    for (int i = 0; i < 100; i++) { /* more than one receive skips */
        zmq_send(raw, "a", 1, ZMQ_SNDMORE);
        zmq_send(raw, "b", 1, ZMQ_SNDMORE);
        zmq_send(raw, "c", 1, 0);
    }
    size_t big = PR_WIRE_FRAME_MAX + 1;
    PR_CLEANUP_FREE char *bytes = pr_calloc(big, 1);
    zmq_send(raw, bytes, big, 0);
    send_soon(dealer, (pr_bytes_t){0}, "last");
    cr_assert(is(expect(router).frame, "last"));
    cr_assert_eq(pr_socket_dropped(router), 101);
    pr_socket_destroy(&dealer);
    pr_socket_destroy(&router);
}

Test(bus, a_giant_message_costs_its_sender_the_connection, .init = setup, .fini = teardown)
{
    pr_socket_t *router = bound(PR_SOCKET_ROUTER);
    pr_socket_t *dealer = connected(PR_SOCKET_DEALER, "giant");
    send_soon(dealer, (pr_bytes_t){0}, "first");
    (void)expect(router);
    size_t big = 3 * (size_t)PR_WIRE_FRAME_MAX;
    PR_CLEANUP_FREE char *bytes = pr_calloc(big, 1);
    zmq_send(pr_socket_native(dealer), bytes, big, 0);
    send_soon(dealer, (pr_bytes_t){0}, "again"); /* may die with the connection */
    int64_t end = pr_clock_mono_ms() + 60000;
    pr_incoming_t in;
    while (pr_socket_receive(router, &in) != PR_OK) {
        cr_assert_lt(pr_clock_mono_ms(), end, "the peer never came back");
        (void)!pr_socket_send(dealer, (pr_bytes_t){0}, pr_bytes_text("again"));
        poll(NULL, 0, 20);
    }
    cr_assert(is(in.frame, "again"));
    pr_socket_destroy(&dealer);
    pr_socket_destroy(&router);
}

Test(bus, ipc_files_are_private_and_stale_ones_replaced, .init = setup, .fini = teardown)
{
    pr_socket_t *first = bound(PR_SOCKET_PULL);
    struct stat status;
    cr_assert_eq(stat(endpoint + 6, &status), 0);
    cr_assert_eq(status.st_mode & 0777, 0600);

    pr_socket_t *second = pr_socket_new(bus, PR_SOCKET_PULL, NULL);
    pr_error_t error = {0};
    cr_assert_eq(pr_socket_bind(second, endpoint, &error), PR_BAD, "a live server keeps its path");
    cr_assert_not_null(strstr(error.text, "another process"));

    char other[128];
    snprintf(other, sizeof other, "%s/stale", dir);
    cr_assert_eq(rename(endpoint + 6, other), 0);
    pr_socket_destroy(&first);
    int64_t end = pr_clock_mono_ms() + 60000;
    char stale[160];
    snprintf(stale, sizeof stale, "ipc://%s", other);
    while (pr_socket_bind(second, stale, &error) != PR_OK) { /* the listener closes behind us */
        cr_assert_lt(pr_clock_mono_ms(), end, "%s", error.text);
        poll(NULL, 0, 5);
    }
    pr_socket_destroy(&second);
    unlink(other);
}

Test(bus, a_file_that_is_no_socket_is_left_alone, .init = setup, .fini = teardown)
{
    FILE *file = fopen(endpoint + 6, "w");
    cr_assert_not_null(file);
    fclose(file);
    pr_socket_t *socket = pr_socket_new(bus, PR_SOCKET_PULL, NULL);
    cr_assert_eq(pr_socket_bind(socket, endpoint, NULL), PR_BAD);
    cr_assert_eq(access(endpoint + 6, F_OK), 0);
    pr_socket_destroy(&socket);
}

Test(bus, endpoints_are_checked, .init = setup, .fini = teardown)
{
    char long_path[256];
    memset(long_path, 'p', sizeof long_path);
    memcpy(long_path, "ipc:///", 7);
    long_path[6 + 108] = '\0';
    const char *const rows[] = {
        "",           "ipc://relative", "tcp://*",       "tcp://host",
        "tcp://:80",  "tcp://h:0",      "tcp://h:65536", "tcp://h:12x",
        "inproc://x", "udp://h:1",      long_path,
    };
    pr_socket_t *socket = pr_socket_new(bus, PR_SOCKET_PULL, NULL);
    for (size_t i = 0; i < PR_COUNT(rows); i++) {
        pr_error_t error = {0};
        cr_expect_eq(pr_socket_bind(socket, rows[i], &error), PR_BAD, "'%s'", rows[i]);
        cr_expect_eq(pr_socket_connect(socket, rows[i], NULL), PR_BAD, "'%s'", rows[i]);
        cr_expect_neq(error.text[0], '\0');
    }
    pr_error_t error = {0};
    cr_expect_eq(pr_socket_bind(socket, "ipc:///nonexistent-dir/x", &error), PR_BAD);
    cr_expect_not_null(strstr(error.text, "/nonexistent-dir/x"));
    pr_socket_destroy(&socket);
}
