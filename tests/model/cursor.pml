/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves that a crash of Postgres undoes after a scheduler has read them (ADR 0007): is every row ended all the same?
 *
 * The relay commits without waiting for the disk. A crash takes back the moves that were not flushed; the relay makes them anew,
 * perhaps in another order, so that a number comes back with another row. The scheduler knows what is durable: a heartbeat
 * waits for the disk, so once it is answered everything that was read *before it was sent* is on disk.
 *
 *   here                   there
 *   row_of[s], top, disk   table job: which row has number s; the last number that is visible; that is on disk
 *   Relay                  move_window.sql (window.pml shows that rows are neither lost nor doubled by it)
 *   read                   load_new.sql, on_new() in scheduler_rows.c
 *   beat, durable          beat(), on_beat() in scheduler_session.c: beat_cursor is taken at the sending
 *   crash, reread          rows_reconnect(), pr_sched_unproven(), on_first_tries()
 *   mem[s], flies[s]       pr_sched_add(): by number and salt; JOB_INFLIGHT
 *   Worker                 lib/worker/worker.c: holds, owes until acknowledged, remembers what it delivered (PR_WORKER_REPEAT)
 *   result                 apply_results.sql by (seq, salt); applied() in scheduler_batch.c, pr_sched_forget(), emit_stray()
 *
 * The salt of a row is a hash of its random notify_id: the row itself stands for it here. One scheduler, one worker after
 * another; tries always succeed. What two owners do to each other is in fence.pml and handover.pml.
 */
#ifndef FAULTS
#define FAULTS 1
#endif
#define ROWS 2
#define NONE 0
#define TOKEN(s, r) (1 << ((s) * 3 + (r)))

/* ---- Postgres ---- */
byte row_of[4]; /* by number; a job that has ended stays here, see done */
byte top, disk; /* numbers given: visible, flushed */
bool done[3];   /* by row: its end is on record; results wait for the disk */
byte ends[3];

/* ---- scheduler ---- */
byte cursor, durable, beat_cursor;
bool beating, beaten, up = true; /* beaten: committed, not answered */
byte mem[4];                     /* by number: its row */
bool flies[4];

/* ---- worker ---- */
byte w_seq, w_row; /* the job in its slot */
bool w_owes;       /* it was accepted by the merchant, the outcome is not acknowledged */
int delivered;     /* tokens that were acknowledged: at most 1,024 in the code */
byte calls[3];

byte faults;

#define all_done (done[1] && done[2])
#define once (ends[r] <= 1)
#define delivered_before_end (calls[r] > 0)

#ifdef LIVENESS
ltl everything_ends { <> all_done }
#endif

inline flush() { disk = top }
#define moved_at(s, r) ((s) <= top && row_of[s] == (r))
#define moved(r) (done[r] || moved_at(1, r) || moved_at(2, r))

active proctype Relay()
{
    byte r;
end:
    do
    :: atomic { !moved(1) -> top++; row_of[top] = 1 }
    :: atomic { !moved(2) -> top++; row_of[top] = 2 }
    :: atomic { disk != top -> flush() } /* the WAL writer */
    :: all_done -> break
    od
}

/* apply_results: DELETE ... WHERE seq = s AND salt = r; what it comes to in memory; the acknowledgement. */
inline result(s, r)
{
    if
    :: moved_at(s, r) && !done[r] ->
        done[r] = true; ends[r]++;
        assert(once); assert(delivered_before_end);
        flush()
    :: else
    fi;
    if
#ifdef WRONG_RESULT_BY_NUMBER
    :: true -> mem[s] = NONE; flies[s] = false
#else
    :: mem[s] == r -> mem[s] = NONE; flies[s] = false
    :: else
#endif
    fi;
    w_owes = false; delivered = delivered | TOKEN(s, r); w_seq = 0; w_row = 0
}

inline add(s)
{
    if
    :: row_of[s] == NONE || done[row_of[s]]
#ifdef WRONG_KNOWN_BY_NUMBER
    :: row_of[s] != NONE && !done[row_of[s]] && mem[s] == NONE -> mem[s] = row_of[s]; flies[s] = false
    :: row_of[s] != NONE && !done[row_of[s]] && mem[s] != NONE
#else
    :: row_of[s] != NONE && !done[row_of[s]] && mem[s] == row_of[s]
    :: row_of[s] != NONE && !done[row_of[s]] && mem[s] != row_of[s] -> mem[s] = row_of[s]; flies[s] = false
#endif
    fi
}

inline read() { do :: cursor < top -> cursor++; add(cursor) :: else -> break od }

inline unproven(s) { if :: s > durable && mem[s] != NONE && !flies[s] -> mem[s] = NONE :: else fi }

#define silent(s) (mem[s] != NONE && flies[s] && !(w_seq == s && w_row == mem[s]))
#define ready(s) (mem[s] != NONE && !flies[s] && w_seq == 0)

inline dispatch(s)
{
    flies[s] = true;
    w_seq = s; w_row = mem[s];
    if
    :: (delivered & TOKEN(w_seq, w_row)) != 0 ->
#ifdef WRONG_SILENT_ON_REPEAT
        w_seq = 0; w_row = 0
#else
        w_owes = true /* it is answered, not called again */
#endif
    :: else
    fi
}

active proctype Scheduler()
{
    do
    :: atomic { up && cursor < top -> read() }
    :: atomic { up && ready(1) -> dispatch(1) }
    :: atomic { up && ready(2) -> dispatch(2) }
    :: atomic { up && silent(1) -> flies[1] = false }
    :: atomic { up && silent(2) -> flies[2] = false }
    :: atomic { up && w_owes -> result(w_seq, w_row) } /* said again each second */
    :: all_done -> break
    od
}

/* Beats: sent, committed, answered. */
active proctype Heart()
{
    do
    :: atomic { up && !beating -> beating = true; beat_cursor = cursor }
    :: atomic { up && beating && !beaten ->
        beaten = true;
#ifndef WRONG_BEAT_IN_MEMORY
        flush()
#endif
        }
    :: atomic { up && beating && beaten ->
        beating = false; beaten = false;
#ifdef WRONG_CURSOR_AT_ANSWER
        durable = cursor;
#else
        durable = beat_cursor;
#endif
        beat_cursor = 0 }
    :: all_done -> break
    od
}

active proctype Worker()
{
    do
    :: atomic { w_seq != 0 && !w_owes -> calls[w_row] = 1; w_owes = true }
    :: atomic { w_seq != 0 && !all_done && faults < FAULTS -> /* killed: nothing of it is remembered */
        faults++; w_seq = 0; w_row = 0; w_owes = false; delivered = 0 }
    :: all_done -> break
    od
}

active proctype Crash()
{
    do
    :: atomic { up && !all_done && faults < FAULTS ->
        faults++; up = false;
        do :: top > disk -> row_of[top] = NONE; top-- :: else -> break od;
        beating = false; beaten = false; beat_cursor = 0 }
    :: atomic { !up -> /* the connection is back */
#ifndef WRONG_NOTHING_READ_AGAIN
        unproven(1); unproven(2);
        cursor = (durable < cursor -> durable : cursor);
#endif
        up = true; read();
        cursor = top }
    :: faults == FAULTS && up -> break
    :: all_done -> break
    od
}
