/* SPDX-License-Identifier: Apache-2.0
 *
 * Hand-over of a shard between two schedulers, and takeover after a death: does the next owner find every first try?
 *
 * A first try has no due time and stands in no index; its owner found it because its number lay behind the cursor. So a new
 * owner must be told from where to look: `low`. Three hands write it, the heartbeat, the release and end_session(), and
 * between them lie statements under way, answers that were lost and adoptions half done. That is what is searched here.
 *
 * One shard X. Scheduler A (0) may have it first; B (1) comes, A gives X up (B's share); either may be killed, stop, lose its
 * connection, be suspected falsely. Jobs 1..N are of X or of another shard (those only move the cursor).
 *
 *   here                    there
 *   Backend                 one Postgres connection in pipeline mode: statements in order, each its own transaction (lib/db)
 *   BEAT ACQUIRE RELEASE END  heartbeat(), acquire_shards(), release_shards(), end_session() of sql/migrations/0004
 *   CURSORS FIRST NEW       sql/queries/scheduler/{cursors,load_first_tries,load_new}.sql
 *   DONE                    apply_results.sql or date_first_tries.sql: the job needs no `low` any more
 *   OWNED                   owned_shards.sql, after a resumed session
 *   low                     shard.low: it never goes back, so who takes X unseen is told from where on
 *   aged                    heartbeat.beat - shard.beat, as far as end_session() looks at it (0, 1, more)
 *   KNOWN_LOW, BATCH_LOW    batch_known_low(), batch_low() in scheduler_batch.c, with pr_sched_low()
 *   give up, RELEASE        session_give_up(), handover_timer(), on_released() in scheduler_handover.c
 *   take, chain             on_acquired(), on_owned(); rows_adopt(), on_cursors(), on_first_tries() in scheduler_rows.c
 *   reconnect               rows_reconnect(), on_resumed()
 *
 * Left out: crashes of Postgres (cursor.pml), what a worker holds (fence.pml), pages of dated jobs (they stand in an index).
 */
#ifndef N
#define N 2 /* jobs */
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#define NOBODY 2
#define FAR 15 /* later than all */

/* ---- Postgres ---- */
byte born;           /* jobs 1..born are committed */
byte state[3];       /* per job: 0 not X's or not born, 1 a first try without due time, 2 needs no low any more */
byte owner = NOBODY; /* shard.session */
byte low;            /* shard.low: look from here on; 0 from the beginning */
byte aged;           /* beats of the owner since it took X: 0, 1, 2 = more */
bool ended[2];       /* session.ended */
bool cut[2];         /* the backend was terminated, its client has not seen it yet */
byte hb_low[2];      /* heartbeat.low */

mtype = { BEAT, ACQUIRE, RELEASE, END, CURSORS, FIRST, NEW, OWNED, RESUME };
chan ask[2] = [4] of { mtype, byte, byte };

/* ---- schedulers ---- */
bool dead[2], lives[2]; /* the process; its session_state is LIVE */
bool owns[2], leaving[2], known[2];
byte leave_low[2], cursor[2];
byte mem[2]; /* bit j: job j is in memory, undated */
bool adopts[2], adopts_x[2]; /* adoption.active; X is in adoption.shards */
byte lo[2], hi[2], stale[2];
bool asked[2], beating[2], acquiring[2], loading[2], new_stale[2], releasing[2], ending[2];
bool owned_unknown[2], owned_asked[2];
byte faults;

#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define FIRST_IN(m) ((m) & 2 -> 1 : ((m) & 4 -> 2 : FAR))
#define OTHER (1 - me)
#define BIT(j) (1 << (j))

/* The jobs of X without due time behind `from`, up to `to`. */
#define IF_IN(j, from, to) ((j) > (from) && (j) <= (to) && (j) <= born && state[j] == 1 -> BIT(j) : 0)
#define FIRST_TRIES(from, to) (IF_IN(1, from, to) | IF_IN(2, from, to))

