/* SPDX-License-Identifier: Apache-2.0
 *
 * The outbox: is every committed row handed over, once, although transactions commit out of order, two relays move, relays and
 * Postgres die, and moves commit without waiting for the disk?
 *
 * Postgres is modelled by statements: a statement takes one snapshot when it starts (which transactions had ended, which were
 * under way) and sees nothing else, whatever commits while it runs; its INSERT of a tick meets the unique index as it is *now*.
 * So a move is two steps, look and insert, and a third, its commit.
 *
 *   here                      there
 *   Writer                    an application's transaction with one row: number (xid), id, commit or rollback; 1 may hang for ever
 *   look, insert, commit      sql/queries/outbox-relay/move_window.sql: c, w, r | t: ON CONFLICT DO NOTHING | COMMIT
 *   snapshot (xmax, xip)      pg_snapshot; `visible` is pg_visible_in_snapshot()
 *   now, disk                 the last tick that is visible, that a crash cannot undo any more (synchronous_commit = off)
 *   moved[t]                  jobs of the row of transaction t
 *
 * A move takes one row (relay.batch = 1), so that every window is read in parts. Classes are independent: one here.
 */
#ifndef FAULTS
#define FAULTS 1
#endif
#define NTX 3
#define BIT(t) (1 << (t))

/* ---- the outbox ---- */
byte tx[4]; /* 0 not begun, 1 has its number, 2 has inserted, 3 committed, 4 rolled back */
byte id[4]; /* given at the insert: not in the order of the numbers */
byte ids;
bool hangs; /* transaction 1 never ends */

/* ---- ticks: what is visible, what is on disk ---- */
typedef tick_t { byte n, lo_max, lo_xip, hi_max, hi_xip, dt; bool more };
tick_t now_, disk;
byte moved[4], moved_disk[4];
byte inserting; /* relays + 1 whose insert of tick now_.n + 1 is not committed */
byte faults, crashes;

#define visible(t, max, xip) ((t) < (max) && ((xip) & BIT(t)) == 0)
#define ended_(t) (tx[t] >= 3)
#define under_way(t) (tx[t] == 1 || tx[t] == 2)
#define XMAX (ended_(3) -> 4 : (ended_(2) -> 3 : (ended_(1) -> 2 : 1)))
#define XIP_OF(t) (under_way(t) && (t) < XMAX -> BIT(t) : 0)
#define XIP (XIP_OF(1) | XIP_OF(2) | XIP_OF(3))
#define XMIN (under_way(1) -> 1 : (under_way(2) -> 2 : (under_way(3) -> 3 : 4)))

/* r of move_window: rows of the window (lo, hi) behind dt. */
#ifdef WRONG_XIP_FORGOTTEN
#define came_after(t) ((t) >= lo_max)
#else
#define came_after(t) ((t) >= lo_max || (lo_xip & BIT(t)))
#endif
#ifdef WRONG_VISIBLE_IN_OLD
#define in_window(t) (tx[t] == 3 && (t) > dt && came_after(t) && (visible(t, hi_max, hi_xip) && visible(t, lo_max, lo_xip)))
#elif defined(WRONG_WAIT_FOR_XMIN)
#define in_window(t) (tx[t] == 3 && (t) > dt && (t) < XMIN)
#elif defined(WRONG_ID_CURSOR)
#define in_window(t) (tx[t] == 3 && id[t] > dt)
#else
#define in_window(t) (tx[t] == 3 && (t) > dt && came_after(t) && visible(t, hi_max, hi_xip))
#endif

/* ---- what must hold ---- */
#define at_most_once (moved[row] <= 1)
#define left(t) (tx[t] == 3 && moved[t] == 0)
#define nothing_left (!left(1) && !left(2) && !left(3)) /* when the relay finds nothing to move */
#define late_ones_are_committed (tx[2] == 3 && tx[3] == 3)
#define late_ones_are_moved (moved[2] > 0 && moved[3] > 0)
/* A row that is committed is handed over, although some other transaction may never end. */
#ifdef LIVENESS
ltl handed_over { [] (late_ones_are_committed -> <> late_ones_are_moved) }
#endif

inline flush() /* a synchronous commit, or the WAL writer: all that was committed before is on disk */
{
    disk.n = now_.n; disk.lo_max = now_.lo_max; disk.lo_xip = now_.lo_xip; disk.hi_max = now_.hi_max; disk.hi_xip = now_.hi_xip;
    disk.dt = now_.dt; disk.more = now_.more;
    moved_disk[1] = moved[1]; moved_disk[2] = moved[2]; moved_disk[3] = moved[3]
}

proctype Writer(byte t)
{
    if :: t > 1 -> tx[t - 1] > 0 :: else fi; /* numbers are given in order */
    tx[t] = 1;
    atomic { ids++; id[t] = ids; tx[t] = (tx[t] == 1 -> 2 : tx[t]) };
    if
    :: atomic { tx[t] == 2 -> tx[t] = 3; flush() }
    :: tx[t] == 2 && t > 1 -> tx[t] = 4
    :: tx[t] == 2 && t == 1 -> hangs = true /* until Postgres dies */
    :: tx[t] == 4
    fi
}

