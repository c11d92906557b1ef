# SPDX-License-Identifier: Apache-2.0
"""Frozen windows under fire: two relays, six writers, long writers, savepoints, rollbacks, prepared transactions.

Every committed row becomes exactly one job, none that was rolled back does, seq is dense. The same rows moved by `id > last`
would be skipped: counted beside it, so that the test is known to be hard enough.
"""
import threading

from pg import Session, actor_url, blocked, finish, is_, ok, statement, until
from plan import ACTOR

admin = Session()
admin.run("SELECT t.merchant('m1')")
sysid = admin.value("SELECT system_identifier FROM pg_control_system()")
RELAY = "-c role=postrider_relay " + ACTOR
ENQUEUE = "SELECT postrider.enqueue_notification('m1', '%s', 'a.b', '{}', priority => 1);"
stop = threading.Event()
moves = [0, 0]
naive = {"last": 0, "seen": 0}
errors = []


def guarded(work):
    def run(*args):
        try:
            work(*args)
        except Exception as error:  # a thread's failure must be the test's
            errors.append(repr(error))
            stop.set()
    return run


@guarded
def relay(n):
    s = Session(url=actor_url(), options=RELAY)
    s.run(statement("outbox-relay", "set_session"))
    s.run("PREPARE move (smallint, bigint, int) AS " + statement("outbox-relay", ("move_plain", "move_window")[n]))
    s.run("PREPARE peek AS " + statement("outbox-relay", "peek_windows"))
    idle = 0
    while idle < 3:
        finished = stop.is_set()
        if n == 1 and ["1", "f"] not in s.run("EXECUTE peek"):  # this one looks before it moves
            idle += finished
            continue
        moved, jobs, _, more, good, *plain = s.run("EXECUTE move(1, %s, 50)" % sysid)[0]
        assert good == "t", "the guard cried"
        assert plain in ([], ["t"]), "these are all of the usual kind"
        moves[n] += int(moved)
        idle = idle + 1 if finished and moved == "0" and more == "f" else 0
    s.close()


@guarded
def by_id():
    """What a cursor over ids would have seen."""
    s = Session()
    while not stop.is_set():
        rows = s.run("SELECT id FROM postrider.outbox WHERE id > %d ORDER BY id LIMIT 50" % naive["last"])
        if rows:
            naive["last"] = int(rows[-1][0])
            naive["seen"] += len(rows)
    s.close()


@guarded
def writer(n):
    s = Session()
    for i in range(60):
        name = "w%d.%d" % (n, i)
        kind = (n + i) % 6
        if kind == 0:  # its id is taken early, its commit is late
            s.run("BEGIN;" + ENQUEUE % name)
            s.run("SELECT pg_sleep(0.02); COMMIT")  # the work of its transaction
        elif kind == 1:  # savepoints: rows of subtransactions, some rolled back
            s.run("BEGIN; SAVEPOINT a;" + ENQUEUE % (name + ".no") + "ROLLBACK TO a; SAVEPOINT b;" + ENQUEUE % name
                  + "RELEASE b; COMMIT")
        elif kind == 2:
            s.run("BEGIN;" + ENQUEUE % (name + ".no") + "ROLLBACK")
            s.run(ENQUEUE % name)
        elif kind == 3:
            s.run("BEGIN;" + ENQUEUE % name + "PREPARE TRANSACTION '%s'" % name)
            s.run("SELECT pg_sleep(0.01)")
            s.run("COMMIT PREPARED '%s'" % name)
        elif kind == 4:
            s.run("BEGIN;" + ENQUEUE % (name + ".no") + "PREPARE TRANSACTION '%s'" % name)
            s.run("ROLLBACK PREPARED '%s'" % name)
            s.run(ENQUEUE % name)
        else:
            s.run("BEGIN ISOLATION LEVEL SERIALIZABLE;" + ENQUEUE % name + "COMMIT")
    s.close()


# Long writers: one with a hundred savepoints, one prepared, that stay open over all of it.
long = Session()
long.run("BEGIN;" + "".join("SAVEPOINT s%d;" % i + ENQUEUE % ("long.%d" % i) for i in range(100)))
prepared = Session()
prepared.run("BEGIN;" + ENQUEUE % "long.prepared" + "PREPARE TRANSACTION 'long'")

relays = [threading.Thread(target=relay, args=(n,), daemon=True) for n in range(2)]
cursor = threading.Thread(target=by_id, daemon=True)
writers = [threading.Thread(target=writer, args=(n,), daemon=True) for n in range(6)]
for thread in relays + [cursor] + writers:
    thread.start()
for thread in writers:
    thread.join()