/* batch_low(): what is in memory, what comes next, what is not adopted yet. */
#ifdef WRONG_LEAVING_UNSAID
#define LEFT_BEHIND FAR
#else
#define LEFT_BEHIND (leaving[me] -> leave_low[me] : FAR)
#endif
#ifdef WRONG_OWNED_UNSAID
#define UNKNOWN FAR
#else
#define UNKNOWN (owned_unknown[me] -> 0 : FAR)
#endif
#ifdef WRONG_ADOPTION_UNSAID
#define ADOPTING FAR
#else
#define ADOPTING (adopts[me] -> lo[me] + 1 : FAR)
#endif
#define NEXT_RAW (known[me] -> MIN(cursor[me] + 1, ADOPTING) : ADOPTING)
#define NEXT (NEXT_RAW == FAR -> 0 : NEXT_RAW)
#define KNOWN_LOW MIN(FIRST_IN(mem[me]), MIN(NEXT, LEFT_BEHIND))
#define BATCH_LOW MIN(KNOWN_LOW, UNKNOWN)

/* ---- what must hold ---- */
/* Nothing is forgotten: an owner that has read up to its cursor has each first try of X in memory. */
#define nothing_forgotten (ended[me] || owner != me || !owns[me] || adopts[me] || !known[me] || loading[me] || \
    (FIRST_TRIES(0, MIN(cursor[me], (leaving[me] -> leave_low[me] - 1 : FAR))) & ~mem[me]) == 0)
/* Two living sessions never both take X for their own. */
#define one_owner (ended[me] || !owns[me] || leaving[me] || owner == me)

inline clear(ch) { do :: len(ch) > 0 -> ch?_,_,_ :: else -> break od }

inline end_session(s)
{
    if
    :: !ended[s] ->
        ended[s] = true;
        if
        :: owner == s ->
            owner = NOBODY;
#ifdef WRONG_LOW_OF_HEARTBEAT
            low = MAX(hb_low[s], low);
#else
            low = (aged == 2 -> MAX(hb_low[s], low) : low);
#endif
        :: else
        fi
    :: else
    fi
}

/* The next statement of the pipeline is executed: one transaction. The fence is in fence.pml; here it is one step. */
inline execute()
{
    if
    :: kind == BEAT ->
        hb_low[me] = a;
        if :: owner == me && aged < 2 -> aged++ :: else fi;
        a = !ended[me]
    :: kind == ACQUIRE -> /* its share: alone all, of two B has X */
        if
        :: owner == NOBODY && !ended[me] && (me == 1 || ended[OTHER] || !lives[OTHER]) -> owner = me; aged = 0; hb_low[me] = a; a = 1; b = low
        :: else -> a = 0
        fi
    :: kind == RELEASE ->
        if :: owner == me -> owner = NOBODY; low = MAX(a, low) :: else fi
    :: kind == END -> end_session(OTHER); cut[OTHER] = true
    :: kind == CURSORS -> a = born
    :: kind == FIRST -> a = FIRST_TRIES(a, b)
    :: kind == NEW -> a = (b -> FIRST_TRIES(a, FAR) : 0); b = born
    :: kind == RESUME -> a = !ended[me]
    :: else -> assert(kind == OWNED); a = (owner == me); b = low
    fi
}

/* ---- a scheduler ---- */

inline begin_chain() /* rows_adopt() */
{
    adopts[me] = true;
    stale[me] = stale[me] + asked[me];
    asked[me] = true;
    ask[me]!CURSORS, 0, 0
}

inline take(from) /* the adoption of X from a low on */
{
    adopts_x[me] = true;
    lo[me] = MIN((adopts[me] -> lo[me] : FAR), (from > 0 -> from - 1 : 0));
    begin_chain()
}

inline gone()
{
    clear(ask[me]);
    dead[me] = true; lives[me] = false; cut[me] = false;
    owns[me] = false; leaving[me] = false; adopts[me] = false; adopts_x[me] = false; mem[me] = 0; known[me] = false;
    beating[me] = false; acquiring[me] = false; loading[me] = false; new_stale[me] = false;
    releasing[me] = false; ending[me] = false; asked[me] = false; stale[me] = 0; owned_unknown[me] = false;
    owned_asked[me] = false; cursor[me] = 0; lo[me] = 0; hi[me] = 0; leave_low[me] = 0
}

