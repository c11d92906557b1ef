/* SPDX-License-Identifier: Apache-2.0
 *
 * Credit between one worker and one broker: totals since a numbered greeting (ADR 0008, 0009), on connections that break in
 * silence. Never more jobs at the worker than it has slots; and nothing leaks: when all is quiet the broker knows of every slot.
 *
 *   here                     there
 *   to_broker, to_worker     the two directions of one ZeroMQ connection: in order while it lasts; when it breaks, what is on
 *                            the way is lost, both sides go on, and the broker sees the next message come from another route
 *   refused                  a send that ZeroMQ refuses (high-water mark): WorkerCredit is said again, a job stays with the broker
 *   HELLO, CREDIT            WorkerHello(greeting), WorkerCredit(total); again: a word that does not start anew
 *   ANSWER, ANEW, JOB        BrokerHello(greeting), BrokerHello(greet_anew), JobBatch of one job
 *   received, total, live    pr_lane_peer_t in lib/core/lanes.c: pr_lane_peer_greet(), _answered(), _received(), pr_lanes_offer()
 *   sent, heard_total        pr_roster_worker_t in lib/core/roster.c: pr_roster_worker_hello(), _credit(), pr_roster_sent()
 *   restart                  the broker is killed and comes back knowing nothing
 *
 * One class: what classes lend each other is arithmetic of one process (test_lanes.c). The scheduler's grants are the same
 * totals once more, with the broker in the worker's place.
 */
#define SLOTS 2
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef JOBS
#define JOBS 3
#endif
#define UNKNOWN 0

mtype = { HELLO, CREDIT, ANSWER, ANEW, JOB };
chan to_broker = [3] of { mtype, byte, byte }; /* kind, greeting or total, route */
chan to_worker = [4] of { mtype, byte };

byte route = 1;                       /* of the present connection */
byte greeting, received, total, held; /* worker */
bool live, told;                      /* answered; the present total was sent */
byte k_route, k_greeting, k_total, sent; /* broker: what it knows of the worker; k_route UNKNOWN: nothing */
byte jobs = JOBS, faults;

#define within_credit (held <= SLOTS)
#define quiet (len(to_broker) == 0 && len(to_worker) == 0 && live && told && held == 0 && k_route == route)
#define nothing_leaks (k_total - sent == SLOTS)

inline cut() /* the connection breaks */
{
    do :: len(to_broker) > 0 -> to_broker?_,_,_ :: else -> break od;
    do :: len(to_worker) > 0 -> to_worker?_,_ :: else -> break od;
    route++
}

inline greet()
{
#ifndef WRONG_NO_NUMBER
    greeting++; received = 0; total = 0;
#endif
    live = false; told = false;
    to_broker!HELLO, greeting, route
}

active proctype Worker()
{
    mtype kind; byte n;
    atomic { greet() };
end:
    do
    :: atomic { len(to_worker) > 0 -> to_worker?kind, n;
        if
        :: kind == ANSWER && n == greeting -> live = true
        :: kind == ANSWER && n != greeting /* of an older greeting */
        :: kind == ANEW && len(to_broker) < 3 -> greet()
        :: kind == ANEW && len(to_broker) == 3 -> live = false
        :: kind == JOB ->
            held++;
            assert(within_credit);
            if :: live -> received++ :: else fi
        fi;
        kind = 0; n = 0 }
    :: atomic { held > 0 -> held--; told = false } /* its outcome is made */
    :: atomic { live && !told && len(to_broker) < 3 ->
        told = true;
#ifdef WRONG_PLUS_ONE
        if
        :: total < received + SLOTS - held -> to_broker!CREDIT, received + SLOTS - held - total, route;
            total = received + SLOTS - held
        :: else
        fi
#else
        total = (received + SLOTS - held > total -> received + SLOTS - held : total);
        to_broker!CREDIT, total, route
#endif
        }
    :: atomic { live && told && len(to_broker) < 3 && k_route != route -> /* WorkerHeld, each 250 ms: any word reaches the broker */
#ifdef WRONG_PLUS_ONE
        to_broker!CREDIT, 0, route
#else
        to_broker!CREDIT, total, route
#endif
        }
    :: atomic { !live && len(to_broker) == 0 && len(to_worker) == 0 -> greet() } /* each second while nobody answers */
    od
}

active proctype Broker()
{
    mtype kind; byte n, r;
end:
    do
    :: atomic { len(to_broker) > 0 && len(to_worker) < 4 -> to_broker?kind, n, r;
        if
        :: kind == HELLO ->
            if
            :: r != k_route || n != k_greeting -> k_route = r; k_greeting = n; k_total = 0; sent = 0
            :: else
            fi;
            to_worker!ANSWER, n
#ifdef WRONG_UNKNOWN_TAKEN
        :: kind == CREDIT && r != k_route -> k_route = r; k_greeting = greeting; sent = 0; k_total = n
#else
        :: kind == CREDIT && r != k_route -> to_worker!ANEW, 0
#endif
        :: kind == CREDIT && r == k_route ->
#ifdef WRONG_PLUS_ONE
            k_total = k_total + n
#else
            k_total = (n > k_total -> n : k_total)
#endif
        fi;
        kind = 0; n = 0; r = 0 }
    :: atomic { jobs > 0 && k_route == route && k_total > sent && len(to_worker) < 4 -> jobs--; sent++; to_worker!JOB, 0 }
    od
}

active proctype Faults()
{
end:
    do
    :: atomic { faults < FAULTS -> faults++; cut() }
    :: atomic { faults < FAULTS -> faults++; cut(); k_route = UNKNOWN; k_greeting = 0; k_total = 0; sent = 0 } /* restart */
    :: atomic { faults < FAULTS && len(to_broker) == 1 && to_broker?[CREDIT, _, _] -> /* refused: said again with the next word */
        faults++; to_broker?_, _, _;
#if !defined(WRONG_SAID_ONCE) && !defined(WRONG_PLUS_ONE)
        told = false
#endif
        }
    :: atomic { faults == FAULTS && quiet -> assert(nothing_leaks); break }
    od
}