moved = Session()
until(lambda: int(moved.value("SELECT count(*) FROM postrider.job")) == 360 or errors, "all but the long writers' rows are moved")
ok(not errors, "rows are moved while long writers hold their transactions open", errors)
long.run("COMMIT")
prepared.run("COMMIT PREPARED 'long'")
until(lambda: int(moved.value("SELECT count(*) FROM postrider.job")) == 461 or errors, "the long writers' rows too")
stop.set()
for thread in relays + [cursor]:
    thread.join()

is_(errors, [], "nobody failed")
is_(admin.value("SELECT count(*) FROM postrider.outbox"), "461", "461 rows were committed")
is_(admin.run("SELECT count(*), count(DISTINCT outbox_id) FROM postrider.job"), [["461", "461"]], "each is one job")
is_(admin.value("SELECT count(*) FROM postrider.outbox o WHERE NOT EXISTS (SELECT FROM postrider.job j WHERE j.outbox_id = o.id)"), "0", "none is left out")
is_(admin.value("SELECT count(*) FROM postrider.outbox WHERE order_no LIKE '%.no'"), "0", "what was rolled back is not there")
is_(admin.run("SELECT min(seq) - (1::bigint << 56), max(seq) - (1::bigint << 56) FROM postrider.job"), [["1", "461"]], "seq is dense")
is_(sum(moves), 461, "the relays' own counts agree")
ok(min(moves) > 0, "both relays moved (%d and %d)" % tuple(moves))
skipped = 461 - naive["seen"]
ok(skipped > 0, "a cursor over ids skipped %d of 461: the test is hard enough" % skipped)
is_(admin.value("SELECT count(*) = max(n) + 1 FROM postrider.tick WHERE class = 1"), "t", "ticks are dense")

# Two relays start the same window at once: the loser inserts nothing.
admin.run("".join(ENQUEUE % ("race.%d" % i) for i in range(10)))
a, b = (Session(url=actor_url(), options=RELAY) for _ in range(2))
for s in (a, b):
    s.run("PREPARE move (smallint, bigint, int) AS " + statement("outbox-relay", "move_window"))
a.run("BEGIN")
first = a.run("EXECUTE move(1, %s, 500)" % sysid)[0]
b.send("EXECUTE move(1, %s, 500)" % sysid)
until(lambda: b.done() or blocked(admin, b), "the second relay waits")
a.run("COMMIT")
second = b.wait()[0]
is_((first[0], second[0], second[3]), ("10", "0", "t"), "the slower relay moves nothing and comes again")
is_(b.run("EXECUTE move(1, %s, 500)" % sysid)[0][0], "0", "and finds it done")
is_(admin.value("SELECT count(*) FROM postrider.job"), "471", "each once")

# A relay that dies inside a move: nothing of it is seen, the other one makes it.
admin.run("".join(ENQUEUE % ("die.%d" % i) for i in range(5)))
a.run("BEGIN")
a.run("EXECUTE move(1, %s, 500)" % sysid)
admin.run("SELECT pg_terminate_backend(%d, 5000)" % a.pid)
is_(b.run("EXECUTE move(1, %s, 500)" % sysid)[0][0], "5", "a move that was lost is made again")
is_(admin.run("SELECT count(*), max(seq) - (1::bigint << 56) FROM postrider.job"), [["476", "476"]], "without a gap")

# A look finds what an old transaction committed late: its id is in the window's list, below the cursor.
late, other = Session(), Session()
late.run("BEGIN; SELECT pg_current_xact_id()")
other.run(ENQUEUE % "other")
b.run("EXECUTE move(1, %s, 500)" % sysid)
b.run("PREPARE peek AS " + statement("outbox-relay", "peek_windows"))
is_(b.run("EXECUTE peek"), [], "nothing to see before it commits")
late.run(ENQUEUE % "late" + "COMMIT")
is_(b.run("EXECUTE peek"), [["1", "f"]], "a look finds the late writer's row")
is_(b.run("EXECUTE move(1, %s, 500)" % sysid)[0][0], "1", "and the move takes it")

# Cancelling while the relay moves the row without seeing the wish.
notify = admin.value("SELECT postrider.enqueue_notification('m1', 'cancelled', 'a.b', '{}', priority => 1)")
b.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM postrider.tick LIMIT 1")  # the snapshot is taken here
is_(admin.value("SELECT postrider.cancel_notification('%s', 'race')" % notify), "t", "cancelled while the relay's snapshot is older")
is_(b.run("EXECUTE move(1, %s, 500)" % sysid)[0][1], "1", "the relay makes a job of it")
b.run("COMMIT")
b.run("EXECUTE move(1, %s, 500)" % sysid)
is_(admin.value("SELECT status || '/' || reason FROM postrider.notification_status WHERE notify_id = '%s'" % notify), "cancelled/race", "and takes it back")
for s in (admin, long, prepared, moved, b, late, other):
    s.close()
finish()