inline lost() /* session_lost(): in the code a new session begins; here the process is over */
{
    assert(ended[me]);
    gone()
}

/* Who has nothing of X reads on all the same; where it stands does not matter until it takes X. */
inline idle() { if :: !adopts[me] && !loading[me] -> cursor[me] = 0; known[me] = false :: else fi }

inline answered()
{
    if
    :: kind == BEAT -> beating[me] = false; if :: a -> skip :: else -> lost() fi
    :: kind == ACQUIRE ->
        acquiring[me] = false;
        if :: a -> take(b) :: else -> idle() fi
    :: kind == RELEASE ->
        releasing[me] = false; idle(); owns[me] = false; leaving[me] = false; mem[me] = 0; leave_low[me] = 0;
#ifndef WRONG_RELEASED_ADOPTED_AGAIN
        adopts_x[me] = false
#endif
    :: kind == END -> ending[me] = false
    :: kind == CURSORS || kind == FIRST ->
        if
        :: stale[me] > 0 -> stale[me]--
        :: else ->
            asked[me] = false;
            if
            :: !adopts[me]
            :: adopts[me] && faults < FAULTS -> faults++ /* refused for now; begun anew, see below */
            :: adopts[me] && kind == CURSORS ->
                hi[me] = a;
                if :: !known[me] -> cursor[me] = a; known[me] = true :: else fi;
#ifndef WRONG_NEW_NOT_STALE
                new_stale[me] = loading[me];
#endif
                if :: adopts_x[me] -> owns[me] = true :: else fi;
                asked[me] = true;
                ask[me]!FIRST, lo[me], hi[me]
            :: adopts[me] && kind == FIRST ->
                if :: adopts_x[me] -> mem[me] = mem[me] | a :: else fi;
                adopts[me] = false; adopts_x[me] = false; lo[me] = 0; hi[me] = 0
            fi
        fi
    :: kind == NEW ->
        loading[me] = false;
        if
        :: new_stale[me] -> new_stale[me] = false
        :: !new_stale[me] && known[me] ->
            if :: owns[me] -> mem[me] = mem[me] | a :: else fi;
            if :: b > cursor[me] -> cursor[me] = b :: else fi
        :: else
        fi
    :: kind == RESUME ->
        if
        :: a -> lives[me] = true; owned_unknown[me] = true; owned_asked[me] = true; ask[me]!OWNED, 0, 0
        :: else -> lost()
        fi
    :: else ->
        assert(kind == OWNED);
        owned_asked[me] = false;
        if
        :: faults < FAULTS -> faults++ /* refused for now: asked again with the next beat */
        :: true ->
            owned_unknown[me] = false;
            if :: a && !owns[me] && !(adopts[me] && adopts_x[me]) -> take(b) :: else fi
        fi
    fi;
    kind = 0; a = 0; b = 0;
    assert(nothing_forgotten);
    assert(one_owner)
}

inline reconnect() /* on_db_lost(), on_db_ready(): what was under way may or may not have happened */
{
    clear(ask[me]);
    stale[me] = 0; asked[me] = false; beating[me] = false; acquiring[me] = false; loading[me] = false;
    releasing[me] = false; ending[me] = false; owned_asked[me] = false; lives[me] = false;
    if
    :: known[me] || adopts[me] ->
        lo[me] = (KNOWN_LOW > 0 -> KNOWN_LOW - 1 : 0);
        adopts_x[me] = owns[me] || (adopts[me] && adopts_x[me]);
        known[me] = false;
        begin_chain()
    :: else
    fi;
    new_stale[me] = false;
    ask[me]!RESUME, 0, 0
}

#ifdef WRONG_RELEASED_ADOPTED_AGAIN
#define may_release true
#else
#define may_release (!adopts[me])
#endif
#define may_ask (lives[me] && !cut[me] && len(ask[me]) < 2)
#define may_fault (faults < FAULTS)

