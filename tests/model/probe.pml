/* SPDX-License-Identifier: Apache-2.0
 *
 * The breaker of one endpoint and its one probe: beside late outcomes, lost workers, and a new owner.
 *
 *   here                  there
 *   breaker, probe        pr_breaker_t in lib/core/breaker.c: state, probe_id (the number of the job; 0: none is out)
 *   gate                  pr_breaker_allow() through gate() in scheduler_endpoint.c
 *   send                  pr_sched_next(), endpoint_sent(): whoever leaves while a probe is wanted is the probe
 *   outcome               endpoint_seen(): is_probe() decides whose outcome it is
 *   lost                  silent() in scheduler.c, endpoint_probe_lost(): unheard for 2 s; pr_breaker_on_time(): past its deadline
 *   take over             the new owner starts closed, with a window of 2 and all that was under way adopted: pr_sched_held(),
 *                         pr_sched_all_heard(). A breaker is memory: what the former owner knew is lost with it
 *
 * Two jobs, one endpoint, one owner at a time. The receiver answers as it likes. Times are choices: a wait may be over at any
 * moment. What is under way is what workers do, whoever sent it. Jobs are tried for ever here: their ends are in fence.pml.
 */
#define JOBS 2
#ifndef FAULTS
#define FAULTS 2
#endif
#define WINDOW 2
#define CLOSED 0
#define OPEN 1
#define HALF_OPEN 2
#define READY 0
#define INFLIGHT 1
#define ADOPTED 2

byte breaker, probe;
bool waited;          /* open_ms is over */
byte st[3];           /* the owner's word on each job */
byte inflight;        /* the owner's count */
bool runs[3];         /* a worker has it */
byte takeovers, faults;
bool repaired;        /* the receiver takes everything from here on */

#define PROBES ((st[1] == INFLIGHT && probe == 1) + (st[2] == INFLIGHT && probe == 2))
#define COUNTED ((st[1] == INFLIGHT) + (st[2] == INFLIGHT))

/* ---- what must hold ---- */
#define one_probe (breaker != HALF_OPEN || probe == 0 || PROBES == 1)
#define nothing_but_the_probe (breaker == CLOSED || j == probe)            /* when a job leaves */
#define only_the_probe_closes (j == probe)                               /* when it leaves half_open or open for closed */
#define all_counted (inflight == COUNTED && inflight <= WINDOW)
#ifdef LIVENESS
ltl opens_again { [] (repaired -> <> (breaker == CLOSED)) }
#endif

inline trip() { breaker = OPEN; probe = 0; waited = false }

#ifdef WRONG_SECOND_PROBE
#define probe_wanted ((breaker == OPEN && waited) || breaker == HALF_OPEN)
#else
#define probe_wanted ((breaker == OPEN && waited) || (breaker == HALF_OPEN && probe == 0))
#endif
#ifdef WRONG_GATE_FORGETS_PROBE
#define gate (breaker != OPEN || waited)
#else
#define gate (breaker == CLOSED || probe_wanted)
#endif

inline send(j)
{
    if
    :: probe_wanted ->
        assert(probe == 0); /* exactly one */
        breaker = HALF_OPEN; waited = false; probe = j
    :: else -> skip
    fi;
    assert(nothing_but_the_probe);
    st[j] = INFLIGHT; inflight++;
    runs[j] = true;
    assert(one_probe); assert(all_counted)
}

inline leave(j)
{
    if :: st[j] == INFLIGHT -> inflight-- :: else -> skip fi;
    st[j] = READY
}

#ifdef WRONG_ANY_OUTCOME_COUNTS
#define is_probe(j) true
#else
#define is_probe(j) (probe == (j))
#endif

inline outcome(j, good)
{
    if
    :: breaker != CLOSED && is_probe(j) ->
        if
        :: good -> assert(only_the_probe_closes); breaker = CLOSED; probe = 0; waited = false
        :: else -> trip()
        fi
    :: breaker == CLOSED ->
        if
        :: good -> skip
        :: !good -> skip /* one more in a row */
        :: !good -> trip()
        fi
    :: else -> skip
    fi;
    leave(j);
    runs[j] = false;
    assert(one_probe); assert(all_counted)
}

inline returned(j) /* handed back untried */
{
#ifndef WRONG_RETURNED_KEEPS_PROBE
    if :: probe == j -> probe = 0 :: else -> skip fi;
#endif
    leave(j); runs[j] = false;
    assert(all_counted)
}

inline lost(j)
{
#ifndef WRONG_LOST_PROBE_WAITS
    if :: probe == j && breaker == HALF_OPEN -> trip() :: else -> skip fi;
#endif
    leave(j);
    assert(one_probe); assert(all_counted)
}

inline take_over()
{
    breaker = CLOSED; probe = 0; waited = false; inflight = 0;
    st[1] = (runs[1] -> ADOPTED : READY); st[2] = (runs[2] -> ADOPTED : READY)
}

inline named(j)
{
    st[j] = INFLIGHT;
#ifndef WRONG_ADOPTED_UNCOUNTED
    inflight++;
#endif
    assert(all_counted)
}

active proctype Owner()
{
    do
    :: atomic { st[1] == READY && !runs[1] && gate && (breaker != CLOSED || inflight < WINDOW) -> send(1) }
    :: atomic { st[2] == READY && !runs[2] && gate && (breaker != CLOSED || inflight < WINDOW) -> send(2) }
    :: atomic { breaker == OPEN && !waited -> waited = true }
    :: atomic { st[1] == INFLIGHT && !runs[1] -> lost(1) }
    :: atomic { st[2] == INFLIGHT && !runs[2] -> lost(2) }
    :: atomic { st[1] == ADOPTED && runs[1] -> named(1) }
    :: atomic { st[2] == ADOPTED && runs[2] -> named(2) }
    :: atomic { st[2] == ADOPTED && !runs[2] -> st[2] = READY }
    :: atomic { faults < FAULTS && takeovers < 1 -> faults++; takeovers++; take_over() }
    :: atomic { faults < FAULTS && st[1] == INFLIGHT && runs[1] -> faults++; lost(1) } /* unheard, though it works on */
    od
}

active proctype Workers()
{
    do
    :: atomic { runs[1] -> outcome(1, true) }
    :: atomic { runs[1] && !repaired -> outcome(1, false) }
    :: atomic { runs[2] -> outcome(2, true) }
    :: atomic { runs[2] && !repaired -> outcome(2, false) }
    :: atomic { runs[1] && st[1] == INFLIGHT && faults < FAULTS -> faults++; returned(1) }
    :: atomic { runs[2] && faults < FAULTS -> faults++; runs[2] = false } /* killed */
    :: atomic { faults == FAULTS && !repaired -> repaired = true }
    od
}
