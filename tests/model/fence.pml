/* SPDX-License-Identifier: Apache-2.0
 *
 * Takeover while the former owner is writing: session, fence, batch, token, acknowledgement.
 *
 * A wrong fence looks right until one knows how Postgres executes a statement, so that is modelled step by step:
 *   1. The statement takes its snapshot: what others commit from here on it does not see, except where it locks.
 *   2. A lock on a row waits for whoever has changed that row and not committed. It then looks at the row *anew*: when the
 *      newest committed version no longer satisfies WHERE, the row falls out (EvalPlanQual). Without a lock it never looks anew,
 *      and FOR KEY SHARE does not even wait for an UPDATE that leaves the key alone.
 *   3. Rows that are written are checked anew in the same way (here: the token), and seen by others after the COMMIT only.
 *   4. The COMMIT comes with the client's Sync, which a stopped client never sends; its locks stay until somebody ends its backend.
 *
 *   here                    there
 *   Owner (A)               a scheduler with its backend; snapshot, FENCE, write, COMMIT: sql/queries/scheduler/apply_results.sql
 *   answer lost, resent     keep(), batch_resend() in scheduler_batch.c; on_resumed() in scheduler_session.c
 *   Heir (B)                the scheduler that ends A's session: end_session() of sql/migrations/0004, 1 s, pg_terminate_backend();
 *                           then reads the jobs (scheduler_rows.c). Its own statements are one step here: nobody ends it
 *   mem, st                 pr_sched_t: JOB_READY, JOB_INFLIGHT, JOB_WRITING; NONE: not paged in
 *   heard                   pr_sched_outcome(), emit_stray(), emit_stale(): written, strayed, stale
 *   Worker                  notifier.c: runs, owes until acknowledged, says it again each second; refuses replaced sessions
 *   echo                    an outcome said twice: the copy comes whenever it likes
 *   Operator                redrive: a dead delivery lives again, tries begin at 0, with another salt
 *
 * One job; `life` stands for its salt, try counts from 0. It fails at most twice and is dead then; in its second life it is taken.
 * Heartbeats are not modelled: B may take A for dead at any moment, which is worse. What bounds A in time is `replaced`.
 */
#ifndef FAULTS
#define FAULTS 1
#endif
#define A 0
#define B 1
#define NONE 0
#define READY 1
#define INFLIGHT 2
#define WRITING 3
#define OK 1
#define FAILED 2

/* ---- Postgres ---- */
bool ended;              /* A's session.ended, committed */
bool changing;           /* B has updated that row and not committed */
bool sharing;            /* A's backend holds it FOR SHARE */
bool advisory_a, advisory_b; /* the advisory lock of a wrong fence: shared, exclusive */
bool j_alive = true, on_record; /* the job's row; its delivery is on record */
byte j_life, j_try;
byte attempts[4];        /* rows of attempt, by life and try */
bool terminate;          /* pg_terminate_backend(A's) */

/* ---- processes ---- */
bool a_up = true, a_stopped, b_up; /* A believes it owns; SIGSTOP; B has taken over */
byte st[2] = NONE, m_life[2], m_try[2];
byte w_state, w_life, w_try, w_res; /* worker: 0 idle, 1 runs, 2 owes */
bool w_said;
/* A copy of the worker's word is fresh while that worker lives: acknowledgements name the worker. */
bool e_fresh, o_fresh[2];
bool replaced;           /* B's hello reached the worker: it refuses A's jobs */
bool echo; byte e_life, e_try, e_res;
byte faults;

#define AT(life, try) ((life) * 2 + (try))
#ifdef WRONG_TOKEN_WITHOUT_SALT
#define matches(life, try) (j_alive && j_try == (try))
#elif defined(WRONG_TOKEN_WITHOUT_TRY)
#define matches(life, try) (j_alive && j_life == (life))
#else
#define matches(life, try) (j_alive && j_life == (life) && j_try == (try))
#endif

/* ---- what must hold ---- */
#define heir_alone (!ended)                                  /* when A commits a write */
#define its_own_try (j_life == o_life && j_try == o_try)     /* a result changes the try that it is the result of */
#define one_result (attempts[AT(o_life, o_try)] <= 1)
#define nothing_goes_after_the_end (!on_record)
#define acknowledged_is_on_record (!(j_alive && j_life == w_life && j_try == w_try))
#ifdef LIVENESS
ltl job_ends { <> on_record }
#endif

inline apply() /* DELETE or UPDATE of the job, attempt, dead letter: one statement */
{
    assert(its_own_try);
    attempts[AT(o_life, o_try)] = attempts[AT(o_life, o_try)] + 1;
#ifdef WRONG_DOUBLES_NOT_JOINED
    attempts[AT(o_life, o_try)] = attempts[AT(o_life, o_try)] + doubled;
#endif
    assert(one_result);
    if
    :: o_res == OK -> j_alive = false; on_record = true
    :: o_res == FAILED && o_try == 0 -> j_try = 1
    :: o_res == FAILED && o_try == 1 -> j_alive = false
    fi
}