proctype Scheduler(byte me)
{
    mtype kind; byte a, b, j;
    do
    :: atomic { !cut[me] && !dead[me] && len(ask[me]) > 0 -> ask[me]?kind, a, b; execute(); answered() }
    :: atomic { may_ask && !beating[me] && (owner == me || acquiring[me]) -> beating[me] = true; ask[me]!BEAT, BATCH_LOW, 0 }
    :: atomic { may_ask && owned_unknown[me] && !owned_asked[me] -> owned_asked[me] = true; ask[me]!OWNED, 0, 0 }
    :: atomic { may_ask && adopts[me] && !asked[me] -> begin_chain() }
    :: atomic { may_ask && !acquiring[me] && !adopts[me] && !owned_unknown[me] && !owns[me] && owner == NOBODY ->
        acquiring[me] = true; cursor[me] = born; known[me] = true; ask[me]!ACQUIRE, BATCH_LOW, 0 }
    /* New jobs, of X when it is ours and stays so. */
    :: atomic { may_ask && known[me] && !loading[me] && cursor[me] < born && (owns[me] || acquiring[me] || adopts[me]) ->
        loading[me] = true; ask[me]!NEW, cursor[me], owns[me] && !leaving[me] }
    /* A job has its outcome, or a due time: it needs no low any more. The fence lets a living session only. */
    :: atomic { lives[me] && !ended[me] && mem[me] != 0 ->
        if
        :: (mem[me] & 2) -> j = 1
        :: (mem[me] & 4) -> j = 2
        fi;
        state[j] = 2; mem[me] = mem[me] & ~BIT(j); j = 0 }
    :: atomic { me == 0 && lives[me] && lives[1] && owns[me] && known[me] && !leaving[me] && !releasing[me] && !adopts[me] ->
        leaving[me] = true; leave_low[me] = cursor[me] + 1 }
    :: atomic { may_ask && leaving[me] && !releasing[me] && mem[me] == 0 && may_release ->
        releasing[me] = true; ask[me]!RELEASE, MIN(leave_low[me], KNOWN_LOW), 0 }
    /* The other is dead, or looks dead. */
    :: atomic { may_ask && !ending[me] && !ended[OTHER] && dead[OTHER] -> ending[me] = true; ask[me]!END, 0, 0 }
    :: atomic { may_ask && !ending[me] && !ended[OTHER] && !dead[OTHER] && may_fault ->
        faults++; ending[me] = true; ask[me]!END, 0, 0 }
    /* Stopped in order: a last beat, then its own end. */
    :: atomic { lives[me] && !dead[OTHER] && !cut[me] && len(ask[me]) == 0 && mem[me] == 0 && may_fault ->
        faults++; kind = BEAT; a = BATCH_LOW; execute(); kind = 0; a = 0; end_session(me); lost(); break }
    :: atomic { lives[me] && may_fault ->
        faults++; /* the connection is lost: of what was under way a first part was executed */
        do
        :: ask[me]?kind, a, b -> execute()
        :: break
        od;
        kind = 0; a = 0; b = 0;
        reconnect() }
    :: atomic { cut[me] -> cut[me] = false; reconnect() }
    :: atomic { lives[me] && !dead[OTHER] && may_fault ->
        faults++; /* killed */
        do
        :: ask[me]?kind, a, b -> execute()
        :: break
        od;
        kind = 0; a = 0; b = 0;
        gone(); break }
    :: atomic { dead[me] -> break }
    od
}

/* The relay: jobs are born, of X or of another shard. */
proctype Relay()
{
    do
    :: atomic { born < N -> born++; if :: state[born] = 1 :: state[born] = 2 fi }
    :: atomic { born == N -> break }
    od
}

init
{
    atomic {
        lives[0] = true; known[0] = true; owns[0] = true; owner = 0; aged = 2; hb_low[0] = 1; low = 0; /* A has X */
        run Scheduler(0); run Relay()
    };
    atomic { lives[1] = true; run Scheduler(1) }
}