/* A relay: look, insert, commit; again and again. */
proctype Relay(byte me)
{
    byte n, lo_max, lo_xip, hi_max, hi_xip, dt, row, life, was; bool waits;
again:
    atomic { /* the statement begins: its snapshot, its reads */
        life = crashes; n = now_.n; was = now_.dt;
        if
        :: now_.more -> lo_max = now_.lo_max; lo_xip = now_.lo_xip; hi_max = now_.hi_max; hi_xip = now_.hi_xip; dt = now_.dt
        :: else -> lo_max = now_.hi_max; lo_xip = now_.hi_xip; hi_max = XMAX; hi_xip = XIP; dt = 0
        fi;
#if defined(WRONG_WAIT_FOR_XMIN) || defined(WRONG_ID_CURSOR)
        dt = now_.dt;
#endif
#ifdef WRONG_FRESH_SNAPSHOT
        hi_max = XMAX; hi_xip = XIP;
#endif
        row = 0;
#ifdef WRONG_ID_CURSOR
        if :: in_window(1) -> row = 1 :: else fi;
        if :: in_window(2) && (row == 0 || id[2] < id[row]) -> row = 2 :: else fi;
        if :: in_window(3) && (row == 0 || id[3] < id[row]) -> row = 3 :: else fi
#else
        if
        :: in_window(1) -> row = 1
        :: !in_window(1) && in_window(2) -> row = 2
        :: !in_window(1) && !in_window(2) && in_window(3) -> row = 3
        :: else
        fi
#endif
#ifndef WRONG_WAIT_FOR_XMIN
        if :: row == 0 && !now_.more -> assert(nothing_left) :: else fi
#endif
    };
    if
    :: row == 0 && (dt == 0 || !now_.more) -> goto rest /* nothing: no tick */
    :: else
    fi;
#ifdef WRONG_JOBS_APART
    atomic { life == crashes && row > 0 -> moved[row]++; assert(at_most_once) };
#endif
    atomic { /* INSERT ... ON CONFLICT DO NOTHING: waits for one under way */
        if
        :: life != crashes -> goto rest
#ifdef WRONG_NO_CAS
        :: life == crashes -> skip
#else
        :: life == crashes && inserting == 0 && now_.n != n -> goto rest /* another relay was faster */
        :: life == crashes && inserting == 0 && now_.n == n -> inserting = me + 1
#endif
        fi
    };
    if
    :: atomic { life == crashes -> /* COMMIT, not waiting for the disk */
        now_.n = n + 1; now_.lo_max = lo_max; now_.lo_xip = lo_xip; now_.hi_max = hi_max; now_.hi_xip = hi_xip;
        now_.more = row > 0;
#ifdef WRONG_ID_CURSOR
        now_.dt = (row > 0 -> id[row] : was);
#elif defined(WRONG_WAIT_FOR_XMIN)
        now_.dt = (row > 0 -> row : was);
#else
        now_.dt = (row > 0 -> row : dt);
#endif
#ifndef WRONG_JOBS_APART
        if :: row > 0 -> moved[row]++; assert(at_most_once) :: else fi;
#endif
        inserting = 0 }
    :: atomic { life == crashes && faults < FAULTS -> faults++; inserting = 0 } /* killed: rolled back */
    :: life != crashes
    fi;
rest:
    atomic { n = 0; lo_max = 0; lo_xip = 0; hi_max = 0; hi_xip = 0; dt = 0; row = 0; life = 0; was = 0 };
    goto again
}

/* The disk catches up, or Postgres crashes before it does. */
proctype Disk()
{
    do
    :: atomic { now_.n != disk.n -> flush() }
    :: atomic { faults < FAULTS -> faults++; crashes++; inserting = 0;
        now_.n = disk.n; now_.lo_max = disk.lo_max; now_.lo_xip = disk.lo_xip; now_.hi_max = disk.hi_max;
        now_.hi_xip = disk.hi_xip; now_.dt = disk.dt; now_.more = disk.more;
        moved[1] = moved_disk[1]; moved[2] = moved_disk[2]; moved[3] = moved_disk[3];
        tx[1] = (under_way(1) -> 4 : tx[1]); tx[2] = (under_way(2) -> 4 : tx[2]); tx[3] = (under_way(3) -> 4 : tx[3]);
        hangs = false }
    :: faults == FAULTS && now_.n == disk.n -> true
    od
}

init
{
    atomic {
        now_.lo_max = 1; now_.hi_max = 1; disk.lo_max = 1; disk.hi_max = 1;
        run Writer(1); run Writer(2); run Writer(3); run Relay(0); run Relay(1); run Disk()
    }
}