inline forget_worker() { w_state = 0; w_life = 0; w_try = 0; w_res = 0; w_said = false }

inline old_words() { e_fresh = false; o_fresh[A] = false; o_fresh[B] = false }

inline acknowledge() /* OutcomeAck, when it is the worker's present word; it may be lost */
{
    if
    :: w_state == 2 && o_fresh[me] && w_life == o_life && w_try == o_try ->
        if
        :: assert(w_res != OK || acknowledged_is_on_record); forget_worker()
        :: faults < FAULTS -> faults++
        fi
    :: else
    fi
}

/* An outcome comes: from the worker, who may say it again (the echo), or such an echo. */
inline heard_worker()
{
    o_life = w_life; o_try = w_try; o_res = w_res; o_fresh[me] = true; w_said = true;
    if
    :: faults < FAULTS && !echo -> faults++; echo = true; e_life = w_life; e_try = w_try; e_res = w_res; e_fresh = true
    :: true
    fi;
    sort_out()
}

inline heard_echo()
{
    o_life = e_life; o_try = e_try; o_res = e_res; o_fresh[me] = e_fresh;
    echo = false; e_life = 0; e_try = 0; e_res = 0; e_fresh = false;
    sort_out()
}

inline sort_out()
{
    if
    :: st[me] != NONE && m_life[me] == o_life && m_try[me] == o_try -> st[me] = WRITING; to_write = true
#ifdef WRONG_STRAY_IS_STALE
    :: st[me] == NONE -> to_write = false
#else
    :: st[me] == NONE && o_res == OK -> to_write = true /* not paged in, perhaps: the token decides in Postgres */
    :: st[me] == NONE && o_res != OK -> to_write = false
#endif
    :: st[me] != NONE && !(m_life[me] == o_life && m_try[me] == o_try) -> to_write = false
    fi
}

/* After the commit: `won` says whether the token matched. */
inline written()
{
    if
    :: st[me] == WRITING && won && o_res == FAILED && o_try == 0 -> st[me] = READY; m_try[me] = 1
    :: st[me] == WRITING && !(won && o_res == FAILED && o_try == 0) -> st[me] = NONE; m_life[me] = 0; m_try[me] = 0
    :: st[me] != WRITING
    fi
}

inline page_in() { st[me] = READY; m_life[me] = j_life; m_try[me] = j_try }

inline dispatch()
{
    st[me] = INFLIGHT;
    if
#ifndef WRONG_WORKER_TAKES_OLD
    :: me == A && replaced /* refused */
    :: !(me == A && replaced) ->
#else
    :: true ->
#endif
        assert(nothing_goes_after_the_end);
        w_state = 1; w_life = m_life[me]; w_try = m_try[me]
    fi
}

/* Not named by any worker for 2 s. */
#define silent (st[me] == INFLIGHT && !(w_state != 0 && w_life == m_life[me] && w_try == m_try[me]))
/* Brokers give an outcome to the newest claimant of its shard; a refreshed claim takes nothing back (move_shards() in roster.c). */
#ifdef WRONG_OLD_CLAIM_WINS
#define routed true
#else
#define routed (me == B || !replaced)
#endif
#ifdef WRONG_WORKER_SAYS_ONCE
#define word (w_state == 2 && routed && !w_said)
#else
#define word (w_state == 2 && routed)
#endif

