# SPDX-License-Identifier: Apache-2.0
"""First tries among many jobs that wait: what a new owner reads to find them, and where it begins to look. Nothing here is timed.

A first try has no due time and stands in no index of its own. It is found by reading the jobs from the shard's low on, so that low must
not go back, whatever becomes of its owners; and where it does lie far back, waiting jobs are passed over many at a time.
"""
from pg import Session, finish, is_, ok, statement
from plan import ACTOR, explain, learn, misreads, touched

WAITING, PAGE, PASSED_OVER = 30000, 200, 10000
CLASS1 = 1 << 56
BEGINNING = "{0,%d,%d}" % (CLASS1, 2 * CLASS1)
UPTO = "{%d,%d,%d}" % (5, CLASS1 + WAITING + 1000, 2 * CLASS1 + 5)
admin = Session()
learn(admin)
endpoint = admin.value("SELECT t.merchant('m1')")
other = admin.value("SELECT t.merchant('m2')")
shard, others = (admin.value("SELECT shard FROM postrider.endpoint WHERE id = %s" % e) for e in (endpoint, other))
is_(shard != others, True, "two merchants, two shards")
admin.run("""INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt, try, due)
             SELECT %d + n, now(), -n, %s, 1, n, 1, now() + interval '1 h' FROM generate_series(1, %d) n""" % (CLASS1, endpoint, WAITING))


def first_try(n, of="m1"):
    """A notification of the merchant, whose job gets that number."""
    admin.run("SELECT postrider.enqueue_notification('%s', 'o%d', 'a.b', '{}', priority => 1)" % (of, n))
    admin.run("""INSERT INTO postrider.job (seq, outbox_at, outbox_id, endpoint, class, salt)
                 SELECT %d, o.at, o.id, %s, 1, 0 FROM postrider.outbox AS o WHERE o.order_no = 'o%d'"""
              % (CLASS1 + n, endpoint if of == "m1" else other, n))


for n in (10, WAITING // 2, WAITING, WAITING + 7):
    admin.run("DELETE FROM postrider.job WHERE seq = %d" % (CLASS1 + n))
    first_try(n)
first_try(WAITING + 8, "m2")
admin.run("VACUUM (ANALYZE) postrider.job")
scheduler = Session(options="-c role=postrider_scheduler " + ACTOR)
scheduler.run("PREPARE load AS " + statement("scheduler", "load_first_tries"))


def look(lo, page=PAGE, passed_over=PASSED_OVER, most=10):
    """From there on until nothing is left: (numbers found, statements, rows that the largest scan of a statement touched)."""
    found, statements, worst = [], 0, 0
    lo = [int(x) for x in lo.strip("{}").split(",")]
    hi = [int(x) for x in UPTO.strip("{}").split(",")]
    while any(a < b for a, b in zip(lo, hi)) and statements < most:
        call = "EXECUTE load('{%s}', '{%d,%d,%d}', '%s', %d, %d)" % (shard, *lo, UPTO, page, passed_over)
        rows = scheduler.run(call)
        plan = explain(scheduler, call, ", ANALYZE, BUFFERS, TIMING OFF")
        is_(misreads(plan), [], "reads no growing table from end to end")
        worst = max(worst, touched(plan)[0])
        found += [int(r[0]) - CLASS1 for r in rows if r[2] == "t"]
        for r in rows:
            if r[2] == "f":
                lo[int(r[1])] = int(r[0])
        statements += 1
    return found, statements, worst


EACH = [10, WAITING // 2, WAITING, WAITING + 7]
found, statements, worst = look(BEGINNING)
is_(found, EACH, "from the beginning all are found, in their order, none of another shard")
is_(statements, WAITING // PASSED_OVER + 1, "among %d that wait, %d a statement" % (WAITING, PASSED_OVER))
ok(worst <= PASSED_OVER, "which looks at no more: %d" % worst)
found, statements, worst = look("{0,%d,%d}" % (CLASS1 + WAITING - 1, 2 * CLASS1))
is_((found, statements), ([WAITING, WAITING + 7], 1), "from a low behind them by one statement")
ok(worst <= 5, "that looks at these and what lies between: %d" % worst)
is_(look(BEGINNING, page=1)[0], EACH, "one first try a page: none is skipped")
is_(look("{0,%d,%d}" % (CLASS1 + WAITING - 40, 2 * CLASS1), passed_over=7)[0], EACH[2:], "seven jobs a page: none is skipped")

# Owners come and are killed at once, one after the other: each time before its second beat, the next begins where the last one did.
LOW = "{3,%d,%d}" % (CLASS1 + WAITING, 2 * CLASS1 + 3)
owner = admin.value("SELECT id FROM postrider.open_session('x')")
admin.run("SELECT * FROM postrider.acquire_shards('%s')" % owner)
for beat in (1, 2):
    admin.run("SELECT alive FROM postrider.heartbeat('%s', %d, '%s')" % (owner, beat, LOW))
admin.run("SELECT postrider.end_session('%s')" % owner)
for beats in (0, 1, 1, 0):
    owner = admin.value("SELECT id FROM postrider.open_session('x')")
    low = admin.value("SELECT min(a.low) FROM postrider.acquire_shards('%s') AS a" % owner)
    is_(low, LOW, "the next owner begins where the former one stood")
    for beat in range(beats):
        admin.run("SELECT alive FROM postrider.heartbeat('%s', %d, '%s')" % (owner, beat + 1, BEGINNING))
    admin.run("SELECT postrider.end_session('%s')" % owner)
is_(look(low)[0], [WAITING + 7], "and finds what is left there")
for s in (admin, scheduler):
    s.close()
finish()
