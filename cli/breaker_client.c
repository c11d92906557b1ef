/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/breaker_client.h"

#include "actor/actor.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "bus/bus.h"

#include <time.h>

#define LOOK_AGAIN_MS 2

static pr_rc_t send_question(pr_socket_t *socket, Postrider__V1__Envelope *envelope)
{
    pr_buffer_t frame;
    pr_buffer_init(&frame, PR_WIRE_FRAME_MAX);
    uint64_t random[2] = {pr_random_u64(), pr_random_u64()};
    pr_envelope_pack(envelope, "cli", pr_clock_wall_us(), random, &frame);
    pr_rc_t rc = pr_socket_send(socket, pr_bytes(NULL, 0), pr_buffer_bytes(&frame));
    pr_buffer_free(&frame);
    return rc;
}

static pr_rc_t take_answer(pr_socket_t *socket, Postrider__V1__Envelope **answer, pr_error_t *error)
{
    pr_incoming_t incoming;
    pr_rc_t rc = pr_socket_receive(socket, &incoming);
    if (rc == PR_OK) {
        rc = pr_envelope_unpack(incoming.frame, answer, error);
    }
    if (rc == PR_OK && (*answer)->body_case != POSTRIDER__V1__ENVELOPE__BODY_BREAKER_SNAPSHOT) {
        pr_envelope_destroy(answer);
        rc = pr_error_set(error, PR_BAD, "bus", "", "the circuit-breaker answered with %s",
                          "something else than a BreakerSnapshot");
    }
    return rc;
}

static pr_rc_t converse(pr_socket_t *socket, Postrider__V1__Envelope *envelope, int64_t wait_ms,
                        Postrider__V1__Envelope **answer, pr_error_t *error)
{
    int64_t end_ms = pr_clock_mono_ms() + wait_ms;
    bool sent = false;
    while (pr_clock_mono_ms() < end_ms) {
        if (!sent) {
            sent = send_question(socket, envelope) == PR_OK; /* PR_AGAIN until it is connected */
        } else {
            pr_rc_t rc = take_answer(socket, answer, error);
            if (rc != PR_AGAIN) {
                return rc;
            }
        }
        nanosleep(&(struct timespec){.tv_nsec = LOOK_AGAIN_MS * 1000000L}, NULL);
    }
    return PR_AGAIN;
}

pr_rc_t pr_breaker_ask(const pr_config_t *config, Postrider__V1__Envelope *envelope,
                       int64_t wait_ms, Postrider__V1__Envelope **answer, pr_error_t *error)
{
    *answer = NULL;
    PR_CLEANUP_FREE char *address = pr_bus_breaker_address(config);
    pr_bus_t *bus = pr_bus_new();
    pr_socket_t *socket = pr_socket_new(bus, PR_SOCKET_DEALER, NULL);
    pr_rc_t rc = pr_socket_connect(socket, address, error);
    if (rc == PR_OK) {
        rc = converse(socket, envelope, wait_ms, answer, error);
    }
    if (rc == PR_AGAIN) {
        rc = pr_error_set(error, PR_AGAIN, "bus", "", "circuit-breaker does not answer at %s",
                          address);
    }
    pr_socket_destroy(&socket);
    pr_bus_destroy(&bus);
    return rc;
}