proctype Owner()
{
    byte o_life, o_try, o_res, me = A;
    bool to_write, pass, seen_ended, won, doubled, sent;
end_idle:
    do
    :: atomic { a_up && !a_stopped && st[me] == NONE && j_alive -> page_in() }
    :: atomic { a_up && !a_stopped && st[me] == READY && w_state == 0 -> dispatch() }
    :: atomic { a_up && !a_stopped && silent -> st[me] = READY }
    :: atomic { a_up && !a_stopped && word -> heard_worker(); break }
    :: atomic { a_up && !a_stopped && echo -> heard_echo(); break }
    :: atomic { a_up && faults < FAULTS -> faults++; goto dead } /* killed */
    :: atomic { a_up && !a_stopped && faults < FAULTS -> faults++; a_stopped = true }
    :: atomic { terminate -> goto ended_by_other }
    od;
    if
    :: !to_write -> atomic { acknowledge(); goto clean }
    :: else
    fi;
#ifdef WRONG_ACK_BEFORE_COMMIT
    atomic { acknowledge() };
#endif
    if :: doubled = true :: true fi; /* the same outcome twice in one batch */
execute:
    atomic { !terminate -> seen_ended = ended; pass = false; won = false } unless { terminate -> goto ended_by_other };
    /* The fence. */
#if defined(WRONG_FOR_KEY_SHARE)
    atomic { !terminate -> pass = !seen_ended && !ended } unless { terminate -> goto ended_by_other };
#elif defined(WRONG_PLAIN_READ)
    atomic { !terminate -> pass = !seen_ended } unless { terminate -> goto ended_by_other };
#elif defined(WRONG_ADVISORY_LOCK)
    atomic { !terminate && !advisory_b -> advisory_a = true; pass = !seen_ended } unless { terminate -> goto ended_by_other };
#elif defined(WRONG_UNREFERENCED_CTE)
    atomic { !terminate -> pass = true } unless { terminate -> goto ended_by_other };
#else
    atomic { !terminate && (seen_ended || !changing) -> /* waits for B's commit, then looks anew */
        pass = !seen_ended && !ended; sharing = pass } unless { terminate -> goto ended_by_other };
#endif
    /* Executed; the Sync that lets it commit comes from a client that may have stopped. */
    if
    :: atomic { !terminate && !a_stopped ->
        if
        :: pass && matches(o_life, o_try) -> assert(heir_alone); apply(); won = true
        :: else
        fi;
        sharing = false; advisory_a = false }
    :: atomic { !terminate && faults < FAULTS && !a_stopped -> faults++; a_stopped = true; goto end_sync_never }
    :: atomic { !terminate && faults < FAULTS -> faults++; sharing = false; advisory_a = false; goto dead }
    :: atomic { terminate -> goto ended_by_other }
    :: atomic { a_stopped -> goto end_sync_never }
    fi;
    /* The answer. */
    if
    :: atomic { pass -> written(); acknowledge() }
    :: atomic { pass && faults < FAULTS -> faults++; /* lost: was it committed? Sent again when the session has resumed */
        if
        :: ended -> goto lost
        :: else
        fi }; goto execute
    :: atomic { !pass -> goto lost }
    fi;
clean:
    atomic { o_life = 0; o_try = 0; o_res = 0; o_fresh[me] = false; to_write = false; pass = false; seen_ended = false; won = false; doubled = false;
        goto end_idle };
end_sync_never:
    terminate;
ended_by_other:
    atomic { sharing = false; advisory_a = false }; /* rolled back; the session cannot be resumed */
lost:
    skip;
dead:
    atomic { a_up = false; st[A] = NONE; m_life[A] = 0; m_try[A] = 0 }
}

proctype Heir()
{
    byte o_life, o_try, o_res, me = B;
    bool to_write, done, won, doubled;
    atomic { true; /* A looks dead */
#ifdef WRONG_READ_BEFORE_END
        if :: j_alive -> page_in() :: else fi
#endif
    };
#ifdef WRONG_ADVISORY_LOCK
    if
    :: atomic { !advisory_a -> advisory_b = true }
    :: atomic { advisory_a -> terminate = true }; atomic { !advisory_a -> advisory_b = true }
    fi;
#endif
    if
    :: atomic { !sharing -> changing = true; done = true }
#ifndef WRONG_NO_TERMINATION
    :: sharing -> skip /* lock_timeout: 1 s was enough for a batch that lives */
#endif
    fi;
#ifndef WRONG_NO_TERMINATION
    if
    :: atomic { a_up -> terminate = true }
    :: atomic { a_up && faults < FAULTS -> faults++ } /* it has another backend since its row was read: that one lives on */
    :: !a_up
    fi;
#endif
    if
    :: done
    :: atomic { !done && !sharing -> changing = true }
#ifndef WRONG_NO_TERMINATION
    :: atomic { !done && sharing -> terminate = true }; /* the next beat tries again, with the row as it is now */
        atomic { !sharing -> changing = true }
#endif
    fi;
    atomic { ended = true; changing = false; advisory_b = false };
    atomic { b_up = true; replaced = true };
    do
    :: atomic { st[me] == NONE && j_alive -> page_in() }
    :: atomic { st[me] == READY && w_state == 0 -> dispatch() }
#ifndef WRONG_NEVER_AGAIN
    :: atomic { silent -> st[me] = READY }
#endif
    :: atomic { word -> heard_worker();
        won = false;
        if :: to_write && matches(o_life, o_try) -> apply(); won = true :: else fi;
        written(); acknowledge(); o_life = 0; o_try = 0; o_res = 0; o_fresh[me] = false; to_write = false; won = false }
    :: atomic { echo -> heard_echo();
        won = false;
        if :: to_write && matches(o_life, o_try) -> apply(); won = true :: else fi;
        written(); acknowledge(); o_life = 0; o_try = 0; o_res = 0; o_fresh[me] = false; to_write = false; won = false }
    :: on_record && w_state == 0 -> break
    od
}

proctype Worker()
{
    do
    :: atomic { w_state == 1 -> /* the call */
        w_state = 2;
        if
        :: w_life == 0 -> w_res = FAILED
        :: w_res = OK
        fi }
    :: atomic { w_state != 0 && faults < FAULTS -> faults++; forget_worker(); old_words() } /* killed; another comes */
    :: on_record && w_state == 0 && b_up -> break
    od
}

proctype Operator()
{
    do
    :: atomic { !j_alive && !on_record -> j_alive = true; j_life = 1; j_try = 0 }
    :: on_record -> break
    od
}

init { atomic { run Owner(); run Heir(); run Worker(); run Operator() } }
