/* SPDX-License-Identifier: Apache-2.0
 *
 * The skeleton: owns main, options, signals, loop, health, drain and exit codes of every process.
 * An actor gives a spec.
 *
 * --config FILE  --set KEY=VALUE  --id ID  --check-config  --dump-config  --help  --version
 * --log-level L
 *
 * States: starting -> ready -> draining -> stopped. SIGTERM/SIGINT: drain (the spec's drain,
 * until drained() or actor.drain_timeout, then stop). SIGHUP: reload. A watchdog (alarm in
 * another clock) aborts a loop that has not turned for actor.watchdog (30 s). Each second the
 * health line goes out as ActorHealth on the bus when the actor gave its facts socket.
 *
 * Exit codes: 0 stopped as asked, 1 failed, 2 usage or configuration, 3 cannot go on (schema
 * mismatch, refused credentials).
 */
#ifndef PR_ACTOR_ACTOR_H
#define PR_ACTOR_ACTOR_H

#include "actor/loop.h"
#include "actor/options.h"
#include "wire/envelope.h"

typedef struct pr_actor_t pr_actor_t;

typedef struct {
    const char *name;    /* "outbox-relay" */
    const char *summary; /* one sentence for --help */
    /* Opens sockets and connections, registers handlers with pr_actor_loop(actor); gives *io.
     * PR_BAD: exit 2. PR_FATAL: exit 3. */
    pr_rc_t (*start)(pr_actor_t *actor, void **io, pr_error_t *error);
    void (*drain)(void *io, int64_t now_ms); /* finish what is in flight, take no more */
    bool (*drained)(void *io);
    pr_rc_t (*reload)(void *io, const pr_config_t *config, pr_error_t *error); /* may be NULL */
    void (*stop)(void **io); /* frees everything */
} pr_actor_spec_t;

/* What main() calls: returns the exit code. */
int pr_actor_main(const pr_actor_spec_t *spec, int argc, char **argv);

pr_loop_t *pr_actor_loop(pr_actor_t *self);
pr_bus_t *pr_actor_bus(pr_actor_t *self);
const pr_config_t *pr_actor_config(const pr_actor_t *self);
/* "notifier-host-4711-9f3a": unique to this life; at most 64 bytes. */
const char *pr_actor_id(const pr_actor_t *self);
/* starting -> ready; writes the readiness byte for the supervisor (fd 3 if NOTIFY_FD=3). */
void pr_actor_ready(pr_actor_t *self);
bool pr_actor_draining(const pr_actor_t *self);
void pr_actor_count(pr_actor_t *self, uint64_t handled); /* adds to ActorHealth.handled */
/* End the process now: logs *error at level error. */
void pr_actor_fail(pr_actor_t *self, pr_rc_t rc, const pr_error_t *error);

/* Packs and sends one envelope on a socket; the sender name is the actor's id. As pr_socket_send.
 * */
PR_CHECK pr_rc_t pr_actor_send(pr_actor_t *self, pr_socket_t *socket, pr_bytes_t route_or_topic,
                               Postrider__V1__Envelope *envelope);
/* PUSH sockets connected to every broker's facts PULL (bus.brokers); facts go to each live broker
 * in turn; owned by the actor. A fact is a hint: PR_AGAIN is counted and forgotten. */
void pr_actor_send_fact(pr_actor_t *self, Postrider__V1__Envelope *envelope);

/* The bus addresses of one broker, from its base in bus.brokers: "ipc:///run/pr/broker1" gives
 * "ipc:///run/pr/broker1.work"; "tcp://h:7000" gives port 7000 work, 7001 facts, 7002 breaker,
 * 7003 dead, 7004 state, 7005 tap. socket is one of work, facts, breaker, dead, state, tap. The
 * caller's string. */
char *pr_bus_address(const char *base, const char *socket);
/* bus.breaker, or what stands for it when empty: breaker.sock in the directory of the first ipc
 * broker; with tcp brokers only, the first one's host with its port + 6. The caller's string. */
char *pr_bus_breaker_address(const pr_config_t *config);

#endif
